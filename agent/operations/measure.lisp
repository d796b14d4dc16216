;;;; Measuring an evaluation: how long the forms take and what they allocate. Compiling them is not
;;;; counted.

(in-package #:cl-mcp-agent)

(defconstant +most-runs+ 1000)

(defun measurable-function (form)
  "Return a function that evaluates FORM, compiled beforehand unless its parts depend on each other."
  (if (or (atom form) (defining-form-p form))
      (lambda () (eval form))
      (form-function form)))

(defun call-measured (function totals)
  "Call FUNCTION; return its values as a list and add what it took to the list TOTALS."
  (declare (type function function))
  (let* ((before '())
         (values (call-with-retry
                  (lambda ()
                    ;; A call that is tried again is measured from there.
                    (setf before (multiple-value-list (clock-readings)))
                    (funcall function)))))
    (map-into totals (lambda (total before after) (+ total (max 0 (- after before))))
              totals before (multiple-value-list (clock-readings)))
    values))

(defun evaluate-measured (text runs note)
  "Evaluate the forms in TEXT, RUNS times. NOTE gets what each run took, as CLOCK-READINGS counts.
Returns the values of the last form in the last run."
  (declare (type function note))
  (let ((steps '())
        (values '()))
    (flet ((run (function)
             (let ((totals (list 0 0 0 0)))
               (funcall function totals)
               (funcall note totals))))
      (run (lambda (totals)
             (setf values
                   (evaluate-text text
                                  :is-whole t
                                  :evaluate (lambda (form)
                                              (let ((function (measurable-function form)))
                                                (push (cons form function) steps)
                                                (call-measured function totals)))))))
      (setf steps (nreverse steps))
      (loop repeat (1- runs)
            do (run (lambda (totals)
                      (loop for (form . function) in steps
                            do (setf *current-form* (list form)
                                     values (call-measured function totals))))))
      (when (> runs 1)
        (setf / values
              * (first values))))
    values))

(define-operation :time (arguments)
  (let ((measured '()))
    (call-as-evaluation
     (lambda ()
       (evaluate-measured (getf arguments :code)
                          (max 1 (min +most-runs+ (getf arguments :runs 1)))
                          (lambda (run) (push run measured))))
     arguments
     (lambda () (list :runs (nreverse measured))))))

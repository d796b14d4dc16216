;;;; Measuring an evaluation: the time and allocation of its forms, without compiling them.

(in-package #:cl-mcp-agent)

(defconstant +most-runs+ 1000)

;;; If the number of runs is not given, the code runs until its time is known. A run is long enough for the clock to
;;; measure it to a thousandth: shorter code is called many times in one run.
(defconstant +run-us+ 1000)
(defconstant +most-calls+ 10000000)
(defconstant +samples+ 100)
(defconstant +few-samples+ 5)
(defconstant +long-enough-us+ 1000000)
(defconstant +too-long-us+ 5000000)

(defun measurable-function (form)
  "Return a function that evaluates FORM, compiled beforehand unless its parts depend on each other."
  (if (or (atom form) (defining-form-p form))
      (lambda () (eval form))
      (form-function form)))

;; By this name, which must be on the stack, the profiler knows the agent's own work (sample.lisp).
(declaim (notinline list-readings))
(defun list-readings ()
  (multiple-value-list (clock-readings)))

(defun call-measured (function totals)
  "Call FUNCTION; return its values as a list and add what it took to the list TOTALS."
  (let* ((before '())
         (values (retrying "Evaluate the form again."
                   ;; A call that is retried is measured from that point.
                   (setf before (list-readings))
                   (evaluate-form-by function))))
    (map-into totals (lambda (total before after) (+ total (max 0 (- after before))))
              totals before (list-readings))
    values))

(defun evaluate-often (steps note)
  "Call the functions in STEPS, each (FORM . FUNCTION), in runs until the time is known; NOTE as in EVALUATE-MEASURED.
Returns the values of the last call."
  (setf *current-form* (list (if (rest steps)
                                 (cons 'progn (mapcar #'car steps))
                                 (car (first steps)))))
  (loop with calls = 1 and samples = 0
        for totals = (list 0 0 0 0)
        for values = (call-measured (lambda ()
                                      (loop repeat (1- calls) do (call-steps steps))
                                      (call-steps steps))
                                    totals)
        for us = (first totals)
        sum us into elapsed
        do (cond ((and (< us +run-us+) (< calls +most-calls+))
                  ;; Too short: this run only determines how many calls make a run.
                  (setf calls (min +most-calls+
                                   (* calls (max 2 (min 100 (ceiling (* 5 +run-us+) (* 4 (max 1 us)))))))))
                 (t
                  (funcall note totals calls)
                  (incf samples)))
           (when (or (>= samples +samples+)
                     (>= elapsed (if (< samples +few-samples+) +too-long-us+ +long-enough-us+)))
             (return values))))

(defun call-steps (steps)
  (loop for ((nil . function) . more) on steps
        do (if more
               (funcall function)
               (return (funcall function)))))

(defun evaluate-measured (text runs note)
  "Evaluate the forms in TEXT, RUNS times, or if RUNS is NIL, until the time is known. NOTE gets what each run took, in
CLOCK-READINGS' units, and the number of calls in the run. Returns the values of the last form in the last run."
  (let ((steps '())
        (values '()))
    (flet ((run (function)
             (let ((totals (list 0 0 0 0)))
               (funcall function totals)
               (funcall note totals 1))))
      (run (lambda (totals)
             (setf values
                   (evaluate-text text
                                  :is-whole t
                                  :evaluate (lambda (form)
                                              (let ((function (measurable-function form)))
                                                (push (cons form function) steps)
                                                (call-measured function totals)))))))
      (setf steps (nreverse steps))
      ;; All forms have been evaluated once; if one fails now, the others need not have been in this run.
      (let ((*forms-done* nil))
        (when (null runs)
          (setf values (evaluate-often steps note)))
        (loop repeat (if runs (1- runs) 0)
              do (run (lambda (totals)
                        (loop for (form . function) in steps
                              do (setf *current-form* (list form)
                                       values (call-measured function totals)))))))
      (unless (eql runs 1)
        (setf / values
              * (first values))))
    values))

(define-operation :time (&rest arguments &key code (runs 1))
  (let ((measured '()))
    (call-as-evaluation
     (lambda ()
       (evaluate-measured code
                          (if (eql runs 0) nil (max 1 (min +most-runs+ runs)))
                          (lambda (totals calls) (push (append totals (list calls)) measured))))
     arguments
     (lambda ()
       ;; For code that is called many times, only those runs are reported, not the first call.
       (let ((all (reverse measured)))
         (list :runs (if (and (eql runs 0) (rest all))
                         (rest all)
                         all)))))))

;;;; Returning to an earlier state: the health check of the process, and evaluating definitions from the journal
;;;; again.

(in-package #:cl-mcp-agent)

(define-operation :probe (arguments)
  ;; Walking the heap reveals damage to it.
  (walk-heap)
  (list* *id* :ok (hooks-part)))

(defun defining-name-p (name)
  "True if forms that begin with NAME are worth evaluating again: they define something and do
little else."
  (let ((string (symbol-name name)))
    (or (and (>= (length string) 3) (string= "DEF" string :end2 3))
        (member string '("IN-PACKAGE" "USE-PACKAGE" "UNUSE-PACKAGE" "IMPORT" "EXPORT" "SHADOW"
                         "SHADOWING-IMPORT" "INTERN" "DECLAIM" "PROCLAIM" "REQUIRE" "LOAD"
                         "LOAD-SYSTEM" "QUICKLOAD" "COMPILE-FILE" "REMOVE-TOOL"
                         "ON-RETURN" "ON-START")
                :test #'string=))))

(defun defining-form-p (form &optional (depth 0))
  "True if FORM defines something, itself or in its body."
  (and (consp form)
       (symbolp (first form))
       (< depth 20)
       (or (defining-name-p (first form))
           (and (eq (first form) 'setf)
                (consp (rest form))
                (consp (second form))
                (member (first (second form))
                        '(fdefinition symbol-function macro-function compiler-macro-function
                          find-class documentation))
                t)
           (and (member (first form)
                        '(progn eval-when locally let let* flet labels macrolet symbol-macrolet))
                (loop for rest = (rest form) then (rest rest)
                      while (consp rest)
                      thereis (defining-form-p (first rest) (1+ depth)))))))

(defun evaluate-again (text package-name evaluation &key (from 0) until)
  "Evaluate those forms of TEXT between FROM and UNTIL, that of the evaluation with the number EVALUATION, that define something.
Returns how many that were, how many of them failed, the pieces of TEXT that they are, and those of the other forms;
fifth, a line about each of the first that failed."
  (let* ((nowhere (make-broadcast-stream))
         (*standard-output* nowhere)
         (*error-output* nowhere)
         (*trace-output* nowhere)
         (from (or from 0))
         (stream (make-string-input-stream (subseq text from)))
         (*evaluation* evaluation)
         (failed 0)
         (failures '())
         (again '())
         (left '())
         (position from))
    (let ((package (and package-name (find-package package-name))))
      (when package
        (setf *package* package)))
    (handler-case
        (loop for start = (setf position (+ from (file-position stream)))
              for package = (session-package-name)
              for form = (if (and until (>= start until))
                             stream
                             (read stream nil stream))
              until (eq form stream)
              do (let ((piece (list start (+ from (file-position stream)) package 0)))
                   (if (not (defining-form-p form))
                       (push piece left)
                       (handler-case (handler-bind ((warning #'muffle-warning))
                                       (call-with-origin (origin start (second piece))
                                                         (lambda () (eval form)))
                                       (push piece again))
                         (serious-condition (condition)
                           (when (< (incf failed) 6)
                             (push (failure-line form condition) failures))
                           (push piece left))))))
      ;; Text that read the first time may need a package or a readtable that was not made by a definition.
      (reader-error (condition)
        (incf failed)
        (push (failure-line "the text from here on" condition) failures)
        (push (list position (or until (length text)) (session-package-name) 0) left))
      (end-of-file ()))
    (values (length again) failed (nreverse again) (nreverse left) (nreverse failures))))

(defun failure-line (form condition)
  "Return a line about CONDITION, which FORM, or what a text describes, signalled."
  (let ((*capture* (make-capture)))
    (substitute #\space #\newline
                (with-agent-syntax (:length 4 :level 2)
                  (let ((text (item-text form 60)))
                    (format nil "~a: ~a" text (message-text condition 200)))))))

(define-operation :replay (arguments)
  (call-in-unit
   (lambda ()
     (let ((evaluated 0)
           (failed 0)
           (failures '())
           (carried '()))
       (loop for (text package evaluation from until) in (getf arguments :definitions)
             do (multiple-value-bind (evaluated-here failed-here again left failures-here)
                    (evaluate-again text package evaluation :from from :until until)
                  (declare (ignore left))
                  (incf evaluated evaluated-here)
                  (incf failed failed-here)
                  (setf failures (append failures failures-here))
                  (when again
                    (push (cons evaluation again) carried))))
       (list* *id* :ok :evaluated evaluated :failed failed :failures (some-of failures 0 5)
              :package (session-package-name) :carried (nreverse carried)
              (hooks-part))))))

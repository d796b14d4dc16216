;;;; What a session's past needs: does a process that was returned to live, and definitions evaluated
;;;; again from the journal.

(in-package #:cl-mcp-agent)

(define-operation :probe (arguments)
  ;; Damage to the heap shows when it is walked.
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

(defun evaluate-again (text package-name evaluation)
  "Evaluate those forms of TEXT, that of the evaluation with the number EVALUATION, that define something.
Returns how many that were, and how many of them failed."
  (let* ((nowhere (make-broadcast-stream))
         (*standard-output* nowhere)
         (*error-output* nowhere)
         (*trace-output* nowhere)
         (stream (make-string-input-stream text))
         (*evaluation* evaluation)
         (evaluated 0)
         (failed 0))
    (let ((package (and package-name (find-package package-name))))
      (when package
        (setf *package* package)))
    (handler-case
        (loop for start = (file-position stream)
              for form = (read stream nil stream)
              until (eq form stream)
              do (when (defining-form-p form)
                   (handler-case (handler-bind ((warning #'muffle-warning))
                                   (call-with-origin (origin start (file-position stream))
                                                     (lambda () (eval form)))
                                   (incf evaluated))
                     (serious-condition () (incf failed)))))
      ;; What cannot be read could not be read the first time either.
      (reader-error ())
      (end-of-file ()))
    (values evaluated failed)))

(define-operation :replay (arguments)
  (call-in-unit
   (lambda ()
     (multiple-value-bind (evaluated failed)
         (evaluate-again (getf arguments :code) (getf arguments :package)
                         (getf arguments :evaluation))
       (list* *id* :ok :evaluated evaluated :failed failed :package (session-package-name)
              (hooks-part))))))

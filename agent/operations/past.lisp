;;;; Returning to an earlier state: the health check of the process, and evaluating definitions from the journal
;;;; again.

(in-package #:cl-mcp-agent)

(define-operation :probe ()
  ;; Walking the heap reveals damage to it.
  (walk-heap)
  (list* *id* :ok (hooks-part)))

(defun defining-name-p (name)
  "True if forms that begin with a symbol called NAME are worth evaluating again: they define something and do
little else."
  (or (and (>= (length name) 3) (string= "DEF" name :end2 3))
      (member name '("IN-PACKAGE" "USE-PACKAGE" "UNUSE-PACKAGE" "IMPORT" "EXPORT" "SHADOW"
                     "SHADOWING-IMPORT" "INTERN" "DECLAIM" "PROCLAIM" "REQUIRE" "LOAD"
                     "LOAD-SYSTEM" "QUICKLOAD" "COMPILE-FILE" "REMOVE-TOOL"
                     "ON-RETURN" "ON-START")
              :test #'string=)))

(defun defining-text-p (text)
  "True if a form in TEXT, which cannot be read, seems to define something."
  (loop for open = (position #\( text) then (position #\( text :start (1+ open))
        while open
        thereis (defining-name-p (string-upcase (plain-token (token-at text (1+ open)))))))

(defun defining-form-p (form &optional (depth 0))
  "True if FORM defines something, itself or in its body."
  (and (consp form)
       (symbolp (first form))
       (< depth 20)
       (or (defining-name-p (symbol-name (first form)))
           (and (eq (first form) 'setf)
                (consp (rest form))
                (consp (second form))
                (member (first (second form))
                        '(fdefinition symbol-function macro-function compiler-macro-function
                          find-class documentation))
                t)
           (and (member (first form)
                        '(progn eval-when locally let let* flet labels macrolet symbol-macrolet))
                (loop for (part) on (rest form)
                      thereis (defining-form-p part (1+ depth)))))))

(defun changes-package-p (form &optional (depth 0))
  "True if FORM is an IN-PACKAGE, also within forms that are treated as top-level forms."
  (and (consp form)
       (< depth 20)
       (or (eq (first form) 'in-package)
           (and (member (first form) '(progn eval-when))
                (loop for (part) on (rest form)
                      repeat 1000
                      thereis (changes-package-p part (1+ depth)))))))

(defun evaluate-again (text package-name evaluation &optional from until)
  "Evaluate those forms of TEXT between FROM and UNTIL, that of the evaluation with the number EVALUATION, that define
something. The forms of a PROGN count one by one. Returns the pieces of TEXT that they are, and those of the other forms; third,
how many of the definitions failed, and a line about each of the first of these. What follows a form that cannot be read, or a
failed change of the current package, is not evaluated: it would define something else."
  (let* ((nowhere (make-broadcast-stream))
         (*standard-output* nowhere)
         (*error-output* nowhere)
         (*trace-output* nowhere)
         (from (or from 0))
         (until (min (or until (length text)) (length text)))
         (stream (make-string-input-stream (subseq text from)))
         (*evaluation* evaluation)
         (package (if package-name (find-meant-package package-name) (session-package)))
         (failed 0)
         (failures '())
         (again '())
         (left '()))
    (labels ((place ()
               (+ from (file-position stream)))
             (fail (what condition)
               (when (< (incf failed) 6)
                 (push (failure-line what condition) failures)))
             (leave-rest (start package-name condition)
               (let ((rest (string-trim '(#\space #\newline #\tab #\return) (subseq text start until))))
                 (when (defining-text-p rest)
                   (fail (subseq rest 0 (min 60 (length rest))) condition))
                 (when (plusp (length rest))
                   (push (list start until package-name 0) left))
                 nil))
             (evaluate-part (form start end package-name)
               "Return false if what follows must not be evaluated."
               (let* ((steps (steps-of form text start end))
                      (piece (list start end package-name 0))
                      (defines (and (null steps) (defining-form-p form)))
                      (condition (and defines (failure-of form piece))))
                 (cond (steps
                        (loop for (step step-start step-end) in steps
                              always (evaluate-part step step-start step-end package-name)))
                       ((and defines (null condition))
                        (push piece again))
                       (t
                        (push piece left)
                        (when condition
                          (fail form condition))
                        (or (null condition)
                            (not (changes-package-p form))
                            (leave-rest end package-name
                                        (make-condition 'simple-error
                                                        :format-control "Not evaluated, because the change of the package before it failed.")))))))
             (failure-of (form piece)
               (handler-case (handler-bind ((warning #'muffle-warning))
                               (call-with-origin (origin (first piece) (second piece))
                                                 (lambda () (eval form)))
                               nil)
                 (serious-condition (condition) condition))))
      (cond
        ((null package)
         (leave-rest from package-name (make-condition 'unknown-package :package package-name)))
        (t
         (setf *package* package)
         (loop for start = (place)
               for package-name = (session-package-name)
               for form = (cond ((>= start until)
                                 stream)
                                (t
                                 ;; It may need a package, a readtable or a value that no definition has made.
                                 (handler-case (read-form stream)
                                   (serious-condition (condition)
                                     (leave-rest start package-name condition)
                                     stream))))
               until (eq form stream)
               while (evaluate-part form start (place) package-name)))))
    (values (nreverse again) (nreverse left) failed (nreverse failures))))

(defun failure-line (what condition)
  "Return a line about CONDITION, which WHAT, a form or a part of the text, signalled."
  (let ((*capture* (make-capture)))
    (substitute #\space #\newline
                (with-agent-syntax (:length 4 :level 2)
                  (let ((text (if (stringp what) what (item-text what 60))))
                    (format nil "~a: ~a" text (message-text condition 200)))))))

(define-operation :replay (&key definitions)
  (call-in-unit
   (lambda ()
     (let ((evaluated 0)
           (failed 0)
           (failures '())
           (carried '()))
       (dolist (definition definitions)
         (multiple-value-bind (again left failed-here failures-here) (apply #'evaluate-again definition)
           (declare (ignore left))
           (incf evaluated (length again))
           (incf failed failed-here)
           (setf failures (append failures failures-here))
           (when again
             (push (cons (third definition) again) carried))))
       (list* *id* :ok :evaluated evaluated :failed failed :failures (some-of failures 0 5)
              :package (session-package-name) :carried (nreverse carried)
              (hooks-part))))))

;;;; The agent's port to SBCL: STEP. A function that STEP-INTO enters is compiled again for this one call, so that it stops too.
;;;;
;;;; SBCL stops at the calls in code that was compiled with DEBUG above SPEED, which the default policy is not. So the function's
;;;; own form is compiled with such a policy, and the result stands in for the function until it is called. The function
;;;; itself stays as it is.

(in-package #:cl-mcp-agent)

(defun lambda-of-definition (name form)
  "Return the named lambda in FORM, to which a DEFUN of NAME at top level expands, or NIL."
  (flet ((lambda-p (form)
           (and (consp form)
                (eq 'sb-int:named-lambda (first form))
                (eq name (ignore-errors (second form))))))
    (cond ((lambda-p form) form)
          ((and (consp form) (member (first form) '(progn sb-impl::%defun)))
           (loop for part in (ignore-errors (rest form))
                 thereis (lambda-of-definition name part))))))

(defun definition-in-file (name place)
  "Read the DEFUN of NAME at PLACE; NIL if there is another form, or the file has changed."
  (let ((native (unchanged-source place)))
    (when native
      (let ((form (let ((*readtable* (copy-readtable *standard-readtable*))
                        (*read-base* 10)
                        (*read-eval* nil))
                    (read-from-string (text-of-file native (getf place :position))))))
        (and (consp form)
             (eq 'defun (first form))
             (eq name (second form))
             (macroexpand-1 form))))))

(defun definition-of-function (name function)
  "Return the form that FUNCTION, called NAME, was compiled from, or NIL."
  (let ((location (sb-di:debug-fun-start-location (sb-di:fun-debug-fun function))))
    (if (sb-di:debug-source-namestring (sb-di:code-location-debug-source location))
        (definition-in-file name (function-place function))
        (nth-value 1 (sb-di:get-toplevel-form location)))))

(defun stepping-function (name function)
  "Return FUNCTION, called NAME, compiled so that its calls stop, or NIL if its form is not known by itself."
  (ignore-errors
   (let* ((*package* (symbol-package name))
          (form (and (not (sb-kernel:closurep function))
                     (lambda-of-definition name (definition-of-function name function)))))
     (and form
          (handler-bind ((warning #'muffle-warning)
                         (sb-ext:compiler-note #'muffle-warning))
            (with-compilation-unit (:policy '(optimize (debug 3) (sb-c:insert-step-conditions 3)) :override t)
              (let ((*error-output* (make-broadcast-stream)))
                (compile nil form))))))))

(defun step-into-function (name)
  "Have the next call of NAME in this thread stop at each call in it. Returns a sentence if that is not possible, or NIL."
  (let ((function (fdefinition name)))
    (cond ((sb-int:encapsulated-p name 'stepping)
           nil)
          ((typep function 'generic-function)
           (format nil "~a is a generic function: only methods that were compiled with (debug 3) are stepped into."
                   (name-text name)))
          (t
           (let ((stepping (stepping-function name function))
                 (thread sb-thread:*current-thread*))
             (cond (stepping
                    (sb-int:encapsulate name 'stepping
                                        (lambda (function &rest arguments)
                                          (when (eq thread sb-thread:*current-thread*)
                                            (sb-int:unencapsulate name 'stepping)
                                            (setf function stepping))
                                          (apply (the function function) arguments)))
                    nil)
                   (t
                    (format nil "~a is stepped into only if it was compiled with (debug 3): its DEFUN is not known."
                            (name-text name)))))))))

(defun stop-at-step (condition)
  "Enter the debugger for CONDITION, a form that STEP has reached."
  (let ((step-into (find-restart 'sb-ext:step-into condition)))
    (restart-case (invoke-debugger condition)
      (sb-ext:step-into ()
        :report "Step into call"
        (let* ((name (function-of-step (sb-ext:step-condition-form condition)))
               (problem (and name (step-into-function name))))
          (when problem
            (tell-step-problem problem)))
        (invoke-restart step-into)))))

(defun note-step (condition)
  "Stand in for SBCL's hook of STEP, which prints arguments and values as they are: a printer of the user's that fails ends the
evaluation."
  (typecase condition
    (sb-ext:step-form-condition
     ;; Forms that only a macro's expansion names are not steps of the user's program.
     (if (search "#:" (sb-ext:step-condition-form condition))
         (invoke-restart 'sb-ext:step-into)
         (stop-at-step condition)))
    (sb-ext:step-values-condition
     (tell-step (sb-ext:step-condition-form condition) (sb-ext:step-condition-result condition)))))

;;;; The agent's port to SBCL: the compiler's errors, warnings and notes.

(in-package #:cl-mcp-agent)

(define-session-variable *compiler-errors* '()
  "The newest errors the compiler found in user code: (MESSAGE CONDITION FRAMES).
Code compiled with an error signals another when it runs, which may be requests later.")
(defconstant +compiler-errors-kept+ 50)

(defvar *note-warning*)
(defvar *note-redefinition*)

(defun innermost-condition (condition)
  "Return the error a macro signalled, if CONDITION is the compiler's message about it."
  (loop
    (let ((inner (cond ((typep condition 'sb-int:encapsulated-condition)
                        (sb-int:encapsulated-condition condition))
                       ((typep condition 'sb-int:simple-program-error)
                        (find-if (lambda (argument) (typep argument 'condition))
                                 (simple-condition-format-arguments condition))))))
      (if inner
          (setf condition inner)
          (return condition)))))

(defun note-compiler-error (condition)
  "Keep an error the compiler found, because the form that contains it will signal another condition."
  (let* ((inner (sb-int:encapsulated-condition condition))
         (original (innermost-condition inner)))
    (when (boundp 'sb-c::*compiler-error-bailout*)
      (unless (find original *compiler-errors* :key #'second)
        (push (list (ignore-errors (princ-to-string inner))
                    original
                    (frames-of-compiler-error original))
              *compiler-errors*)
        (let ((end (nthcdr +compiler-errors-kept+ *compiler-errors*)))
          (when end
            (setf *compiler-errors* (ldiff *compiler-errors* end))))
        (let ((*reading-failure* inner))
          (funcall *note-warning* original)))
      ;; What the compiler itself does here, except for printing.
      (when (and (boundp 'sb-c::*failure-p*) (find-restart 'continue condition))
        (setf sb-c::*failure-p* t
              sb-c::*warnings-p* t)
        (continue condition)))))

(defvar *usual-error-output* nil
  "What *ERROR-OUTPUT* is where the request begins.")

(defun captured-by-program-p ()
  "True if the program has bound *ERROR-OUTPUT*, as WITH-OUTPUT-TO-STRING does, and no compiler runs: then what WARN
prints there is the program's."
  (and *usual-error-output*
       (not (eq *error-output* *usual-error-output*))
       (not (boundp 'sb-c::*warnings-p*))))

(defun note-and-muffle (condition)
  (let ((restart (find-restart 'muffle-warning condition)))
    (when (and restart (not (captured-by-program-p)))
      ;; What the compiler would do itself, if the warning came as far: COMPILE and COMPILE-FILE
      ;; return whether there were any.
      (when (boundp 'sb-c::*warnings-p*)
        (setf sb-c::*warnings-p* t)
        (unless (typep condition 'style-warning)
          (setf sb-c::*failure-p* t)))
      (if (typep condition 'sb-kernel:redefinition-warning) ; of no use in a live session
          (funcall (the function *note-redefinition*) (sb-kernel::redefinition-warning-name condition))
          (funcall *note-warning* condition))
      (invoke-restart restart))))

(defvar *component*)

(defun note-and-muffle-note (condition)
  "Record the compiler's optimisation notes, except for files, which have too many."
  (let ((restart (find-restart 'muffle-warning condition)))
    (when restart
      (unless *component*
        (funcall *note-warning* condition))
      (invoke-restart restart))))

(implement compiler-note-p (condition)
  (typep condition 'sb-ext:compiler-note))

(implement call-recording-warnings (function note &optional (note-redefinition #'identity))
  (let ((*note-warning* note)
        (*note-redefinition* note-redefinition)
        (*usual-error-output* *error-output*))
    (handler-bind ((warning #'note-and-muffle)
                   (sb-ext:compiler-note #'note-and-muffle-note)
                   (sb-c:compiler-error #'note-compiler-error))
      (funcall function))))

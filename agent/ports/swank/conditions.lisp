;;;; The agent's port to the Lisps that Swank knows: conditions, handlers and restarts, and the way to the agent instead of
;;;; the Lisp's debugger.

(in-package #:cl-mcp-agent)

(defvar *debugger* nil
  "What this thread calls with a condition that no handler took; NIL in threads that are not the agent's.")

(defparameter *debugger-hook-name* (or (own-name "*INVOKE-DEBUGGER-HOOK*") '*debugger-hook*)
  "The hook that the Lisp calls before it enters its debugger.")

(defvar *is-entering* nil
  "True until the agent has been reached, so that an error there is the agent's own: on an exhausted stack there may be no room
for that. :WITHOUT-FRAMES when that has happened.")

(declaim (notinline enter-agent))
(defun enter-agent (condition hook)
  "Give CONDITION to the user's *DEBUGGER-HOOK* as the standard says, then to the agent."
  (declare (ignore hook))
  (let ((hook *debugger-hook*))
    (when (and hook (not (eq hook #'enter-agent)))
      (let ((*debugger-hook* nil))
        (funcall hook condition hook))))
  (case *is-entering*
    ((t) (throw 'not-entered nil))
    (:without-frames (throw 'thread-ended nil)))
  ;; The Lisp has bound it to NIL.
  (progv (list *debugger-hook-name*) (list #'enter-agent)
    (catch 'not-entered
      (let ((*is-entering* t))
        (call-with-frames (lambda ()
                            (let ((*is-entering* nil))
                              (funcall *debugger* condition))))))
    (let ((*is-entering* :without-frames))
      (if *id*
          (leave (append (minimal-report *id* (kind-of-condition condition) condition) '(:left t)))
          (throw 'thread-ended nil)))))

(implement call-with-debugger (function debugger)
  (let ((*debugger* debugger))
    (progv (list *debugger-hook-name*) (list #'enter-agent)
      (funcall function))))

;;; Handlers, where the Lisp keeps them in a variable

(defparameter *handlers-name* (own-name "*HANDLER-CLUSTERS*"))

(implement handlers-now ()
  (if *handlers-name* (symbol-value *handlers-name*) '()))

(implement call-with-handlers (handlers function)
  (if *handlers-name*
      (progv (list *handlers-name*) (list handlers)
        (funcall function))
      (funcall function)))

(implement call-without-handlers (function)
  (call-with-handlers '() function))

;;; Conditions

(implement standing-for (class)
  (let* ((name (class-name class))
         (package (symbol-package name)))
    (if (or (eq package #.(find-package "CL-MCP-AGENT"))
            (and (implementation-name-p name) (not (eq package (find-package "COMMON-LISP")))))
        (standard-ancestor class)
        class)))

(implement storage-kind (condition)
  (cond ((not (typep condition 'storage-condition)) nil)
        ((search "STACK" (symbol-name (type-of condition))) :stack)
        ((search "STORAGE-EXHAUSTED" (symbol-name (type-of condition))) :heap)
        ((search "SEGMENTATION" (symbol-name (type-of condition))) nil)
        (t :stack)))

;;; Restarts

(defun call-own (name &rest arguments)
  "Return what the Lisp's own function called NAME returns, or NIL where there is none."
  (let ((symbol (own-name name)))
    (and symbol (fboundp symbol) (ignore-errors (apply symbol arguments)))))

(implement untested-restarts (condition)
  (declare (ignore condition))
  (let ((name (own-name "*RESTART-CLUSTERS*")))
    (and name (boundp name) (ignore-errors (apply #'append (symbol-value name))))))

(implement restart-asker (restart)
  (call-own "RESTART-INTERACTIVE-FUNCTION" restart))

(implement restart-lambda-list (restart)
  (let ((function (call-own "RESTART-FUNCTION" restart)))
    (if (functionp function) (function-lambda-list function) :unknown)))

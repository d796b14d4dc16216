;;;; Hooks: functions that the session's code registers to run after a return to an earlier state, and when the
;;;; session starts from a save or is resumed. A state contains no threads, sockets or connections; hooks make new ones.

(in-package #:cl-mcp-agent)

(define-session-variable *hooks* '()
  "Lists (KIND NAME FUNCTION) in the order in which they run; KIND is :RETURN or :START.")

(defun add-hook (kind name function)
  "Register FUNCTION under NAME, replacing any earlier one; NIL removes it. Returns NAME."
  (let ((old (find-if (lambda (hook) (and (eq kind (first hook)) (eq name (second hook)))) *hooks*)))
    (setf *hooks*
          (cond ((null function) (remove old *hooks*))
                (old (substitute (list kind name function) old *hooks*))
                (t (append *hooks* (list (list kind name function))))))
    name))

(defun hook-form (kind name body)
  (unless (symbolp name)
    (error "~s is not a symbol. A hook has a name, which comes before its forms." name))
  (dolist (form body)
    (when (and (consp form) (member (first form) '(lambda function)))
      (warn "~s only returns a function, which is not called. The forms of a hook are evaluated; write the call." form)))
  `(add-hook ,kind ',name ,(if body `(lambda () ,@body) nil)))

(defmacro cl-mcp:on-return (name &body body)
  "Evaluate BODY whenever the session has returned to an earlier state: after a roll-back, and after its
process died. NAME, a symbol, is not evaluated; another BODY under it replaces this one, and none removes it."
  (hook-form :return name body))

(defmacro cl-mcp:on-start (name &body body)
  "Evaluate BODY whenever the session starts from a save or is resumed. NAME is as in ON-RETURN."
  (hook-form :start name body))

(defun hooks-part ()
  "Return (:HOOKS T), for the reply of a process returned to, if hooks are registered."
  (if *hooks* '(:hooks t) '()))

(defun call-hook (function)
  "Call FUNCTION. Return NIL, or the text of an unhandled condition."
  (let* ((tag (list nil))
         (condition (catch tag
                      (call-with-debugger (lambda ()
                                            (let ((*evaluating* t))
                                              (funcall function))
                                            nil)
                                          (lambda (condition)
                                            (throw tag condition))))))
    (if condition
        (with-agent-syntax (:length 10 :level 4)
          (format nil "~a: ~a" (type-name-text (class-of condition)) (message-text condition 1000)))
        nil)))

(define-operation :call-hooks (&key reason)
  (let ((kind (if (equal reason "start") :start :return))
        (called 0)
        (failures '()))
    (loop for (hook-kind name function) in *hooks*
          when (eq kind hook-kind)
            do (let ((failure (call-hook function)))
                 (incf called)
                 (when failure
                   (push (list (name-text name) failure) failures))))
    (list *id* :ok :called called :failures (nreverse failures) :inbox '())))

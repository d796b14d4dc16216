;;;; What is bound in each thread of a joined session, and in a person's thread while it does something for one.

(in-package #:cl-mcp-agent)

(defun call-in-own-context (session function &optional (hidden (compute-restarts)))
  "Call FUNCTION in this thread for SESSION. Reports leave out the restarts HIDDEN: by default those that exist now, which end the
thread."
  (let* ((*session* session)
         (*output* (make-session-output session 1))
         (*error-output-stream* (make-session-output session 2))
         (*no-input* (make-string-input-stream (make-array 0 :element-type 'character)))
         (interactive (make-two-way-stream *no-input* *output*))
         (*standard-input* *no-input*)
         (*standard-output* *output*)
         (*error-output* *error-output-stream*)
         (*trace-output* *output*)
         (*terminal-io* interactive)
         (*query-io* interactive)
         (*debug-io* interactive)
         (*debugger-hook* nil)
         (*capture* (make-capture))
         (*persons-output* (list 0))
         (*output-octets* (make-buffer +buffer-length+))
         (*output-end* 0)
         (*pending* nil) (*last-frames* '()) (*is-silent* nil)
         (*own-restarts* '())
         (*hidden-restarts* hidden))
    (progv *own-variables* (session-own-values session)
      (call-as-agent (lambda () (call-with-task-handlers function))))))

(defun call-failing-aside (function)
  "Call FUNCTION in one of the person's threads. If FUNCTION fails, report the error to the session and return; if the report
itself fails, return silently."
  (let ((failing nil)
        (*debugger-hook* nil))
    (catch 'failed-twice
      (call-with-debugger (lambda () (call-aside function))
                          (lambda (condition)
                            (cond (*guard* (throw *guard* condition))
                                  ((shiftf failing t) (throw 'failed-twice nil))
                                  (t (unwind-protect (debugger condition)
                                       (setf failing nil)))))))))

(defun call-sparing-program (function)
  (if *is-agents-thread*
      (funcall function)
      (call-failing-aside function)))

(defun call-as-guest (session function)
  "Call FUNCTION for SESSION in one of the person's threads. An error in FUNCTION ends it and is reported to the session; it reaches
neither the person's debugger nor the person's handlers."
  (if *is-agents-thread*
      (call-in-session session function)
      (call-in-own-context session
                           (lambda ()
                             (call-without-handlers (lambda () (call-failing-aside function))))
                           '())))

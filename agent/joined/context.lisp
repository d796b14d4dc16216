;;;; What is bound in each thread of a joined session, and in a person's thread while it does something for one.

(in-package #:cl-mcp-agent)

(defun call-in-own-context (session function &optional (hidden (compute-restarts)))
  "Call FUNCTION in this thread for SESSION. The restarts HIDDEN are in no report: by default the one that ends the thread."
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
  "Call FUNCTION in a thread of the person's. An error of its own ends it and is told to the session; one while that is told ends
it silently."
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
  "Call FUNCTION for SESSION in a thread of the person's. An error of its own neither opens in the person's debugger nor comes
to a handler of the person's: it is told to the session, and ends FUNCTION."
  (if *is-agents-thread*
      (call-in-session session function)
      (call-in-own-context session
                           (lambda ()
                             (call-without-handlers (lambda () (call-failing-aside function))))
                           '())))

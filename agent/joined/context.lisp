;;;; What is bound in each thread of a joined session.

(in-package #:cl-mcp-agent)

(defun call-in-own-context (session function)
  "Call FUNCTION in this thread for SESSION."
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
         (*output-octets* (make-buffer +buffer-length+))
         (*output-end* 0)
         (*pending* nil) (*last-frames* '()) (*is-silent* nil)
         (*own-restarts* '())
         (*hidden-restarts* (compute-restarts))) ; the one that ends the thread
    (progv *own-variables* (session-own-values session)
      (call-as-agent function))))

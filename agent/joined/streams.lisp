;;;; What a port does alike for every Lisp that is joined: the thread of a session, and the standard streams of its threads,
;;;; which CALL-IN-OWN-CONTEXT binds.

(in-package #:cl-mcp-agent)

(defvar *output* nil
  "The stream of this thread for standard output.")
(defvar *error-output-stream* nil)
(defvar *no-input* nil)

(implement flush-streams ()
  (ignore-errors (finish-output *output*))
  (ignore-errors (finish-output *error-output-stream*)))

(implement make-thread (name function)
  (let ((session *session*))
    (start-thread (format nil "agent ~d: ~a" (session-number session) name)
                  (lambda () (call-in-own-context session function)))))

(implement serving-thread ()
  (session-thread *session*))

(implement top-package ()
  (first (session-own-values *session*)))

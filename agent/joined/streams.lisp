;;;; What a port does alike for every Lisp that is joined: the thread of a session, and the standard streams of its threads,
;;;; which CALL-IN-OWN-CONTEXT binds.

(in-package #:cl-mcp-agent)

(defvar *output* nil
  "The stream of this thread for standard output.")
(defvar *error-output-stream* nil)
(defvar *no-input* nil)

(defvar *persons-output* (list 0)
  "How many characters this thread, and what it has called, printed to the image's own streams.")

(defun note-persons-output (count)
  (incf (first *persons-output*) count))

(defun tell-of-persons-output ()
  (let ((count (shiftf (first *persons-output*) 0)))
    (when (plusp count)
      (send-event *session* :person :text (format nil "~:d character~:p went to the image's own streams, which are the person's."
                                                  count)))))

(declaim (ftype function send-event))
(implement flush-streams ()
  (tell-of-persons-output)
  (ignore-errors (finish-output *output*))
  (ignore-errors (finish-output *error-output-stream*)))

(implement make-thread (name function)
  (let ((session *session*))
    (start-thread (format nil "~a~a" (thread-prefix session) name)
                  (lambda () (call-in-own-context session function)))))

(implement serving-thread ()
  (session-thread *session*))

(implement top-package ()
  (first (session-own-values *session*)))

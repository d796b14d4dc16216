;;;; The standard streams of a thread of a joined session. The port makes them; CALL-IN-OWN-CONTEXT binds them.

(in-package #:cl-mcp-agent)

(defvar *output* nil
  "The stream of this thread for standard output.")
(defvar *error-output-stream* nil)
(defvar *no-input* nil)

(implement no-input-p (stream)
  (eq stream *no-input*))

(implement ensure-streams ()
  nil)

(implement flush-streams ()
  (ignore-errors (finish-output *output*))
  (ignore-errors (finish-output *error-output-stream*)))

;;;; What the agent adds to the image while sessions are open, and takes away when the last one has ended.

(in-package #:cl-mcp-agent)

(defun prepare-shared-image ()
  (unless *is-prepared*
    (setf *is-prepared* t)
    (add-encapsulations)
    (loop for (function . method) in *asdf-methods*
          do (add-method function method))
    (watch-heap 'check-shares)
    (set-server-hooks t)))

(defun restore-image-unless-used ()
  "Remove these things if no session, and no thread that one has made, still needs them."
  (unless (or *sessions* *made-threads*)
    (restore-shared-image)))

(defun restore-shared-image ()
  (when *is-prepared*
    (setf *is-prepared* nil)
    (watch-heap nil)
    (unless *own-connections*
      (set-server-hooks nil))
    (loop for (function . method) in *asdf-methods*
          do (remove-method function method))
    (remove-encapsulations)))

;;; The first time takes a second where a Lisp has to find the callers of what it has linked. Loading may last; opening may not.
(add-encapsulations)
(remove-encapsulations)

;;; The agent's methods are in the image as soon as it is loaded.
(loop for (function . method) in *asdf-methods*
      do (remove-method function method))

;;; An agent of another version, which is about to be loaded.

(defun standing-in-all ()
  "Return how many errors stand in all sessions."
  (loop for session in *sessions*
        sum (call-in-session session (lambda () (count-if #'standing-post *standing-errors*)))))

(defun leave-image-refusal ()
  "Return a sentence on why this agent cannot be replaced now, or NIL."
  (if *sessions*
      (format nil "Another version of the agent is at work in this image, for ~{~a~^, ~}, with ~d standing error~:p. Close ~
                   these sessions first, or use the same version of cl-mcp-server."
              (mapcar #'session-client *sessions*) (standing-in-all))
      nil))

(defun leave-image ()
  (restore-shared-image)
  (set-server-hooks nil))

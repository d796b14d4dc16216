;;;; Saving the process as a core that continues from the same state, and starting from such a core. The server
;;;; requests a save from a copy of the session, because saving ends the process.

(in-package #:cl-mcp-agent)

(defvar *kept-values* '()
  "Values that saving an image does not keep, between saving and starting.")

(defun keep-values ()
  (setf *kept-values* (cons *default-pathname-defaults* (listener-values))))

(defun restore-values ()
  (when *kept-values*
    (destructuring-bind (directory . values) (shiftf *kept-values* '())
      (setf *default-pathname-defaults* directory)
      (set-listener-values values))))

(defun why-not-saved ()
  "Return a sentence if this process cannot be saved."
  (cond ((not (only-thread-p))
         (format nil "Other threads run in this session~@[: ~a~]." (threads-in-the-way)))
        (*error-condition*
         "The session is inside an error.")))

(defun why-not-writable (path)
  "Create PATH, an empty file. Return a sentence if that fails."
  (handler-case (with-open-file (stream (uiop:parse-native-namestring path)
                                        :direction :output :if-exists :supersede
                                        :element-type '(unsigned-byte 8))
                  (declare (ignorable stream))
                  nil)
    (error (condition)
      (with-agent-syntax ()
        (message-text condition 1000)))))

(define-operation :save (&key path compressed)
  (let* ((id *id*)
         (reason (or (why-not-saved) (why-not-writable path))))
    (or (and reason (list id :refused reason))
        (handler-case
            (progn
              (flush-streams)
              (keep-values)
              (setf *id* nil
                    *token* 0
                    *interrupted* 0
                    *early-interrupt* 0
                    *own-process* 0
                    *server-process* nil)
              (save-image path compressed))
          (error (condition)
            (setf *id* id
                  *own-process* (process-id))
            (restore-values)
            (start-port)
            (ensure-streams)
            (list id :refused
                  (with-agent-syntax ()
                    (format nil "The Lisp refused: ~a" (message-text condition 1000)))))))))

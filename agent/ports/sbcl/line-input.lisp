;;;; The agent's port to SBCL: an input stream that is read from a function.

(in-package #:cl-mcp-agent)

(defclass line-input (sb-gray:fundamental-character-input-stream)
  ((next-line :initarg :next-line :reader line-input-next-line)
   (line :initform "" :accessor line-input-line)
   (position :initform 0 :accessor line-input-position)))

(defun line-input-rest-p (stream)
  "True if the line that STREAM is in has characters left."
  (< (the fixnum (line-input-position stream)) (length (the string (line-input-line stream)))))

(defmethod sb-gray:stream-read-char ((stream line-input))
  (loop until (line-input-rest-p stream)
        do (let ((line (funcall (the function (line-input-next-line stream)))))
             (unless line
               (return-from sb-gray:stream-read-char :eof))
             (setf (line-input-line stream) (concatenate 'string line '(#\newline))
                   (line-input-position stream) 0)))
  (prog1 (char (line-input-line stream) (line-input-position stream))
    (incf (the fixnum (line-input-position stream)))))

(defmethod sb-gray:stream-unread-char ((stream line-input) character)
  (declare (ignore character))
  (when (plusp (the fixnum (line-input-position stream)))
    (decf (the fixnum (line-input-position stream))))
  nil)

(defmethod sb-gray:stream-listen ((stream line-input))
  (line-input-rest-p stream))

(defmethod sb-gray:stream-read-char-no-hang ((stream line-input))
  (if (line-input-rest-p stream)
      (sb-gray:stream-read-char stream)
      nil))

(defmethod sb-gray:stream-clear-input ((stream line-input))
  (setf (line-input-line stream) ""
        (line-input-position stream) 0)
  nil)

;;; A two-way stream asks its input for these too.
(defmethod sb-gray:stream-line-column ((stream line-input))
  nil)

(defmethod sb-gray:stream-line-length ((stream line-input))
  nil)

(implement make-line-input (next-line)
  (make-instance 'line-input :next-line next-line))

;;;; An input stream that is read from a function.

(in-package #:cl-mcp-agent)

(define-gray-class line-input :input
  (next-line :initarg :next-line :reader line-input-next-line)
  (line :initform "" :accessor line-input-line)
  (position :initform 0 :accessor line-input-position))

(defun line-input-rest-p (stream)
  "True if the line that STREAM is in has characters left."
  (< (line-input-position stream) (length (line-input-line stream))))

(define-gray-method stream-read-char ((stream line-input))
  (loop until (line-input-rest-p stream)
        do (let ((line (funcall (line-input-next-line stream))))
             (unless line
               (return :eof))
             (setf (line-input-line stream) (concatenate 'string line '(#\newline))
                   (line-input-position stream) 0))
        finally (return (prog1 (char (line-input-line stream) (line-input-position stream))
                          (incf (line-input-position stream))))))

(define-gray-method stream-unread-char ((stream line-input) character)
  (declare (ignore character))
  (when (plusp (line-input-position stream))
    (decf (line-input-position stream)))
  nil)

(define-gray-method stream-listen ((stream line-input))
  (line-input-rest-p stream))

(define-gray-method stream-read-char-no-hang ((stream line-input))
  (if (line-input-rest-p stream)
      (read-char stream)
      nil))

(define-gray-method stream-clear-input ((stream line-input))
  (setf (line-input-line stream) ""
        (line-input-position stream) 0)
  nil)

;;; A two-way stream of SBCL's asks its input for these too.

(define-gray-method stream-line-column ((stream line-input))
  nil)

(define-gray-method stream-line-length ((stream line-input))
  nil)

(defun make-line-input (next-line)
  "Return an input stream that reads what the function NEXT-LINE returns, a string at a time with a newline after each;
its end when that is NIL."
  (make-instance 'line-input :next-line next-line))

(defun no-input-p (stream)
  "True if STREAM is the standard input of a process without a terminal."
  (eq stream *no-input*))

;;;; The agent's port to the Lisps that Swank knows: streams. All are Gray's.

(in-package #:cl-mcp-agent)

;;; What is printed for a reply

(declaim (ftype function stop-capture))

(define-gray-class capture :output
  (kept :initform (make-array 192 :element-type 'character :adjustable t :fill-pointer 0) :reader captured-kept)
  (keep :initform 0 :accessor captured-keep)
  (count :initform 0 :accessor captured-count)
  (stop :initform 0 :accessor captured-stop)
  (column :initform 0 :accessor captured-column))

(define-gray-method stream-write-char ((stream capture) character)
  (when (< (captured-count stream) (captured-keep stream))
    (vector-push-extend character (captured-kept stream)))
  (setf (captured-column stream) (if (char= character #\newline) 0 (1+ (captured-column stream))))
  (when (>= (incf (captured-count stream)) (captured-stop stream))
    (stop-capture))
  character)

(defmacro define-output-methods (class)
  "Define for CLASS what follows from STREAM-WRITE-CHAR, and the reader COLUMN of its slot of that name."
  `(progn
     (define-gray-method stream-write-string ((stream ,class) string &optional (start 0) end)
       (loop for index from start below (or end (length string))
             do (,(gray-name 'stream-write-char) stream (char string index)))
       string)
     (define-gray-method stream-line-column ((stream ,class))
       (slot-value stream 'column))
     (define-gray-method stream-fresh-line ((stream ,class))
       (unless (zerop (slot-value stream 'column))
         (,(gray-name 'stream-write-char) stream #\newline)
         t))
     (define-gray-method stream-force-output ((stream ,class))
       nil)
     (define-gray-method stream-finish-output ((stream ,class))
       nil)))

(define-output-methods capture)

(implement make-capture ()
  (make-instance 'capture))

(implement start-capture (capture keep stop)
  (setf (fill-pointer (captured-kept capture)) 0
        (captured-keep capture) keep
        (captured-count capture) 0
        (captured-stop capture) stop
        (captured-column capture) 0))

(implement capture-text (capture)
  (values (coerce (captured-kept capture) '(simple-array character (*))) (captured-count capture)))

;;; What evaluations print, which goes to the server in events

;;; ABCL takes no stream of Gray's as a part of another stream, so there it is the backend's own.

#+abcl
(defun %make-session-output (session number)
  (backend make-output-stream (lambda (text)
                                (when (plusp (length text))
                                  (send-output-event session number (coerce text '(simple-array character (*))))
                                  (await-room session)))))

#-abcl
(progn
(defconstant +output-buffer+ 4096)

(define-gray-class session-output :output
  (session :initarg :session :reader printed-session)
  (number :initarg :number :reader printed-number)
  (buffer :initform '() :accessor printed-buffer)
  (length :initform 0 :accessor printed-length)
  (column :initform 0 :accessor printed-column))

(defun %make-session-output (session number)
  (make-instance 'session-output :session session :number number))

(define-output-methods session-output)

(defun send-output (stream)
  "Send what STREAM has in its buffer."
  (let ((text (call-alone (lambda ()
                            (prog1 (coerce (reverse (printed-buffer stream)) '(simple-array character (*)))
                              (setf (printed-buffer stream) '()
                                    (printed-length stream) 0))))))
    (when (plusp (length text))
      (send-output-event (printed-session stream) (printed-number stream) text)
      (await-room (printed-session stream)))))

(define-gray-method stream-write-char ((stream session-output) character)
  (call-alone (lambda ()
                (push character (printed-buffer stream))
                (incf (printed-length stream))
                (setf (printed-column stream)
                      (if (char= character #\newline) 0 (1+ (printed-column stream))))))
  (when (or (char= character #\newline) (>= (printed-length stream) +output-buffer+))
    (send-output stream))
  character)

(define-gray-method stream-force-output ((stream session-output))
  (send-output stream)
  nil)

(define-gray-method stream-finish-output ((stream session-output))
  (send-output stream)
  nil))

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

;;; What is read from a function

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
      (prog1 (char (line-input-line stream) (line-input-position stream))
        (incf (line-input-position stream)))
      nil))

(define-gray-method stream-clear-input ((stream line-input))
  (setf (line-input-line stream) ""
        (line-input-position stream) 0)
  nil)

(implement make-line-input (next-line)
  (make-instance 'line-input :next-line next-line))

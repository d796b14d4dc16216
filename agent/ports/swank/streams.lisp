;;;; The agent's port to the Lisps that Swank knows: streams. All are Gray's.

(in-package #:cl-mcp-agent)

;;; What is printed for a reply

(declaim (ftype function stop-capture))

(define-gray-class capture :output
  (text :initform (make-array 192 :element-type 'character :adjustable t :fill-pointer 0) :reader captured-text)
  (keep :initform 0 :accessor captured-keep)
  (stop :initform 0 :accessor captured-stop))

;;; Each character comes here.

(defun capture-character (stream character)
  (let ((text (slot-value stream 'text)))
    (vector-push-extend character text)
    (when (>= (fill-pointer text) (slot-value stream 'stop))
      (stop-capture))
    character))

(defun capture-part (stream string start end)
  (let ((text (slot-value stream 'text))
        (stop (slot-value stream 'stop)))
    (loop for index from start below (min end (+ start stop))
          do (vector-push-extend (char string index) text))
    (when (>= (fill-pointer text) stop)
      (stop-capture))
    string))

;;; ECL would call a C compiler for these, and does without; ABCL's interpreter is slower.
#+abcl (mapc #'compile '(capture-character capture-part))

(define-gray-method stream-write-char ((stream capture) character)
  (capture-character stream character))

(defun column-of-text (text)
  (let ((newline (position #\newline text :from-end t)))
    (- (length text) (if newline (1+ newline) 0))))

(defun write-each (stream string start end)
  (loop for index from start below end
        do (write-char (char string index) stream))
  string)

(defmacro define-output-methods (class column write)
  "Define for CLASS what follows from STREAM-WRITE-CHAR. COLUMN is a function of the stream; WRITE of the stream, a string, and
where the part to be written begins and ends."
  `(progn
     (define-gray-method stream-write-string ((stream ,class) string &optional (start 0) end)
       (funcall ,write stream string (or start 0) (or end (length string))))
     (define-gray-method stream-line-column ((stream ,class))
       (funcall ,column stream))
     (define-gray-method stream-fresh-line ((stream ,class))
       (unless (zerop (funcall ,column stream))
         (,(gray-name 'stream-write-char) stream #\newline)
         t))
     (define-gray-method stream-force-output ((stream ,class))
       nil)
     (define-gray-method stream-finish-output ((stream ,class))
       nil)))

(define-output-methods capture (lambda (stream) (column-of-text (captured-text stream))) #'capture-part)

(implement make-capture ()
  (make-instance 'capture))

(defconstant +characters-kept+ 20000
  "The most that are kept of one value: a Lisp that interprets the agent needs a second or two for them.")
(defconstant +characters-beyond+ 1000
  "So many characters more than are kept are counted.")

(implement start-capture (capture keep stop)
  (setf (fill-pointer (captured-text capture)) 0
        (captured-keep capture) (min keep +characters-kept+)
        (captured-stop capture) (min stop (+ (captured-keep capture) +characters-beyond+))))

(implement capture-text (capture)
  (let ((text (captured-text capture)))
    (values (coerce (subseq text 0 (min (fill-pointer text) (captured-keep capture))) '(simple-array character (*)))
            (fill-pointer text))))

;;; What evaluations print, which goes to the server in events

(defconstant +output-buffer+ 4096)

(define-gray-class session-output :output
  (session :initarg :session :reader printed-session)
  (number :initarg :number :reader printed-number)
  (text :initform (make-array 192 :element-type 'character :adjustable t :fill-pointer 0) :reader buffered-text)
  (column :initform 0 :accessor printed-column)) ; where TEXT begins

(defun %make-session-output (session number)
  ;; ABCL takes no stream of Gray's as a part of another stream, so there it is the backend's own.
  #+abcl (backend make-output-stream (lambda (text)
                                       (when (plusp (length text))
                                         (send-output-event session number (coerce text '(simple-array character (*))))
                                         (await-room session))))
  #-abcl (make-instance 'session-output :session session :number number))

(define-output-methods session-output
                       (lambda (stream)
                         (let ((text (buffered-text stream)))
                           (+ (column-of-text text)
                              (if (find #\newline text) 0 (printed-column stream)))))
                       #'write-each)

(defun send-output (stream)
  "Send what STREAM has in its buffer. The stream is one thread's."
  (let ((text (coerce (buffered-text stream) '(simple-array character (*)))))
    (when (plusp (length text))
      (setf (printed-column stream) (+ (column-of-text text) (if (find #\newline text) 0 (printed-column stream)))
            (fill-pointer (buffered-text stream)) 0)
      (send-output-event (printed-session stream) (printed-number stream) text)
      (await-room (printed-session stream)))))

(define-gray-method stream-write-char ((stream session-output) character)
  (let ((text (slot-value stream 'text)))
    (vector-push-extend character text)
    (when (or (char= character #\newline) (>= (fill-pointer text) +output-buffer+))
      (send-output stream))
    character))

(define-gray-method stream-force-output ((stream session-output))
  (send-output stream)
  nil)

(define-gray-method stream-finish-output ((stream session-output))
  (send-output stream)
  nil)

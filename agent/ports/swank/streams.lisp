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

(define-gray-method stream-write-string ((stream capture) string &optional start end)
  (capture-part stream string (or start 0) (or end (length string))))

(define-gray-method stream-line-column ((stream capture))
  (let* ((text (captured-text stream))
         (newline (position #\newline text :from-end t)))
    (- (length text) (if newline (1+ newline) 0))))

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

(defun make-session-output (session number)
  ;; ABCL takes no stream of Gray's as a part of another stream, so there it is the backend's own.
  #+abcl (backend make-output-stream (lambda (text)
                                       (when (plusp (length text))
                                         (send-event session :output :stream number :text text)
                                         (await-room session))))
  #-abcl (make-instance 'session-output :session session :number number))

;;;; What the evaluations of a joined session print, which goes to the server in events.

(in-package #:cl-mcp-agent)

(defconstant +output-buffer+ 4096)

(define-gray-class session-output :output
  (session :initarg :session :reader printed-session)
  (number :initarg :number :reader printed-number)
  (buffer :initform (make-string +output-buffer+) :reader printed-buffer)
  (end :initform 0 :accessor printed-end)
  (column :initform 0 :accessor printed-column))

(defun note-unsent (stream)
  "Have the lines that are in the buffer of STREAM sent when the server collects the next messages."
  (call-alone (lambda () (pushnew stream (session-unsent (printed-session stream))))))

(defun send-unsent (session)
  "Send what was printed in SESSION and has not been sent since."
  (mapc #'send-buffer (call-alone (lambda () (shiftf (session-unsent session) '())))))

(defun send-buffer (stream)
  (let ((text (call-alone (lambda ()
                            (prog1 (subseq (printed-buffer stream) 0 (printed-end stream))
                              (setf (printed-end stream) 0))))))
    (cond ((zerop (length text)))
          ((session-ended (printed-session stream))
           ;; What a session has left running prints for the person.
           (call-as-person (lambda () (write-string text) (finish-output))))
          (t
           (send-event (printed-session stream) :output :stream (printed-number stream) :text text)))))

(defun send-output (stream)
  "Send what STREAM has in its buffer, when there is room for it."
  (send-buffer stream)
  (await-room (printed-session stream)))

(defun add-to-output (stream string start end)
  "Put as much of STRING as there is room for into the buffer of STREAM; return where the rest begins."
  (call-alone
   (lambda ()
     (let* ((from (printed-end stream))
            (until (min end (+ start (- +output-buffer+ from))))
            (line (position #\newline string :start start :end until :from-end t)))
       (replace (printed-buffer stream) string :start1 from :start2 start :end2 until)
       (setf (printed-end stream) (+ from (- until start))
             (printed-column stream) (if line
                                         (- until line 1)
                                         (+ (printed-column stream) (- until start))))
       until))))

(define-gray-method stream-write-string ((stream session-output) string &optional start end)
  (let* ((from (or start 0))
         (to (or end (length string)))
         (has-line (find #\newline string :start from :end to)))
    (loop while (< (setf from (add-to-output stream string from to)) to)
          do (send-output stream))
    (cond ((not has-line))
          ;; One message for many lines, if they come faster than they are collected.
          ((session-outgoing (printed-session stream))
           (note-unsent stream))
          (t
           (send-output stream))))
  string)

(define-gray-method stream-write-char ((stream session-output) character)
  (write-string (string character) stream)
  character)

(define-gray-method stream-line-column ((stream session-output))
  (printed-column stream))

(define-gray-method stream-force-output ((stream session-output))
  (send-output stream)
  nil)

(define-gray-method stream-finish-output ((stream session-output))
  (send-output stream)
  nil)

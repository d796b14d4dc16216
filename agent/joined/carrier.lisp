;;;; Messages of a joined session. They ride in requests of Swank's or Slynk's, so there is no channel: what the server has
;;;; delivered waits in the session, and so does what it will collect.

(in-package #:cl-mcp-agent)

(defconstant +payload-limit+ (* 4 1024 1024)
  "The longest message in octets. The packet that carries it escapes some of its characters twice.")
(defconstant +collected-at-once+ (* 1024 1024))
(defconstant +outgoing-limit+ (* 1024 1024)
  "More octets than this make the thread that prints wait until some were collected.")

(defun call-alone (function)
  "Call FUNCTION, which is short, while no other thread is here and no interrupt comes."
  (call-undisturbed (lambda () (call-locked function))))

;;; From the server

(defparameter *silence-seconds* 30
  "How long the server may not wait for messages. It always does, but its connection can end without Swank's hook being run.")

(defun abandoned-p (session)
  (and (not (session-collecting session))
       (> (- (get-universal-time) (session-collected-at session)) *silence-seconds*)))

(defun receive-message ()
  "Wait for a message and return it."
  (let ((session *session*))
    (setf (session-busy session) nil)
    (let ((given-up (shiftf (session-given-up session) nil)))
      (when given-up
        (raise-signal given-up)))
    (loop
      (when (session-ended session)
        (throw 'session-ended nil))
      (when (session-arrived session)
        (mapc (lambda (name value) (setf (symbol-value name) value)) *own-variables* (session-own-values session))
        (return (call-alone (lambda ()
                              (let ((message (pop (session-arrived session))))
                                (setf (session-busy session) (first message))
                                message)))))
      (when (abandoned-p session)
        (setf (session-collected-at session) (get-universal-time))
        (end-session-aside session))
      (call-openly (lambda () (await-signal (session-arrival session) *silence-seconds*))))))

(defun parse-payload (payload)
  "Return the message that the string PAYLOAD is. Signals WIRE-ERROR if it is malformed."
  (let ((*output-octets* (make-buffer +buffer-length+))
        (*output-end* 0))
    (put-string (coerce payload '(simple-array character (*))) nil)
    (let ((*input* *output-octets*))
      (multiple-value-bind (message position) (parse-value 0 *output-end* 0)
        (unless (and (= position *output-end*) (consp message) (integerp (first message)) (symbolp (second message)))
          (error 'wire-error))
        message))))

(defun put-message (session message)
  "Let the thread that serves SESSION have MESSAGE."
  (call-alone (lambda ()
                (setf (session-arrived session) (append (session-arrived session) (list message)))))
  (raise-signal (session-arrival session)))

(defun await-answer (wake)
  (await-signal wake 1))

;;; To the server

(defun send-payload (session payload)
  (unless (session-ended session)
    (call-alone (lambda ()
                  (push payload (session-outgoing session))
                  (incf (session-octets session) (length payload))))
    (raise-signal (session-sent session))))

(defun send-message (message)
  "Send MESSAGE, a list. Returns whether it was short enough to be sent."
  (unless (eql 0 (first message))
    (ignore-errors (settle-definitions (key-of-session *session* (first message)) (eq :ok (second message)))))
  (setf *output-end* 0)
  (put-value message)
  (let ((short-enough (<= *output-end* +payload-limit+)))
    (when short-enough
      (send-payload *session* (let ((*input* *output-octets*))
                                (decode-string 0 *output-end* 0))))
    (when (> (length *output-octets*) +longest-buffer-kept+)
      (setf *output-octets* (make-buffer +buffer-length+)))
    short-enough))

(defun send-event (session &rest event)
  "Send EVENT, which belongs to no request of SESSION, from any thread."
  (call-in-session session
                   (lambda ()
                     (let ((*output-octets* (make-buffer +buffer-length+))
                           (*output-end* 0))
                       (send-message (cons 0 event))))))

(defun await-room (session)
  "Wait until some of what was sent has been collected, if that is much."
  (loop while (and (> (session-octets session) +outgoing-limit+) (not (session-ended session)))
        do (await-signal (session-room session) 1)))

(defun collect-payloads (session)
  "Return some of the payloads that wait in SESSION, in order, and forget them."
  (send-unsent session)
  (call-alone
   (lambda ()
     (let ((waiting (reverse (session-outgoing session)))
           (length 0)
           (collected '()))
       (loop while (and waiting (or (null collected)
                                    (< (+ length (length (the string (first waiting)))) +collected-at-once+)))
             do (let ((payload (pop waiting)))
                  (incf length (length (the string payload)))
                  (push payload collected)))
       (setf (session-outgoing session) (reverse waiting)
             (session-octets session) (reduce #'+ waiting :key #'length))
       (raise-signal (session-room session))
       (nreverse collected)))))

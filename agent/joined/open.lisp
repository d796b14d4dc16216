;;;; Opening and closing joined sessions, and what the server asks of one: each function here is called by one request of
;;;; Swank's or Slynk's, in a thread of theirs.

(in-package #:cl-mcp-agent)

(setf *session* (prepare-session (make-session)))

(defparameter *operations-of-processes*
  '(:configure :warm :fork :save :replay)
  "The operations for which the process must be the session's own.")

(setf *operations* (remove-if (lambda (entry) (member (car entry) *operations-of-processes*)) *operations*))

(defmacro with-session ((number) &body body)
  "Evaluate BODY for the session with NUMBER; return :GONE if there is none."
  (let ((session (gensym "SESSION")))
    `(let ((,session (find ,number *sessions* :key #'session-number)))
       (if ,session
           (call-in-session ,session (lambda () ,@body))
           :gone))))

(defun serve-session ()
  "Serve the session of this thread until it is closed."
  (catch 'session-ended
    (hello)
    (serve-for-ever)))

(defun values-for-looking (values)
  "Return VALUES, of *OWN-VARIABLES*, for a session that runs nothing of the program: none of its reader macros."
  (let ((values (copy-list values)))
    (loop for (name value) in (list (list '*readtable* (copy-readtable nil)) '(*read-eval* nil))
          do (setf (nth (position name *own-variables*) values) value))
    values))

(defun joined-open (client &key (announce t) looks (lock-grace 10) (session "default") before port)
  "Open a session for CLIENT. Returns its number, the agent's hello, and a sentence on what the session BEFORE was
evaluating when its connection was cut, or NIL; or returns (:FAILED sentence). PORT is where the server has found this image."
  (multiple-value-bind (connection package) (own-connection)
    (if (and connection (not (serves-threads-p connection package)))
        (list :failed "This Swank performs one request at a time. Start it with threads, where SWANK:*COMMUNICATION-STYLE* is :SPAWN.")
        (progn
          (when connection
            (give-place-back connection package)
            (send-at-once (socket-stream connection package)))
          (let ((left (and before (what-was-left before)))
                (new (make-session :program client :agent client :name session :announces announce :connection connection
                                   :looks looks :lock-grace lock-grace
                                   :own-values (if looks (values-for-looking (global-values)) (global-values)))))
            (let ((opened (open-session new)))
              (when before
                (inherit-definitions before new))
              (when package
                (keep-door-open new package port))
              (append opened (list left))))))))

(defconstant +opening-seconds+ 10
  "How long the thread of a new session may take to send its hello.")

(defun open-session (new)
  "Have a thread serve NEW; return what JOINED-OPEN does."
  (prepare-session new)
  ;; Together, so that the last session that ends meanwhile takes nothing away.
  (call-locked (lambda ()
                 (setf (session-number new) (incf *sessions-numbered*))
                 (push new *sessions*)
                 (when (session-connection new)
                   (pushnew (session-connection new) *own-connections*))
                 (prepare-shared-image)))
  (call-in-session new
                   (lambda ()
                     (note-program)
                     (setf (session-thread new) (make-thread (session-client new) #'serve-session))
                     (await-signal (session-sent new) +opening-seconds+)
                     (note-held-errors)
                     (list (session-number new) (first (collect-payloads new))))))

(defun joined-deliver (number payload)
  "Hand the message PAYLOAD to the agent. Returns :OK, :GONE if there is no such session, or (:FAILED sentence)."
  (with-session (number)
    (handler-case (let ((message (parse-payload payload)))
                    (case (second message)
                      (:look
                       (ignore-errors (announce-request *session* (cons 0 (getf (cddr message) :request))))
                       (look-in-session message))
                      (:input (take-answer message))
                      (t
                       ;; No event tells of the terminal's debugger.
                       (note-held-errors)
                       (ignore-errors (announce-request *session* message))
                       (ignore-errors (note-definitions-of-session *session* message))
                       (put-message *session* message)))
                    :ok)
      (wire-error (condition) (list :failed (princ-to-string condition))))))

(defconstant +collecting-seconds+ 5)

(defun joined-collect (number)
  "Wait until there are messages for the server, for five seconds at most, and return a list of them."
  (with-session (number)
    (setf (session-collecting *session*) t)
    (unwind-protect
         (loop with end = (time-after +collecting-seconds+)
               for payloads = (progn
                                (watch-locks)
                                (collect-payloads *session*))
               for left = (seconds-until end)
               until (or payloads (session-ended *session*) (not (plusp left)))
               do (await-signal (session-sent *session*) (float (seconds-until-locks left)))
               finally (return payloads))
      (setf (session-collecting *session*) nil
            (session-collected-at *session*) (get-universal-time)))))

(defun look-in-session (message)
  "Answer the look-up MESSAGE in a new thread."
  (let ((id (first message))
        (running (cond (*awaited* (post-thread *awaited*))
                       ((session-busy *session*) (session-thread *session*)))))
    (make-thread "look-up"
                 (lambda ()
                   (note-looker id)
                   (answer-in-thread id (getf (cddr message) :request) running)))))

(defun joined-interrupt (number token)
  "Interrupt the operation with TOKEN."
  (with-session (number)
    (if (call-in-thread (session-thread *session*) (lambda () (route-interrupt token)))
        :ok
        :gone)))

(defconstant +giving-up-seconds+ 1/2)

(defun joined-give-up (number token)
  "Have the evaluation with TOKEN, which two interrupts have not ended, unwind to its top level. If it does not, answer for it."
  (with-session (number)
    (let ((post *awaited*)
          (done (setf (session-given-up *session*) (make-signal))))
      (cond ((null post)
             :idle)
            (t
             (let ((thread (post-thread post)))
               (call-in-thread thread (lambda ()
                                        (when (eql token *token*)
                                          (throw 'top-level (given-up-reply *id* nil)))))
               (await-signal done (float +giving-up-seconds+))
               (if (eq post *awaited*)
                   (progn
                     (setf (post-reply post) (given-up-reply (session-busy *session*) (label-of thread)))
                     (raise-signal (post-done post))
                     :left)
                   :ok)))))))

(defun given-up-reply (id thread)
  (list id :error :type "TIMEOUT" :message "" :kind :interrupt :classes '() :restarts '() :frames '() :total-frames 0
                  :left t :still-running thread :package (top-package-name)))

(defun joined-close (number)
  "End the session: unwind its errors, end its threads. Returns how many errors were unwound."
  (with-session (number)
    (end-session *session*)))

(defun remove-wrappers ()
  "Remove all wrappers of the session."
  (loop for (name tag) in *wrapped*
        do (if (eq tag :methods)
               (unwrap-methods name)
               (unwrap-function name tag))))

(defun evaluating-posts ()
  "List the posts of the session whose evaluations have not ended."
  (remove-if-not (lambda (post)
                   (and (post-evaluates post)
                        (thread-alive-p (post-thread post))
                        (not (find post *standing-errors* :key #'standing-post))))
                 *posts*))

;;; What was cut, for the server when it comes again

(defvar *cut-short* '()
  "What sessions were evaluating when they ended, last first: (SESSION-NUMBER EVALUATION-NUMBER THREAD).")
(defconstant +most-cut-short+ 100)

(defun note-cut-short (session posts)
  (call-locked (lambda ()
                 (dolist (post posts)
                   (push (list (session-number session) (post-evaluates post) (post-thread post)) *cut-short*))
                 (setf *cut-short* (some-of *cut-short* 0 +most-cut-short+)))))

(defun what-was-left (number)
  "Return a sentence, after a blank, on what became of what the session with NUMBER was evaluating when its connection was cut;
NIL if that was nothing."
  (let ((session (find number *sessions* :key #'session-number)))
    (when session
      ;; Its server knows that the connection was cut before this image does.
      (unless (session-ended session)
        (end-session-aside session))
      (await-signal (session-gone session) (* 2 +unwinding-seconds+))))
  (let ((cut (remove number *cut-short* :key #'first :test-not #'eql)))
    (if cut
        (format nil "~{ ~a~}"
                (loop for (nil evaluation thread) in cut
                      collect (if (thread-alive-p thread)
                                  (format nil "Evaluation ~d, which was running then, still runs in the thread ~a (~d)."
                                          evaluation (label-of thread) (number-of thread))
                                  (format nil "Evaluation ~d, which was running then, was unwound with its cleanup forms."
                                          evaluation))))
        nil)))

(defun end-session (session)
  (let* ((errors (count-if #'standing-post *standing-errors*))
         (running (evaluating-posts))
         (threads (append (mapcar #'post-thread *posts*) (mapcar #'cdr *lookers*))))
    (note-cut-short session running)
    (setf (session-ended session) t)
    (ignore-errors (remove-wrappers))
    (mapc #'ask-thread-to-end threads)
    ;; Threads of the person's that were interrupted go on.
    (mapc #'give-up (remove-if (lambda (standing)
                                 (or (null (standing-post standing)) (member (standing-thread standing) threads)))
                               *standing-errors*))
    (raise-signal (session-arrival session))
    (raise-signal (session-sent session))
    (raise-signal (session-room session))
    (dolist (thread threads)
      (await-thread thread +unwinding-seconds+))
    (let ((thread (session-thread session)))
      (unless (await-thread thread +unwinding-seconds+)
        (ask-thread-to-end thread)
        (await-thread thread +unwinding-seconds+)))
    (call-locked (lambda ()
                   (setf *sessions* (remove session *sessions*))
                   (restore-image-unless-used)))
    (raise-signal (session-gone session))
    (when (session-announces session)
      (announce session nil (format nil "has left~@[; it gave up ~d standing error~:p~]" (if (plusp errors) errors nil))))
    errors))

(defun end-session-aside (session)
  "End SESSION in a new thread, so that nobody waits for it."
  (start-thread "agent: leaving" (lambda ()
                                   ;; An error here would open in the person's debugger.
                                   (ignore-errors
                                    (call-in-session session (lambda () (end-session session)))))))

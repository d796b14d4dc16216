;;;; Errors of the agent's that stand and hold a lock for which a thread of the person's waits: both are told, and after a while
;;;; the error is unwound, unless its evaluation was to hold it.

(in-package #:cl-mcp-agent)

(define-session-variable *waits* '()
  "The threads of the person's that wait for such an error: a WAIT each.")

(defstruct (wait (:copier nil) (:predicate nil))
  thread
  (until nil))                          ; when the error is unwound

(defun agents-error-of (thread)
  "Return the error of this session that stands in THREAD and that the session can unwind, or NIL."
  (let ((standing (standing-in thread)))
    (and standing (standing-post standing) standing)))

(defun waiting-threads ()
  "List (THREAD LOCK STANDING) for each thread that waits for a lock which one of this session's errors holds."
  (loop for thread in (all-threads)
        append (multiple-value-bind (lock owner) (lock-awaited thread)
                 (let ((standing (and owner (not (own-thread-p thread)) (agents-error-of owner))))
                   (and standing (list (list thread lock standing)))))))

(defun tell-of-lock (number control &rest arguments)
  "Tell the session and the person what CONTROL makes of ARGUMENTS; NUMBER is that of the error which can be left, or NIL."
  (let ((text (apply #'format nil control arguments)))
    (send-event *session* :person :text text :standing number)
    (when (session-announces *session*)
      (announce *session* nil text))))

(defun note-locks (number)
  "Tell which locks this thread holds, where the error NUMBER stands."
  (let ((locks (locks-held)))
    (when locks
      (send-event *session* :person :standing number
                                    :text (format nil "The thread of this error holds ~{~a~^, ~}." locks)))))

(defun watch-locks ()
  "Tell of threads of the person's that have begun to wait for errors of this session, and unwind errors for which they wait too
long."
  (let ((waiting (if (some #'standing-post *standing-errors*) (waiting-threads) '())))
    (setf *waits* (remove-if-not (lambda (wait) (find (wait-thread wait) waiting :key #'first)) *waits*))
    (loop for (thread lock standing) in waiting
          for wait = (find thread *waits* :key #'wait-thread)
          for grace = (and (not (standing-stays standing)) (session-lock-grace *session*))
          do (cond ((null wait)
                    (push (make-wait :thread thread :until (and grace (time-after grace))) *waits*)
                    (tell-of-lock (standing-number standing)
                                  "Thread ~a of the person's program has waited since ~a for ~:[a lock~;the lock ~:*~s~] that an ~
                                   error of the agent's holds~@[; in ~d seconds the error is unwound~]."
                                  (label-of thread) (clock-text (get-universal-time) nil) lock grace))
                   ((and (wait-until wait) (not (plusp (seconds-until (wait-until wait)))))
                    (give-up standing)
                    (setf *waits* (remove wait *waits*))
                    (tell-of-lock nil
                                  "An error of the agent's was unwound: thread ~a of the person's program had waited ~d second~:p ~
                                   for ~:[a lock~;the lock ~:*~s~] that it held."
                                  (label-of thread) (session-lock-grace *session*) lock))))))

(defconstant +lock-watch-seconds+ 1
  "How often locks are looked at while an error stands: no event tells that a thread begins to wait.")

(defun seconds-until-locks (seconds)
  "Return how long to wait at most, of SECONDS, until locks are looked at."
  (if (some #'standing-post *standing-errors*) (min seconds +lock-watch-seconds+) seconds))

;;;; The agent's port to the Lisps that Swank knows: threads.

(in-package #:cl-mcp-agent)

(implement all-threads ()
  (backend all-threads))

(implement current-thread ()
  (backend current-thread))

(implement thread-alive-p (thread)
  (and (backend thread-alive-p thread) t))

(implement thread-number (thread)
  (let ((number (backend thread-id thread)))
    (if (integerp number) number nil)))

(implement thread-name-of (thread)
  (let ((name (backend thread-name thread)))
    (cond ((stringp name) name)
          ((and name (symbolp name)) (symbol-name name))
          (t "unnamed thread"))))

(implement thread-activity (thread)
  (if (thread-alive-p thread) :unknown :starting))

(implement only-thread-p ()
  (null (rest (all-threads))))

(implement ask-thread-to-end (thread)
  (call-in-thread thread #'end-thread)
  ;; ABCL interrupts only what waits or sleeps. What computes ends at the next form that is interpreted.
  #+abcl (unless (or (await-thread thread 1/10) (eq thread (current-thread)))
           (backend kill-thread thread)))

(implement end-thread ()
  (throw 'thread-ended nil))

(defconstant +look-seconds+ 1/50)

(implement await-thread (thread seconds)
  ;; No event tells of the end of a thread everywhere.
  (loop with end = (time-after seconds)
        while (and (thread-alive-p thread) (plusp (seconds-until end)))
        do (sleep +look-seconds+))
  (not (thread-alive-p thread)))

(defvar *lock* (backend make-lock :name "agent's list"))
(defvar *is-locked* nil
  "True in the thread that is in CALL-LOCKED.")

(implement call-locked (function)
  (if *is-locked*
      (funcall function)
      (call-undisturbed (lambda ()
                          (backend call-with-lock-held *lock*
                                   (lambda ()
                                     (let ((*is-locked* t))
                                       (funcall function))))))))

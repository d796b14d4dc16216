;;;; Who owns what. What an evaluation of the agent's makes, a thread or a timer, is the agent's, and so is what that makes: its
;;;; errors and its output go to the session, and it does not end the image. What the person has made, such as the threads
;;;; of a pool, stays the person's. The ports have GIVE-AWAY and STOP-BEFORE-EXIT called in place of what the image calls.

(in-package #:cl-mcp-agent)

(defvar *made-threads* '()
  "The threads that evaluations have made, and theirs: (THREAD . SESSION).")

(defun made-thread-p (thread)
  "True if an evaluation of this session has made THREAD."
  (eq *session* (cdr (assoc thread *made-threads*))))

(defun call-in-made-thread (session function)
  "Call FUNCTION, all that this thread does, which is the agent's because an evaluation of SESSION has made it."
  (let ((thread (current-thread)))
    (call-locked (lambda ()
                   (push (cons thread session) *made-threads*)
                   (prepare-shared-image)))
    (unwind-protect
         (call-in-own-context session
                              (lambda ()
                                (unwind-protect
                                     (call-with-debugger (lambda () (call-in-its-share function))
                                                         #'made-thread-failed)
                                  (flush-streams)))
                              '())
      (call-locked (lambda ()
                     (setf *made-threads* (remove thread *made-threads* :key #'first))
                     (restore-image-unless-used))))))

(defun made-thread-failed (condition)
  "Do as DEBUGGER. Once the session has ended, there is only the person to tell."
  (if (session-ended *session*)
      (call-as-person #'invoke-debugger condition) ; which *DEBUGGER* does not stand in for
      (debugger condition)))

(defun owned (function made)
  "Return a function that does as FUNCTION, which an evaluation gives away, and is the agent's. MADE is true if a new thread
calls it and nothing else; otherwise it can be any thread."
  (let ((session *session*))
    (lambda (&rest arguments)
      (flet ((call ()
               (apply function arguments)))
        (cond (*is-agents-thread* (call))
              (made (call-in-made-thread session #'call))
              (t (call-as-guest session #'call)))))))

(defun give-away (place made give arguments)
  "Call GIVE with ARGUMENTS, of which that at PLACE is a function for another thread or for later."
  (apply give (if (and *is-agents-thread* (nthcdr place arguments))
                  (append (subseq arguments 0 place)
                          (list (owned (nth place arguments) made))
                          (nthcdr (1+ place) arguments))
                  arguments)))

(defun call-as-person (function &rest arguments)
  "Call FUNCTION so that the threads it makes are the person's, as those of Swank are, even when the agent's code has it make them."
  (call-with-global-values (lambda ()
                             (let ((*is-agents-thread* nil))
                               (apply function arguments)))))

;;; What ends the image

(defvar *image-ends* nil
  "True once END-IMAGE was invoked.")

(defun stop-before-exit (name function arguments &optional (can-go-on t))
  "Call FUNCTION, which is called NAME and ends the image, with ARGUMENTS; in the agent's threads only if that is meant. Return NIL
if the code is to go on without that, which CAN-GO-ON permits."
  (when *is-agents-thread*
    (restart-bind ((continue (lambda () (return-from stop-before-exit nil))
                     :test-function (lambda (condition) (declare (ignore condition)) can-go-on)
                     :report-function (lambda (stream)
                                        (format stream "Go on without ending the image; ~a returns NIL." name)))
                   (end-image (lambda ()
                                (unless *by-force*
                                  (error "END-IMAGE is invoked by invoke-restart with force, and not by code."))
                                (let ((*is-agents-thread* nil))
                                  (setf *image-ends* t)
                                  (apply (the function function) arguments))
                                (return-from stop-before-exit nil))
                     :report-function (lambda (stream)
                                        (write-string "End the image, which a person runs. Needs force." stream))))
      (error "~a would end the image, which a person runs and may be at work in." name)))
  (apply (the function function) arguments))

;;; Pools of threads (lparallel's) that the person has made: what the agent has them do runs as the person's, but its errors are
;;; those of the evaluation that waits for them.

(define-session-variable *own-pools* '()
  "The schedulers of pools that evaluations of this session have made, or of which it has been told.")

(defun note-made-pool (make &rest arguments)
  "Stand in for MAKE, which makes the scheduler of a pool."
  (let ((scheduler (apply (the function make) arguments)))
    (when *is-agents-thread*
      (push scheduler *own-pools*))
    scheduler))

(defun note-pool-work (schedule scheduler &rest arguments)
  "Stand in for SCHEDULE, which gives work to the pool of SCHEDULER."
  (when (and *is-agents-thread* (not (member scheduler *own-pools* :test #'eq)))
    (push scheduler *own-pools*)
    (send-event *session* :person :text (format nil "The threads of this pool of lparallel's are the person's: what they do for ~
                                                     the agent, they do as the person's. An error there is signalled in the ~
                                                     evaluation that waits for it.")))
  (apply (the function schedule) scheduler arguments))

(defun transfer-error (condition)
  "Have CONDITION, in a task of the agent's, signalled where the task is waited for. In a pool of the agent's it is entered where it is."
  (let ((restart (find-restart (its "TRANSFER-ERROR" "LPARALLEL.KERNEL"))))
    (when (and restart (not *is-agents-thread*))
      (invoke-restart restart condition))))

(defun call-with-task-handlers (function)
  "Call FUNCTION so that the tasks which it gives to lparallel have TRANSFER-ERROR as a handler."
  (let ((handlers (its "*CLIENT-HANDLERS*" "LPARALLEL.KERNEL")))
    (progv (and handlers (list handlers)) (list (list (cons 'error #'transfer-error)))
      (funcall function))))

;;;; Errors that stand in threads. While threads of the program run, each evaluation runs in its own thread and
;;;; the main thread only serves the channel: it passes each request to the right thread and waits for the
;;;; reply. So a failed evaluation keeps its stack while others run, and so does a failed thread of the program
;;;; if thread-errors allows it. When the program's threads have ended, evaluations
;;;; run in the main thread again.

(in-package #:cl-mcp-agent)

(defconstant +most-standing+ 5)
(defconstant +unwinding-seconds+ 2
  "How long the threads of abandoned errors may take to end.")
(defconstant +locals-of-report+ 65536
  "The most characters of local variables in the report of a thread's error.")

(defstruct post
  "Where a thread gets requests from and puts its replies."
  thread
  (request nil)
  (wake (make-signal))
  (reply nil)
  (done (make-signal))
  (served nil)
  (is-visit nil)                        ; only this one request is performed there
  (holds nil)                           ; an error of what it evaluates keeps its locks
  (evaluates nil)                       ; an evaluation's number; * and the like are copied from its thread
  (values '()))

(defstruct standing
  "An error that stands where a thread is. POST is NIL in the thread that serves the channel."
  number thread post of-program
  (held nil)                            ; the condition, if it stands in the debugger of the person who runs the image
  (below nil)                           ; the one for which the thread stood in that debugger already
  (stays nil)                           ; it is not unwound though the person's program waits for a lock that it holds
  fills-heap                            ; what filled the heap is held by the stack that stands
  (told nil))                           ; its entry is in the inbox or has been sent

(define-session-variable *standing-errors* '()
  "The standing errors, newest first.")
(define-session-variable *ended-errors* '()
  "The numbers of errors that the server believes to stand but that have ended.")
(define-session-variable *errors-numbered* 0)
(define-session-variable *posts* '()
  "The posts of the threads that evaluate.")
(define-session-variable *thread-errors* 0
  "How many failed threads of the program are kept in their error; another one ends the oldest.")
(define-session-variable *awaited* nil
  "The post whose reply the serving thread is waiting for, or NIL.")
(define-session-variable *lookers* '()
  "The threads that answer look-ups while others run: (ID . THREAD), so that the server can end one.")

(defun answers-look-up-p (thread)
  (rassoc thread *lookers*))

;;; Which errors stand

(defun standing-in (thread)
  "Return the error that stands in THREAD, or NIL."
  (find thread *standing-errors* :key #'standing-thread))

(defun standing-numbered (number)
  (find number *standing-errors* :key #'standing-number))

(defun next-error-number ()
  (call-locked (lambda () (incf *errors-numbered*))))

(defun note-standing (number post condition &optional of-program)
  "Note that CONDITION, the error NUMBER, stands in this thread, at POST. If there are too many, unwind the oldest."
  (let ((standing (make-standing :number number :thread (current-thread) :post post
                                 :of-program of-program
                                 :stays (and post (post-holds post))
                                 :below (held-condition (current-thread))
                                 :fills-heap (eq :heap (storage-kind condition)))))
    (call-locked
     (lambda ()
       (push standing *standing-errors*)
       (let ((alike (remove of-program *standing-errors*
                            :key #'standing-of-program :test-not #'eq)))
         (mapc #'give-up (nthcdr (if of-program (max 1 *thread-errors*) +most-standing+)
                                 alike)))))))

(defun note-ended (number)
  (call-locked
   (lambda ()
     (let ((standing (standing-numbered number))
           (unread (find number *inbox* :key (lambda (entry) (getf entry :number)))))
       (when standing
         (setf *standing-errors* (remove standing *standing-errors*))
         ;; An entry that the server has not read yet would still report the error as standing.
         (cond (unread
                (setf (getf unread :standing) nil))
               ((or (standing-told standing) (not (standing-of-program standing)))
                (push number *ended-errors*))))))))

(defun give-up (standing)
  "Have the thread of STANDING unwind, unless it is the serving thread, which unwinds its own error when it is free."
  (note-ended (standing-number standing))
  (when (standing-post standing)
    (post-message (standing-post standing) (list 0 :abort))))

(defun ended-part ()
  "Return the part of a reply that lists errors that no longer stand."
  (if *ended-errors*
      (list :ended-errors (call-locked (lambda () (shiftf *ended-errors* '()))))
      '()))

(defun error-of-thread (thread)
  "Return the number of the error that stands in THREAD, or NIL."
  (let ((standing (standing-in thread)))
    (if standing (standing-number standing) nil)))

;;; Requests and replies between threads

(defun post-message (post message)
  (setf (post-request post) message)
  (raise-signal (post-wake post)))

(define-session-variable *told-of-threads* nil
  "True if the server knows that threads of the program run.")

(defun threads-part ()
  "Return the part of a reply that reports that threads of the program have started, which prevents copies, or ended."
  (let* ((among-threads (among-threads-p))
         (began (and among-threads (not *told-of-threads*)))
         ;; The server asks for the errors of threads until it is told that these have ended.
         (ended (and *told-of-threads* (not among-threads) (null *inbox*))))
    (cond ((shares-image-p)
           '())
          (began
           (setf *told-of-threads* t)
           (list :threads-began (threads-in-the-way)
                 :threads-hint (and (value-of "*CATCH-ERRORS-P*" "HUNCHENTOOT")
                                    (format nil "configure-limits with thread-errors: 5, and then (setf ~
                                                 hunchentoot:*catch-errors-p* nil), let errors of Hunchentoot's ~
                                                 handlers be entered."))))
          (ended
           (setf *told-of-threads* nil)
           (list :threads-ended (if *standing-errors* (why-not-copied) t)))
          (t '()))))

(defun next-message ()
  "Return the next request for this thread. An evaluating thread serves one request, and more only inside an error."
  (let ((post *post*))
    (cond ((and (null post) *read-ahead*)
           (destructuring-bind (message . descriptors) (pop *read-ahead*)
             (setf *descriptors* (append *descriptors* descriptors))
             message))
          ((null post)
           (receive-message))
          ((and (post-served post) (or (post-is-visit post) (null *error-condition*)))
           (throw 'served nil))
          (t
           (call-openly (lambda () (await-signal (post-wake post))))
           (setf (post-served post) t)
           (shiftf (post-request post) nil)))))

(defun answer (message)
  "Send MESSAGE to where this thread's request came from. Return whether it was short enough."
  (let ((post *post*))
    (cond ((null post)
           (send-message (with-news (if (member (second message) '(:ok :error))
                                        ;; An error that is put into the inbox from here on keeps THREADS-PART from saying that
                                        ;; the threads have ended, after which the server would not ask for it.
                                        (let ((message (with-inbox (append message (ended-part)))))
                                          (append message (threads-part)))
                                        message))))
          ((eql 0 (first message))
           t)
          (t
           (when (post-evaluates post)
             (setf (post-values post) (listener-values)))
           (setf (post-reply post) message)
           (raise-signal (post-done post))
           t))))

(defun ask-post (post message)
  "Have the thread of POST perform MESSAGE; return its reply. The server's interrupts are passed to that thread."
  (call-atomically
   (lambda ()
     (setf *awaited* post)
     (unwind-protect
          (progn
            (post-message post message)
            (call-openly (lambda () (await-signal (post-done post)))))
       (setf *awaited* nil))
     (setf *token* 0)
     (when (post-values post)
       (set-listener-values (post-values post)))
     (shiftf (post-reply post) nil))))

(defun route-interrupt (token)
  "Act on an interrupt from the server, in the thread that performs the request."
  (cond ((not (eq (current-thread) (serving-thread)))
         ;; The kernel may deliver the signal to any thread.
         (call-in-thread (serving-thread) (lambda () (route-interrupt token))))
        ((assoc token *lookers*)
         (ask-thread-to-end (cdr (assoc token *lookers*))))
        ((and *awaited* (= token *token*))
         ;; While a thread runs an interruption, SBCL does not say what it waits for.
         (let ((hint (ignore-errors (lock-hint (post-thread *awaited*)))))
           (call-in-thread (post-thread *awaited*)
                           (lambda ()
                             (let ((*lock-hint* hint))
                               (interrupt token))))))
        (t
         (interrupt token))))

;;; Evaluating in a thread

(defparameter *evaluating-operations*
  '(:evaluate :time :load-system :load-file :quickload :call-tool)
  "The operations that run in a separate thread when the program has threads.")

(defun own-thread-p (thread)
  "True if THREAD does not belong to the program."
  (or (eq thread (serving-thread))
      (find thread *posts* :key #'post-thread)
      (answers-look-up-p thread)
      (made-thread-p thread)))

(defun among-threads-p ()
  "True if threads of the program run."
  (or (shares-image-p)
      (and (not (alone-p))
           (not (null (find-if-not #'own-thread-p (all-threads)))))))

(defconstant +threads-named+ 5)

(defun threads-in-the-way ()
  "Return the names of some of the program's threads, with counts, for use in a sentence; NIL if it has none."
  (let ((labels (mapcar #'label-of (remove-if #'own-thread-p (all-threads)))))
    (and labels
         (listed (loop for label in (remove-duplicates labels :test #'string= :from-end t)
                       for count = (count label labels :test #'string=)
                       collect (format nil "~a~@[ (~d times)~]" label (if (= count 1) nil count)))
                 +threads-named+))))

(defun why-not-copied ()
  (let ((threads (threads-in-the-way)))
    (if (and *standing-errors* (null threads))
        "The threads of failed evaluations stand in their errors, so the session cannot be copied. The next evaluation ends them."
        (format nil "Other threads run in this session, so it cannot be copied~@[: ~a~]." threads))))

(defun serve-post (post values ready)
  "Serve POST in this thread until its request is done. VALUES are those of *LISTENER-VARIABLES*."
  (progv *listener-variables* values
    (let ((*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*leaving* nil)
          (*post* post)
          (*serves* t)
          (*capture* (make-capture))
          (*hidden-restarts* (compute-restarts)))
      (raise-signal ready)
      (unwind-protect
           (catch 'served
             (let ((message (call-in-its-share
                             (lambda () (catch 'top-level (serve-from-top))))))
               (call-atomically (lambda () (reply message)))))
        (keep-evaluation-values (post-evaluates post))
        (call-locked (lambda () (setf *posts* (remove post *posts*))))
        ;; If the process is ending, the server learns it from the kernel.
        (when (and *id* (not (exiting-p)))
          (answer (list *id* :ok :values '() :cut '()
                             :warnings '(("WARNING" "The thread of the evaluation was ended."))
                             :package (session-package-name) :done-of (post-evaluates post) :done '())))))))

(defun start-evaluating-thread (number)
  "Start a thread that serves one request, evaluation NUMBER; return its post when it can be interrupted."
  (let ((post (make-post :evaluates (or number 0)))
        (ready (make-signal))
        (values (listener-values))
        (failure nil))
    ;; An interrupt that was taken here would unwind past a thread that has nothing to do and would wait for ever.
    (call-undisturbed
     (lambda ()
       (handler-case
           (progn
             (call-locked
              (lambda ()
                (setf (post-thread post)
                      (make-thread (format nil "evaluation ~@[~d~]" number)
                                   (lambda () (serve-post post values ready))))
                (push post *posts*)))
             (await-signal ready))
         (serious-condition (condition)
           (setf failure condition)))))
    ;; The error is served here, where neither interrupts are deferred nor the lock is held.
    (when failure
      (error failure))
    post))

(defun evaluate-in-thread (message)
  "Perform MESSAGE in a new thread; return its reply."
  (multiple-value-bind (post reply)
      (call-atomically
       (lambda ()
         (let ((post (start-evaluating-thread (getf (cddr message) :evaluation))))
           (setf (post-holds post) (getf (cddr message) :hold))
           (values post (ask-post post message)))))
    ;; A request for a copy would be refused until the thread has ended.
    (unless (or (find post *standing-errors* :key #'standing-post)
                ;; The session has given it up.
                (and (eq :error (second reply)) (getf (cddr reply) :still-running)))
      (await-thread (post-thread post) +unwinding-seconds+))
    reply))

(defun end-standing-errors (&optional (which #'standing-post))
  "Unwind the errors that stand in other threads and for which WHICH is true, and wait briefly for these to end."
  (let ((errors (remove-if-not (lambda (standing)
                                 (and (standing-post standing) (funcall which standing)))
                               *standing-errors*)))
    (mapc #'give-up errors)
    (dolist (standing errors)
      (await-thread (standing-thread standing) +unwinding-seconds+))))

(define-session-variable *max-memory* nil
  "How many MiB the thread of an evaluation in a person's image may keep; NIL for what CALL-IN-ITS-SHARE chooses.")

(defun note-thread-errors (most)
  ;; The memory of a global value may be protected until it is first written. With all signals blocked by the program,
  ;; writing it would end the process.
  (unless (eql most *thread-errors*)
    (setf *thread-errors* most)))

(define-operation :limit-thread-errors (&key count)
  (note-thread-errors count)
  (list *id* :ok))

(defun perform-where-due (message operation)
  "Call OPERATION for MESSAGE in this thread or in the one that must perform it; return the reply."
  (destructuring-bind (id name . arguments) message
    (let ((number (getf arguments :standing)))
      (when (and (null *post*) (member name *evaluating-operations*))
        (note-thread-errors (getf arguments :thread-errors 0))
        (when (shares-image-p)
          (setf *max-memory* (getf arguments :max-memory))))
      (cond (number
             (perform-in-error number message operation))
            ((or *post* (not (member name *evaluating-operations*)))
             (apply operation arguments))
            ((among-threads-p)
             (end-standing-errors #'standing-fills-heap)
             (free-what-filled-heap)
             (evaluate-in-thread message))
            (*standing*
             ;; It cannot be unwound from inside, so it is unwound first.
             (setf *id* id
                   *pending* message)
             (throw 'top-level nil))
            (t
             (when *standing-errors*
               (end-standing-errors))
             ;; Not while the error is unwound: the collection can take longer than the server waits for that.
             (free-what-filled-heap)
             (apply operation arguments))))))

(defun perform-in-error (number message operation)
  "Have MESSAGE performed where the error NUMBER stands."
  (let ((standing (standing-numbered number)))
    (cond ((null standing)
           (refuse "This error no longer stands: its thread has continued or ended."))
          ((eql number *standing*)
           (apply operation (cddr message)))
          ((standing-held standing)
           (perform-in-held-error standing message))
          ((not (member (held-condition (standing-thread standing)) (list nil (standing-below standing))))
           (refuse "The person has taken this error over: its thread stands in their debugger."))
          ((not (eq *post* (standing-post standing)))
           (ask-post (standing-post standing) message))
          (t
           (refuse "A later error stands in the thread of this error; enter that one first.")))))

;;; Errors of the program's threads

(defun sparing-locals (frames)
  "Return FRAMES with the local variables of as many frames as fit into a report."
  (let ((room +locals-of-report+))
    (loop for (call place . locals) in frames
          do (loop for (name value) in locals
                   do (decf room (+ (length name) (length value))))
          collect (if (plusp room)
                      (list* call place locals)
                      (list call place)))))

(defun thread-error-entry (condition kind frame number)
  "Return the inbox entry for CONDITION, signalled at FRAME in this thread."
  (let* ((*capture* (make-capture))
         (*current-form* nil)
         (*warnings* '())
         (*printed-values* :none)
         (*readings* nil)
         (*component* nil)
         (*aborts-to-top* nil)
         (*in-a-hurry* (eq :stack (storage-kind condition)))
         (*last-frames* '())
         (*with-locals* t)
         (*guard* nil)
         (message (report-or-minimal 0 kind condition frame)))
    (setf (getf (cddr message) :frames) (sparing-locals (getf (cddr message) :frames)))
    (inbox-entry message number)))

(defun inbox-entry (message number)
  "Return the inbox entry for the error NUMBER of this thread, which MESSAGE reports."
  (list* :where (short-line (thread-name)) :number number :standing nil (cddr message)))

(defun put-in-inbox (entry)
  "Put ENTRY, the report of an error in this thread, into the inbox, and note in it whether the error stands."
  (call-locked (lambda ()
                 (let ((standing (standing-numbered (getf entry :number))))
                   (when standing
                     (setf (standing-told standing) t
                           (getf entry :standing) t))
                   (keep-in-inbox entry)))))

(defun stand (number post condition frame)
  "Serve the requests of POST where this thread has failed with CONDITION at FRAME, until a restart leaves the error or
the error is abandoned; only one if POST is that of a visit."
  (let* ((has-answered nil)
         (*post* post)
         (*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*leaving* nil)
         (*error-condition* condition)
         (*error-frame* frame)
         (*capture* (make-capture))
         (*aborts-to-top* nil)
         (*serves* t)
         (*evaluating* nil)
         (*guard* nil)
         (*aside* nil)
         (*standing* number))
    (unwind-protect
         (catch 'served
           (let ((message (catch 'top-level (serve-from-top))))
             (setf has-answered t)
             (call-atomically (lambda () (reply message)))))
      ;; A restart is unwinding to the place where the thread continues.
      (let ((goes-on (and *id* (not has-answered) (not (exiting-p)))))
        (when (or goes-on (not (post-is-visit post)))
          (note-ended number))
        (when goes-on
          (answer (list *id* :ok :values '() :cut '() :warnings '()
                             :package (session-package-name) :goes-on t)))))))

(defun thread-failed (condition kind &optional (reported (constantly nil)))
  "Report CONDITION, which a thread of the program did not handle; then end the thread or keep it there.
REPORTED is called when the report is in the inbox."
  (let ((frame (signalling-frame))
        (number (next-error-number))
        (post (if (and (or (eq kind :interrupt) (typep condition 'cl-mcp:breakpoint) (plusp *thread-errors*))
                       (not (eq :stack (storage-kind condition))))
                  (make-post :thread (current-thread) :served t)
                  nil))
        (is-told nil))
    (call-apart-from-program
     (lambda ()
       ;; The error is noted before it is reported, so that whoever ends the thread ends the error too.
       (unwind-protect
            (progn
              (when post
                (note-standing number post condition t))
              (put-in-inbox (thread-error-entry condition kind frame number))
              (setf is-told t)
              (funcall reported number)
              (when post
                (stand number post condition frame)))
         ;; The thread may be killed while its report is made.
         (unless is-told
           (put-in-inbox (inbox-entry (minimal-report 0 kind condition) number)))
         (note-ended number))
       ;; A person's thread is not ours to end: it continues.
       (when (or (not (shares-image-p)) (made-thread-p (current-thread)))
         (end-thread))))))

(define-operation :interrupt-thread (&key thread force)
  (let ((thread (thread-to-change thread force)))
    (when (error-of-thread thread)
      (refuse "~a is stopped at an error already." (label-of thread)))
    (multiple-value-bind (outcome number)
        (call-printing-in-thread
         thread
         (lambda (finish)
           (restart-case (thread-failed (make-condition 'evaluation-interrupted
                                                        :text "interrupt-thread stopped the thread here.")
                                        :interrupt finish)
             (continue ()
               :report "Continue from where it was interrupted."))))
      (list *id* :ok :name (label-of thread) :outcome outcome :number number :inbox '()))))

;;;; The agent's loop: receive a request, perform it guarded, reply. Nothing that user code does
;;;; ends it. After an error the loop runs again inside the error, until the server requests an abort.

(in-package #:cl-mcp-agent)

(defun minimal-report (id kind condition)
  "Report CONDITION minimally, because its full report failed too."
  (list id :error
        :type (if (typep condition 'condition)
                  (symbol-name (class-name (class-of condition)))
                  "ERROR")
        :message "#<the report of this error failed>"
        :kind kind
        :classes '() :restarts (list (list "ABORT" "Return to top level." nil))
        :frames *last-frames* :total-frames (length *last-frames*)
        :package "CL-USER"))

(defun report-or-minimal (id kind condition frame)
  "Build the report of CONDITION as ERROR-REPLY does; if that fails, a minimal one."
  (let ((message (catch 'report
                   (let ((*reporting* t))
                     (call-openly (lambda ()
                                    (call-with-debugger (lambda () (error-reply id kind condition frame))
                                                        #'debugger)))))))
    (if (consp message)
        message
        (minimal-report id kind condition))))

(defvar *between-requests* (list :between-requests)
  "The tag to which an error between two requests throws. Programs do not have it, unless they take it from here.")

(defun leave (message)
  "Unwind to the top level and reply MESSAGE there. If unwinding itself fails, the first message is the reply.
The agent does not serve inside a cleanup form that fails or loops: the next request runs at the top level."
  (when (or (null *leaving*)
            (and (eq :ok (second *leaving*)) (eq :error (second message))))
    (setf *leaving* message))
  (throw 'top-level *leaving*))

(defun reply (message)
  "End the current request with MESSAGE."
  (setf *token* 0)
  (flush-streams)
  (unless (= (process-id) *own-process*)
    ;; User code has forked; its child must not use the channel.
    (end-process 0))
  (setf *id* nil
        *leaving* nil)
  ;; DEBUGGER throws there if what is added to the reply fails.
  (unless (or (catch *between-requests* (answer message))
              ;; It is too long, or the heap has too little room for its octets.
              (catch *between-requests* (answer (with-short-texts message))))
    (answer (if (eq :error (second message))
                (minimal-report (first message) :error nil)
                (list (first message) :refused
                      "It was done, but the reply could not be sent: it is too long, or the heap is nearly full.")))))

(defconstant +short-text+ 2000)

(defun with-short-texts (message)
  "Return MESSAGE with the beginnings of those of its texts that are long."
  (typecase message
    (string (cut-text message +short-text+))
    (cons (mapcar #'with-short-texts message))
    (t message)))

(defun kind-of-condition (condition)
  (cond ((source-condition-p condition) :reader)
        ((and (typep condition 'simple-condition) (not (typep condition 'serious-condition)))
         :break)
        (t :error)))

(defun serve-error (condition kind &optional more)
  "Report CONDITION, and MORE, as the reply to the current request and serve inside its context. Never returns.
While unwinding to the top level, do not serve: carry the report there and continue to unwind."
  (call-atomically
   (lambda ()
     (let ((part (and *before-report* (funcall (the function *before-report*) kind)))
           (frame (signalling-frame))
           (id *id*)
           ;; After the stack is exhausted, it has room for the agent's printing but not for the user's.
           (*in-a-hurry* (or *in-a-hurry* (eq :stack (storage-kind condition)))))
       (when *pending*
         (note-stray-condition condition "the cleanup of an earlier error")
         (throw 'top-level nil))
       (call-apart-from-program
        (lambda ()
          (let* ((*guard* nil)
                 (*aside* nil)
                 (*evaluating* nil)
                 (*capture* (make-capture))
                 (*last-frames* '())
                 (message (append (report-or-minimal id kind condition frame) part more)))
            (cond (*leaving* (leave message))
                  (*settles* (throw 'settled (append message '(:settled t)))))
            (serve-inside condition frame message (null more)))))))))

(define-session-variable *heap-was-filled* nil
  "True from the report of a full heap until what filled it can be freed: when the error has been unwound.")

(defun free-what-filled-heap ()
  ;; Not written where it need not be: see NOTE-THREAD-ERRORS.
  (when *heap-was-filled*
    (setf *heap-was-filled* nil)
    (free-full-heap)))

(defun serve-inside (condition frame message may-stand)
  "Reply MESSAGE, the report of CONDITION at FRAME, and serve there. If threads of the program run, the error gets
a number and stands while other requests are performed; otherwise it stands until the server requests an abort or a
restart continues."
  (when (eq :heap (storage-kind condition))
    (setf *heap-was-filled* t))
  (let* ((may-stand (and may-stand
                         (not (eq :stack (storage-kind condition)))
                         (not (holds-up-others-p))))
         (number (if (and may-stand *stands* (or *post* (among-threads-p)))
                     (next-error-number)
                     nil))
         (here (and may-stand (null number) (null *post*))))
    (cond (here
           (setf message (append message '(:stands-here t))))
          (number
           (note-standing number *post* condition)
           (note-locks number)
           (setf message (append message (list :standing number))))
          (*post*
           ;; No request can reach this error.
           (leave (append message '(:left t)))))
    (let ((*error-condition* condition)
          (*error-frame* frame)
          (*standing* (or number *standing*))
          (*stands-here* (or here *stands-here*)))
      (unwind-protect (progn
                        (reply message)
                        (repair-descriptors)
                        (serve))
        (when number
          (note-ended number))))))

(defun call-aside (function)
  "Call FUNCTION, which interrupts work of the agent: its error is noted in the inbox and ends FUNCTION alone."
  (catch 'aside
    (let ((*aside* (list *guard*)))
      (if (and *reporting* (null *guard*))
          (call-without-handlers function) ; those of the agent are for its own errors
          (funcall function)))))

(defun fails-aside-p (condition)
  "True if what CALL-ASIDE runs has failed with CONDITION. It has not if the agent prints there for another thread, or if
CONDITION is meant to end what the agent does for the program, as that of a WITH-TIMEOUT is. One around an error is not meant
to end its report, or what is done at the error later."
  (and (consp *aside*)
       (eq (first *aside*) *guard*)
       (or *reporting* *error-condition* (not (time-limit-passed-p condition)))))

(defun call-signalled (function)
  "Call FUNCTION, code of the program that a signal runs here, such as a timer's."
  ;; Without *EVALUATING* the agent looks at something for a request, or copies the process.
  (if (and (null *aside*)
           (or *guard* *reporting* (and *id* (not *evaluating*) (main-thread-p))))
      (call-aside function)
      (funcall function)))

(defun debugger (condition)
  "Handle a condition that no handler took. Never returns."
  (cond ((zerop *own-process*)
         ;; A user's hook that runs when an image is saved or started can be skipped.
         (note-stray-condition condition "starting")
         (continue condition)
         (end-process 74))
        ((fails-aside-p condition)
         (let ((*aside* :noting))
           (note-stray-condition condition "in a timer or an interruption"))
         ;; The WITH-TIMEOUT may be in what is printed there.
         (if (and *guard* (time-limit-passed-p condition))
             (throw *guard* condition)
             (throw 'aside nil)))
        (*guard* (give-up-printing condition))
        (*reporting*
         (note-where-signalled condition)
         (throw 'report condition))
        ((not (main-thread-p))
         (thread-failed condition (kind-of-condition condition)))
        ((null *id*)
         (note-stray-condition condition "between two calls")
         ;; A thread that has served may be unwinding: that tag is gone then, and a throw to it would be an error again, without end.
         (when (and *post* (post-served *post*) (not (post-is-visit *post*)) (null *error-condition*))
           (end-thread))
         (throw *between-requests* nil))
        (t
         (serve-error condition (kind-of-condition condition)))))

;;; Interrupts

(define-condition evaluation-interrupted (condition)
  ((text :initarg :text :initform "The evaluation was interrupted." :reader interruption-text))
  (:report (lambda (condition stream)
             (write-string (interruption-text condition) stream))))

(defun interrupt (token)
  "Act on an interrupt from the server for the operation with TOKEN."
  (cond ((or (zerop token) (/= token *token*))
         (setf *early-interrupt* token))
        ((= token *interrupted*)
         (let ((message (list* *id* :error :type "INTERRUPTED" :message "The evaluation was interrupted."
                                           :kind :interrupt :classes '() :restarts '()
                                           :frames *last-frames* :total-frames (length *last-frames*)
                                           :package (top-package-name)
                                           (done-part nil (first *whole-text*)))))
           (if *settles*
               (throw 'settled (append message '(:settled t)))
               (leave message))))
        (t
         (setf *interrupted* token)
         (cond ((not (or *reporting* *printing-in-time*))
                (call-openly #'serve-interrupt))
               (t
                (setf *in-a-hurry* t)
                (when *guard*
                  (throw *guard* :interrupted)))))))

(defun serve-interrupt ()
  ;; If printing did not end, printing the same object in the report would not end either.
  (let ((*in-a-hurry* (and *guard* t))
        (*lock-hint* (format nil "~@[~a~]~@[~&~a~]" *lock-hint*
                             (and (among-threads-p) (not (shares-image-p)) (ignore-errors (waiting-hint))))))
    (call-as-interrupted
     (lambda ()
       (restart-case (serve-error (make-condition 'evaluation-interrupted) :interrupt)
         (continue ()
           :report "Continue from where it was interrupted."))))))

;;; The loop

(defparameter *operations-in-errors*
  '(:evaluate-in-frame :invoke-restart :return-from-frame :restart-frame :frames :fork)
  "Those that belong to the error in which they are performed.")

(defun perform (id name arguments)
  "Perform the operation NAME and reply, unless it returns that no reply is needed."
  (let ((operation (cdr (assoc name *operations* :test #'eq))))
    (if (or (null operation) (no-room-p name))
        (reply (list id :refused (if operation
                                     "The stack is used up; return to the top level first."
                                     "This agent has no such operation.")))
        (let ((token (getf arguments :token 0)))
          ;; First, so that an error is reported to the request.
          (setf *id* id
                *interrupted* 0
                *token* token)
          (session-package)
          (ensure-streams)
          (reset-columns)
          (refresh-signal-handlers)
          (flet ((operate ()
                   (when (and (= token *early-interrupt*) (plusp token))
                     (serve-interrupt))
                   (when (and (= token *early-look*) (plusp token))
                     (take-looks))
                   (flet ((perform-it ()
                            (handler-case (perform-where-due (list* id name arguments) operation)
                              (refusal (refusal)
                                (list id :refused (refusal-text refusal) :absent (refusal-absent refusal))))))
                     (if (and *error-condition* (not (member name *operations-in-errors*)))
                         ;; A look-up names symbols as the code that is evaluated next will.
                         (let ((*package* (top-package)))
                           (perform-it))
                         (perform-it)))))
            (declare (dynamic-extent #'operate))
            (flet ((operate-openly ()
                     (call-with-debugger #'operate #'debugger)))
              (declare (dynamic-extent #'operate-openly))
              (let ((message (let ((*stands* (member name *evaluating-operations*))
                                   (*pauses-left* +pauses-allowed+)
                                   (*in-a-hurry* *in-a-hurry*))
                               (if (or *standing* *stands-here*)
                                   (catch 'settled
                                     (let ((*settles* t))
                                       (call-openly #'operate-openly)))
                                   (call-openly #'operate-openly)))))
                (when message
                  (reply message)))))))))

(defun no-room-p (name)
  "True if the operation NAME needs more stack than is left after the stack was exhausted."
  (and *error-condition*
       (eq :stack (storage-kind *error-condition*))
       (not (member name '(:fork :frames :session-info)))))

(defun serve ()
  "Serve requests until the process ends."
  (loop
    (unless (catch *between-requests*
              (let ((message (or (shiftf *pending* nil)
                                 (next-message))))
                (when (consp message)
                  (serve-message message))
                t))
      (when *id*                        ; A program has thrown there.
        (reply (minimal-report *id* :error nil))))))

(defvar *is-silent* nil
  "True while an error that the session has left before is left again: its cleanup forms have printed their output then.")

(defun serve-message (message)
  (let ((id (first message))
        (name (second message))
        (arguments (cddr message)))
    (cond ((eq name :look)
           (answer-look message nil))
          ((eq name :input))            ; What asked for it was interrupted.
          ((not (eq name :abort))
           (perform id name arguments))
          ((and *standing* (null *post*))
           ;; Another error has ended.
           (reply (list id :ok)))
          (*error-condition*
           (setf *id* id
                 *interrupted* 0
                 *token* (getf arguments :token 0))
           (when (getf arguments :again)
             (make-output-files-plain)
             (sever-descriptors '(1 2))
             (setf *is-silent* t))
           (leave (list id :ok)))
          (t
           (reply (list id :ok))))))

(defun serve-from-top ()
  (call-with-debugger (lambda () (call-atomically #'serve)) #'debugger))

(defun begin ()
  (setf *own-process* (process-id)
        *id* nil
        *token* 0
        *read-ahead* '()))

(defun hello ()
  (begin)
  (send-message (list* 0 :hello
                       :pid (process-id)
                       :implementation (lisp-implementation-type)
                       :version (lisp-implementation-version)
                       :features (port-features)
                       (if *tools* (tools-part) '()))))

(defun serve-for-ever ()
  "Serve, with local bindings for the variables that each request sets: their symbols lie on many pages, each
of which would be copied after each copy of the process."
  (let ((*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*early-look* 0) (*leaving* nil)
        (*input-end* 0) (*output-end* 0) (*descriptors* '()) (*read-ahead* '()))
    (progv *listener-variables* (mapcar (constantly nil) *listener-variables*)
      (restore-values)
      (loop
        (let ((message (catch 'top-level (serve-from-top))))
          (unless *pending*
            (call-atomically
             (lambda ()
               ;; User code can throw anything to this tag, too.
               (reply (cond ((not (and (consp message) (integerp (first message))))
                             (minimal-report *id* :error nil))
                            ((equal '(:ok) (rest message)) ; An error was left.
                             (append message (list :package (session-package-name))))
                            (t
                             message)))
               (when (shiftf *is-silent* nil)
                 (restore-outputs))))))))))

(defun main ()
  "Serve the channel on descriptor 3 until it ends."
  (die-with-parent)
  (start-port)
  (keep-descriptors)
  (ensure-streams)
  (forget-inspections)
  (install-interrupt)
  (hello)
  (serve-for-ever))

;;; Operations on the process itself

(define-operation :fork (&key silent separate)
  (let ((descriptors (shiftf *descriptors* '()))
        (id *id*))
    (unless *snapshot-taken*
      (take-snapshot))
    (if (or (not (only-thread-p)) *standing* (null descriptors))
        (progn
          (close-descriptors descriptors)
          (list id :refused (cond ((null descriptors)
                                   "The session has no free file descriptor, and a copy needs one.")
                                  (*standing*
                                   "An error stands in the main thread, so the session cannot be copied.")
                                  (t (why-not-copied)))))
        (let* ((severed (if (or silent separate)
                            (passing-descriptors descriptors)
                            '()))
               (before (progn
                         ;; Do not collect in a full heap or stack.
                         (unless (and *error-condition* (storage-kind *error-condition*))
                           (tidy-heap nil))
                         (when (or separate (and silent *error-condition*))
                           (flush-output-files))
                         ;; CPU time: on a busy machine, real time would include other processes.
                         (processor-time)))
               (process (call-atomically
                         (lambda () (clone-process (and silent (first descriptors)) severed (or silent separate))))))
          (cond ((null process)
                 (close-descriptors descriptors)
                 (list id :refused "The kernel made no copy of the process."))
                ((zerop process)
                 (become-copy (if silent '() descriptors) silent)
                 nil)
                (t
                 (close-descriptors descriptors)
                 (list* id :ok :pid process :took (- (processor-time) before)
                        (append (if severed
                                    (list :severed (mapcar #'descriptor-text (some-of severed 0 20))
                                          :severed-count (length severed))
                                    '())
                                (files-part)))))))))

(defun files-part ()
  "Return the part of the reply about a copy made at an error that lists the files open for writing there."
  (let ((files (if *error-condition* (written-files) '())))
    (if files
        (list :files (some-of files 0 20) :files-count (length files))
        '())))

(defun mark-programs ()
  "Put the pid of this session's first process into the environment of the programs that it starts. Its copies
leave it as it is, so the server finds the programs of a session whose process has ended."
  (setf (uiop:getenv "CL_MCP_SESSION") (princ-to-string (process-id))))

(defun become-copy (descriptors silent)
  "Make this process, a fresh copy, serve its own channel: the first of DESCRIPTORS, or the one that it already
has. If SILENT is true, send no hello, because the original reports the copy: most copies never receive a request, and
each page that a hello writes must be copied."
  (end-with-server)
  (adopt-descriptors descriptors)
  ;; The first is the channel.
  (when (rest descriptors)
    (keep-descriptors)
    (mark-programs)
    (enter-own-domain))
  (if silent
      (begin)
      (hello)))

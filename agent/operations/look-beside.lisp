;;;; Look-ups while an operation runs. The server sends one over the channel and then a signal. The handler reads it, copies
;;;; the process and returns; the copy answers and ends. If other threads run, a thread answers instead of a copy.

(in-package #:cl-mcp-agent)

(defconstant +looks-taken+ 20
  "The most messages that one signal takes from the channel.")

(defvar *running-frame* nil
  "In a copy: the frame in which the operation was interrupted, or NIL if none ran.")
(defvar *running-thread* nil
  "In a thread that answers a look-up: the thread in which the operation runs, or NIL if none does.")

(defun perform-look (id request)
  "Perform REQUEST isolated from the operation that runs in this thread; return the reply."
  (let* ((post (make-post :thread (current-thread) :served t))
         (*post* post)
         (*serves* t)
         (*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*early-look* 0)
         (*leaving* nil) (*pending* nil)
         (*error-condition* nil) (*error-frame* nil)
         (*standing* nil) (*stands-here* nil) (*stands* nil) (*settles* nil)
         (*guard* nil) (*aside* nil) (*evaluating* nil) (*reporting* nil) (*in-a-hurry* nil) (*before-report* nil)
         (*text-progress* nil) (*readings* nil) (*warnings* '()) (*printed-values* :none)
         (*capture* (make-capture)) (*last-frames* '()))
    (flet ((operate ()
             (call-with-debugger (lambda () (perform id (first request) (rest request))) #'debugger)))
      (let ((message (catch 'top-level
                       (call-apart-from-program #'operate)
                       nil)))
        (if (consp message) message (post-reply post))))))

(defun send-apart (message)
  "Do as SEND-MESSAGE, but while another message may be half written."
  (let ((*output-octets* (make-buffer +buffer-length+))
        (*output-end* 0))
    (send-message message)))

(defun send-look-reply (id message)
  (unless (send-apart (or message (list id :refused "There is no answer.")))
    (send-apart (list id :refused "The answer is too long to be sent."))))

(defun end-with-server ()
  "In a copy: let this process end when the server ends, which may have happened already."
  (die-with-parent)
  (when (and *server-process* (/= *server-process* (parent-process-id)))
    (end-process 0)))

(defun answer-as-copy (id request channel running)
  "In a copy made for REQUEST: perform it and send the reply. Its output and streams are not those of the session."
  (end-with-server)
  (adopt-descriptors (list channel))
  (sever-descriptors (list* 1 2 (passing-descriptors '())))
  (let ((*process-shown* *own-process*)
        (*running-frame* (and running (call-as-interrupted #'signalling-frame))))
    (begin)
    (send-apart (list 0 :hello :pid (process-id)))
    (send-look-reply id (perform-look id request))))

(defun refuse-look (id channel why)
  (let ((*channel* channel))
    (send-apart (list id :refused why))
    (close-descriptors (list channel))))

(defun look-in-copy (id request channel running)
  (let ((process (clone-process)))
    (cond ((null process)
           (refuse-look id channel "The kernel made no copy of the process."))
          ((zerop process)
           ;; User code that exits non-locally must not continue the evaluation in the copy.
           (unwind-protect (answer-as-copy id request channel running)
             (end-process 0)))
          (t
           (close-descriptors (list channel))))))

(defun note-looker (id)
  "Note that this thread answers the look-up ID, and forget those that have ended."
  (let ((threads (all-threads)))
    (call-locked (lambda ()
                   (setf *lookers* (acons id (current-thread)
                                          (remove-if-not (lambda (looker) (member (cdr looker) threads)) *lookers*)))))))

(defun answer-in-thread (id request thread)
  "Answer the look-up ID in this thread, which was made for it; the operation runs in THREAD, or none if that is NIL."
  (let ((*running-thread* thread))
    (unwind-protect (send-look-reply id (perform-look id request))
      ;; It does not count as a thread of the program until it has ended.
      (call-locked (lambda ()
                     (setf (car (rassoc (current-thread) *lookers*)) nil))))))

(defun look-in-thread (id request channel running)
  (let ((ready (make-signal))
        (thread (cond ((not running) nil)
                      (*awaited* (post-thread *awaited*))
                      (t (current-thread)))))
    (flet ((answer ()
             (let ((*channel* channel))
               (note-looker id)
               (raise-signal ready)
               (send-apart (list 0 :hello))
               (unwind-protect (answer-in-thread id request thread)
                 (close-descriptors (list channel))))))
      ;; A new thread inherits the set of blocked signals from its creator.
      (call-openly (lambda () (make-thread "look-up" #'answer)))
      (await-signal ready))))

(defun answer-look (message running)
  "Have the look-up in MESSAGE answered. RUNNING is true if it interrupts an operation."
  (let ((id (first message))
        (request (getf (cddr message) :request))
        (channel (first (shiftf *descriptors* '()))))
    (cond ((null channel))              ; The process may be out of descriptors: there is no way to answer.
          ((only-thread-p)
           (look-in-copy id request channel running))
          (t
           (look-in-thread id request channel running)))))

(defun take-looks ()
  "Read the waiting messages, answer the look-ups and take the answer to a question; keep the rest for later."
  (call-atomically
   (lambda ()
     (loop repeat +looks-taken+
           while (await-octets 0)
           do (let* ((*descriptors* '())
                     (message (let ((*waits-openly* nil))
                                (receive-message))))
                (case (second message)
                  (:look (answer-look message t))
                  (:input (take-answer message))
                  (t (setf *read-ahead*
                           (append *read-ahead* (list (cons message *descriptors*)))))))))))

(defun route-look (token)
  "Act on the signal for the operation with TOKEN: take look-ups."
  (cond ((not (eq (current-thread) (serving-thread)))
         ;; The kernel may deliver the signal to any thread.
         (call-in-thread (serving-thread) (lambda () (route-look token))))
        ((or (zerop token) (/= token *token*))
         (setf *early-look* token))
        (t
         (take-looks))))

(defun prints-p (frame)
  "True if the code that FRAME belongs to is in a method of PRINT-OBJECT. Printing its arguments would do what it does, and
may take as long."
  (loop for (nil . name) in (frames-from frame)
        thereis (and (consp name) (mentions-p name '(print-object)))))

(define-operation :running-frames (&rest arguments)
  (flet ((frames (frame)
           (let ((*in-a-hurry* (prints-p frame)))
             (frames-part frame nil arguments (session-package)))))
    (multiple-value-bind (outcome frames)
        (cond (*running-frame*
               (values :done (frames *running-frame*)))
              (*running-thread*
               (call-printing-in-thread
                *running-thread*
                (lambda (finish)
                  (declare (ignore finish))
                  (frames (signalling-frame)))))
              (t :idle))
      (list* *id* :ok :outcome outcome frames))))

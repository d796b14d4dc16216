;;;; Look-ups while an operation runs. The server puts one into the channel and sends a signal. Its handler reads it, copies
;;;; the process and returns; the copy answers and ends. Where threads run there is no copy: a thread answers.

(in-package #:cl-mcp-agent)

(defconstant +looks-taken+ 20
  "The most messages that one signal takes from the channel.")

(defvar *running-frame* nil
  "In a copy: the frame in which the operation was interrupted, or NIL if none ran.")
(defvar *running-thread* nil
  "In a thread that answers: the one in which the operation runs, or NIL if none does.")

(defun perform-look (id request)
  "Perform REQUEST apart from what runs in this thread; return the reply."
  (let* ((post (make-post :thread (current-thread) :served t))
         (*post* post)
         (*serves* t)
         (*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*early-look* 0)
         (*leaving* nil) (*pending* nil)
         (*error-condition* nil) (*error-frame* nil)
         (*standing* nil) (*stands-here* nil) (*stands* nil) (*settles* nil)
         (*guard* nil) (*evaluating* nil) (*reporting* nil) (*in-a-hurry* nil) (*before-report* nil)
         (*text-progress* nil) (*readings* nil) (*warnings* '()) (*printed-values* :none)
         (*tells-inbox* nil)
         (*capture* (make-capture)) (*last-frames* '()))
    (flet ((operate ()
             (call-with-debugger
              (lambda ()
                (call-atomically (lambda () (perform id (first request) (rest request)))))
              #'debugger)))
      (let ((message (catch 'top-level
                       ;; Handlers of the running code must not take what fails here.
                       (call-in-fresh-context (lambda () (call-without-handlers #'operate)))
                       nil)))
        (if (consp message) message (post-reply post))))))

(defun send-look-reply (id message)
  (unless (send-message (or message (list id :refused "There is no answer.")))
    (send-message (list id :refused "The answer is too long to be sent."))))

(defun answer-as-copy (id request channel running)
  "In a copy made for REQUEST: perform it and send the reply. Nothing that it prints or opens is the session's."
  (die-with-parent)
  (when (and *server-process* (/= *server-process* (parent-process-id)))
    (end-process 0))
  (adopt-descriptors (list channel))
  (sever-descriptors (list* 1 2 (passing-descriptors '())))
  (let ((*process-shown* *own-process*)
        (*running-frame* (and running (call-as-interrupted #'signalling-frame)))
        (*output-octets* (make-buffer +buffer-length+))
        (*output-end* 0)
        (*id* nil)
        (*token* 0))
    (begin)
    (send-message (list 0 :hello :pid (process-id)))
    (send-look-reply id (perform-look id request))))

(defun refuse-look (id channel why)
  (let ((*channel* channel)
        (*output-octets* (make-buffer +buffer-length+))
        (*output-end* 0))
    (send-message (list id :refused why))
    (close-descriptors (list channel))))

(defun look-in-copy (id request channel running)
  (let ((process (clone-process)))
    (cond ((null process)
           (refuse-look id channel "The kernel made no copy of the process."))
          ((zerop process)
           ;; Code of the user's that leaves must not go on with the evaluation here.
           (unwind-protect (answer-as-copy id request channel running)
             (end-process 0)))
          (t
           (close-descriptors (list channel))))))

(defun look-in-thread (id request channel running)
  (let ((ready (make-signal))
        (thread (cond ((not running) nil)
                      (*awaited* (post-thread *awaited*))
                      (t (current-thread)))))
    (flet ((answer ()
             (let ((*channel* channel)
                   (*output-octets* (make-buffer +buffer-length+))
                   (*output-end* 0)
                   (*running-thread* thread))
               (call-locked (lambda () (push (cons id (current-thread)) *lookers*)))
               (raise-signal ready)
               (send-message (list 0 :hello))
               (unwind-protect (send-look-reply id (perform-look id request))
                 (call-locked (lambda ()
                                (setf *lookers* (remove (current-thread) *lookers* :key #'cdr))))
                 (close-descriptors (list channel))))))
      ;; A thread begins with the signals blocked that are blocked where it is made.
      (call-openly (lambda () (make-thread "look-up" #'answer)))
      (await-signal ready))))

(defun answer-look (message running)
  "Have the look-up in MESSAGE answered. RUNNING is true if it interrupts an operation."
  (let ((id (first message))
        (request (getf (cddr message) :request))
        (channel (first (shiftf *descriptors* '()))))
    (cond ((null channel))              ; The session may have no more descriptors: nobody can be told.
          ((only-thread-p)
           (look-in-copy id request channel running))
          ((getf (cddr message) :in-copy)
           (refuse-look id channel
                        (format nil "This needs a copy of the process, and other threads run in it~@[: ~a~]."
                                (threads-in-the-way))))
          (t
           (look-in-thread id request channel running)))))

(defun take-looks ()
  "Read what the channel holds, answer the look-ups and take the answer to a question; the rest is kept for later."
  (call-atomically
   (lambda ()
     (loop repeat +looks-taken+
           while (octets-waiting-p)
           do (let* ((*descriptors* '())
                     (message (let ((*waits-openly* nil))
                                (receive-message))))
                (case (second message)
                  (:look (answer-look message t))
                  (:input (take-answer message))
                  (t (setf *read-ahead*
                           (append *read-ahead* (list (cons message *descriptors*)))))))))))

(defun route-look (token)
  "Act on the signal that comes with a look-up for the operation with TOKEN. A negative one asks to note where it is."
  (cond ((not (eq (current-thread) (serving-thread)))
         ;; The kernel may give the signal to any thread.
         (call-in-thread (serving-thread) (lambda () (route-look token))))
        ((minusp token)
         (if *awaited*
             (call-in-thread (post-thread *awaited*) (lambda () (note-moment (- token))))
             (note-moment (- token))))
        ((or (zerop token) (/= token *token*))
         (setf *early-look* token))
        (t
         (take-looks))))

(define-operation :running-frames (arguments)
  (flet ((frames (frame)
           (with-agent-syntax (:length 10 :level 4)
             (multiple-value-list
              (frame-texts frame nil
                           :from (getf arguments :from 0)
                           :count (min +frames-walked+ (getf arguments :count +frames-sent+))
                           :locals (getf arguments :locals))))))
    (multiple-value-bind (outcome frames)
        (cond (*running-frame*
               (values :done (frames *running-frame*)))
              (*running-thread*
               (call-printing-in-thread
                *running-thread*
                (lambda (finish)
                  (funcall (the function finish) (frames (signalling-frame))))))
              (t :idle))
      (list* *id* :ok :outcome outcome
             (when (eq outcome :done)
               (list :frames (first frames) :total (second frames)))))))

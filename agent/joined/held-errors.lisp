;;;; Errors that stand in the debugger of the person who runs the image. The agent lists them, and looks at them where they
;;;; stand: its request visits the thread, which waits for the person, and is gone when it has been answered. To change
;;;; anything there takes force.

(in-package #:cl-mcp-agent)

(defparameter *variables-of-debuggers*
  '(("*SWANK-DEBUGGER-CONDITION*" . "SWANK") ("*SLYNK-DEBUGGER-CONDITION*" . "SLYNK")
    ;; That of the terminal, into which a thread falls while no editor is connected.
    ("*DEBUG-CONDITION*" . "SB-DEBUG"))
  "The variables that are bound to the condition in a thread that stands in a debugger of the person's.")

(defun held-condition (thread)
  "Return the condition for which THREAD stands in a person's debugger, or NIL."
  (loop for (name . package) in *variables-of-debuggers*
        do (let* ((symbol (its name package))
                  (condition (and symbol (value-in-thread symbol thread))))
             (when (typep condition 'condition)
               (return condition)))))

(defun standing-in (thread)
  "Return the standing error in THREAD, or NIL."
  (find thread *standing-errors* :key #'standing-thread))

(defun number-held-error (thread condition)
  "List CONDITION, for which THREAD stands in the person's debugger, and return its number; NIL if it is listed already."
  (call-locked (lambda ()
                 (unless (standing-in thread)
                   (let ((number (next-error-number)))
                     (push (make-standing :number number :thread thread :of-program :person :held condition)
                           *standing-errors*)
                     number)))))

(defun note-held-error (thread)
  "List the error in which THREAD stands in the person's debugger among those of this session, and report it."
  (let* ((condition (held-condition thread))
         (number (and condition (number-held-error thread condition))))
    (when number
      (multiple-value-bind (outcome entry)
          (call-printing-in-thread thread
                                   (lambda (finish)
                                     (declare (ignore finish))
                                     (thread-error-entry condition :error (frame-of-debugger) number)))
        (if (and (eq outcome :done) entry)
            (put-in-inbox (append entry (list :held t)))
            (note-ended number))))))

(defun note-held-error-aside (thread)
  "Do so in a thread of the agent's: the caller must not wait."
  (make-thread "the person's error" (lambda () (ignore-errors (note-held-error thread)))))

(defun note-held-errors ()
  "List the errors that stand in the person's debuggers now, and note those that no longer do: not each end is told by an event."
  (dolist (standing (remove nil *standing-errors* :key #'standing-held))
    (unless (eq (standing-held standing) (held-condition (standing-thread standing)))
      (note-ended (standing-number standing))))
  (dolist (thread (all-threads))
    (when (and (not (standing-in thread)) (held-condition thread))
      (note-held-error-aside thread))))

(defun note-release (thread)
  "Note that THREAD has left the person's debugger."
  (let ((standing (standing-in thread)))
    (when (and standing (standing-held standing))
      (note-ended (standing-number standing)))))

(defun only-looks-p (message)
  (case (second message)
    (:frames t)
    (:inspect (null (getf (cddr message) :set)))))

(defun serve-visit (post number condition)
  "Perform the request of POST in this thread, which stands in the person's debugger."
  (let* ((has-answered nil)
         (*post* post)
         (*id* nil) (*token* 0) (*interrupted* 0) (*early-interrupt* 0) (*leaving* nil)
         (*error-condition* condition)
         (*error-frame* (frame-of-debugger))
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
      (when (and *id* (not has-answered) (not (exiting-p)))
        ;; A restart is unwinding to the place where the thread continues.
        (note-ended number)
        (answer (list *id* :ok :values '() :cut '() :warnings '() :package (session-package-name) :goes-on t))))))

(defun perform-in-held-error (standing message)
  "Perform MESSAGE where STANDING stands; return the reply."
  (let ((thread (standing-thread standing))
        (condition (standing-held standing))
        (number (standing-number standing))
        (session *session*))
    (cond ((not (eq condition (held-condition thread)))
           (note-ended number)
           (list (first message) :refused "This error no longer stands: the person has left it, or stands in a later one."))
          ((not (or (only-looks-p message) (getf (cddr message) :force)))
           (list (first message) :refused
                 "This error stands in the debugger of the person who runs the image. Pass force to act on it all the same."))
          (t
           (let ((post (make-post :thread thread :is-visit t)))
             (if (call-in-thread thread (lambda ()
                                          (call-in-own-context session (lambda () (serve-visit post number condition)))))
                 (ask-post post message)
                 (list (first message) :refused "The thread of this error has ended.")))))))

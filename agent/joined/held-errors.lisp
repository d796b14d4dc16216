;;;; Errors that stand in the debugger of the person who runs the image. The agent lists them, and looks at them where they
;;;; stand: its request visits the thread, which waits for the person, and is gone when it has been answered. To change
;;;; anything there takes force.

(in-package #:cl-mcp-agent)

(defparameter *variables-of-debuggers*
  '(("SWANK" "*SWANK-DEBUGGER-CONDITION*" "*SLDB-RESTARTS*")
    ("SLYNK" "*SLYNK-DEBUGGER-CONDITION*" "*SLY-DB-RESTARTS*")
    ;; That of the terminal, into which a thread falls while no editor is connected.
    ("SB-DEBUG" "*DEBUG-CONDITION*" "*DEBUG-RESTARTS*"))
  "The variables that a person's debugger binds in its thread, by packages: to the condition, and to the restarts that it
shows.")

(defun debuggers ()
  "List the variables of the debuggers that are in the image, as (CONDITION RESTARTS)."
  (loop for (package condition restarts) in *variables-of-debuggers*
        when (its condition package)
          collect (list (its condition package) (its restarts package))))

(defun held-condition (thread &optional (debuggers (debuggers)))
  "Return the condition for which THREAD stands in a person's debugger, or NIL."
  (loop for (variable) in debuggers
        do (let ((condition (value-in-thread variable thread)))
             (when (typep condition 'condition)
               (return condition)))))

(defun call-at-held-error (function)
  "Call FUNCTION with the frame at which this thread has entered the person's debugger. Only the restarts are there that
the debugger shows: its own others return to it."
  (let* ((debugger (find-if (lambda (variables)
                              (destructuring-bind (condition restarts) variables
                                (and restarts (boundp condition) (symbol-value condition) (boundp restarts))))
                            (debuggers)))
         (shown (and debugger (symbol-value (second debugger))))
         (*hidden-restarts* (if shown (set-difference (compute-restarts) shown) '()))
         (top (frame-of-debugger))
         (*frames-shown* #'frames-of-program)
         (*frame-note* (note-on-frames (first debugger))))
    (funcall function top)))

(defparameter *names-of-debuggers* '(("SWANK" . "SLDB") ("SLYNK" . "SLY-DB"))
  "What people call the debuggers of these packages.")

(defun note-on-frames (variable)
  "Return a function that returns a note on the number of a frame in the debugger that binds VARIABLE."
  (let ((name (and variable
                   (cdr (assoc (package-name (symbol-package variable)) *names-of-debuggers* :test #'string=)))))
    (lambda (frame)
      (let ((number (and name (number-in-debugger frame))))
        (and number
             (format nil " [~a ~d]" name number))))))

(defun frames-of-program (frames)
  "Return how many of FRAMES, (FRAME . NAME), are the program's, with those of libraries between and above them. If none is, those
above the editor's request are."
  (flet ((package-of (frame)
           (let ((symbol (ignore-errors (home-symbol (cdr frame)))))
             (and symbol (symbolp symbol) (symbol-package symbol)))))
    (let* ((request (or (position-if (lambda (frame)
                                       (let ((package (package-of frame)))
                                         (and package (member (package-name package) *servers* :test #'string=))))
                                     frames)
                        (length frames)))
           (last (position-if (lambda (frame)
                                (let ((package (package-of frame)))
                                  (and package (not (library-package-p package)))))
                              frames :from-end t)))
      (cond ((null last) (max 1 request))
            ((< last request (length frames)) request)
            (t (1+ last))))))

(defun number-held-error (thread condition)
  "List CONDITION, for which THREAD stands in the person's debugger, and return its number; NIL if it is listed already."
  (call-locked (lambda ()
                 (let ((standing (standing-in thread)))
                   (when (and standing (standing-held standing) (not (eq condition (standing-held standing))))
                     ;; A later error stands there now.
                     (note-ended (standing-number standing))
                     (setf standing nil))
                   (if standing
                       nil
                       (let ((number (next-error-number)))
                         (push (make-standing :number number :thread thread :of-program :person :held condition)
                               *standing-errors*)
                         number))))))

(defun note-held-error (thread)
  "List the error in which THREAD stands in the person's debugger among those of this session, and report it."
  (let* ((condition (held-condition thread))
         (number (and condition (number-held-error thread condition))))
    (when number
      ;; The inbox has to wait for the end of what runs.
      (when (own-thread-p thread)
        (send-event *session* :person
                    :thread (label-of thread)
                    :text (format nil "The person has stopped ~a, which stands in their debugger: ~a" (label-of thread)
                                  (one-line-text (princ-to-string condition)))))
      (multiple-value-bind (outcome entry)
          (call-printing-in-thread thread
                                   (lambda (finish)
                                     (declare (ignore finish))
                                     (call-at-held-error
                                      (lambda (frame) (thread-error-entry condition :error frame number)))))
        (if (and (eq outcome :done) entry)
            (put-in-inbox (append entry (list :held t)))
            (progn
              (note-ended number)
              (send-event *session* :person
                          :thread (label-of thread)
                          :text (format nil "An error stands in the person's debugger, in thread ~a: ~a"
                                        (label-of thread) (type-of condition)))))))))

(defun note-held-error-aside (thread)
  "Do so in a thread of the agent's: the caller must not wait."
  (make-thread "the person's error" (lambda ()
                                      (ignore-errors
                                       (learn-held-condition thread)
                                       (note-held-error thread)))))

(defconstant +noting-seconds+ 1/5
  "How long a request waits for the reports of errors that it has found, so that its own reply tells of them.")

(defun note-held-errors ()
  "List the errors that stand in the person's debuggers now, and note those that no longer do: not each end is told by an event."
  (let ((debuggers (debuggers))
        (noters '()))
    (dolist (standing (remove nil *standing-errors* :key #'standing-held))
      (unless (eq (standing-held standing) (held-condition (standing-thread standing) debuggers))
        (note-ended (standing-number standing))))
    (dolist (thread (all-threads))
      (when (and (held-condition thread debuggers) (not (standing-in thread)))
        (push (note-held-error-aside thread) noters)))
    (loop with end = (time-after +noting-seconds+)
          for noter in noters
          do (await-thread noter (max 0 (seconds-until end))))))

(defun note-release (thread)
  "Note that THREAD has left the person's debugger."
  (forget-held-condition thread)
  (let ((standing (standing-in thread)))
    (when (and standing (standing-held standing))
      (note-ended (standing-number standing)))))

(defun only-looks-p (message)
  (case (second message)
    (:frames t)
    (:inspect (null (getf (cddr message) :set)))))

(defun needs-force-p (standing message)
  "True if MESSAGE, for STANDING, is only performed by force: somebody is there."
  (and (standing-held standing) (persons-connections) (not (only-looks-p message)) (not (getf (cddr message) :force))))

(defparameter *left-text* "This error no longer stands: the person has left it, or stands in a later one.")

(defun visit (post number condition)
  "Perform the request of POST in this thread, which stands in the person's debugger."
  (if (eq condition (held-condition (current-thread)))
      (call-at-held-error (lambda (frame)
                            (call-apart-from-program (lambda () (stand number post condition frame)))))
      ;; It has left this error since it was asked.
      (let ((*post* post))
        (note-ended number)
        (answer (list (first (shiftf (post-request post) nil)) :refused *left-text*)))))

(defun perform-in-held-error (standing message)
  "Perform MESSAGE where STANDING stands; return the reply."
  (let* ((thread (standing-thread standing))
         (condition (standing-held standing))
         (number (standing-number standing))
         (post (make-post :thread thread :is-visit t)))
    (unless (eq condition (held-condition thread))
      (note-ended number)
      (refuse *left-text*))
    (when (needs-force-p standing message)
      (refuse "This error stands in the debugger of the person who runs the image. Pass force to act on it all the same."))
    (unless (call-in-thread thread (lambda () (visit post number condition)))
      (refuse "The thread of this error has ended."))
    (ask-post post message)))

;;;; The agent's port to the Lisps that Swank knows: waiting, and what other threads have a thread do.
;;;;
;;;; No two Lisps defer interrupts alike, so the agent does it itself: what a thread is to do waits in a queue of the agent's,
;;;; and the thread takes it when it may. The Lisp's own interruption only has it look there.

(in-package #:cl-mcp-agent)

(defstruct (errands (:copier nil) (:predicate nil))
  "What a thread is to do: lists of a function, or of NIL once it has begun; last first."
  (waiting '()))

(defvar *errands* nil
  "The errands of this thread, or NIL where nothing is deferred.")
(defvar *defers* nil
  "True while this thread does not take errands; :ALWAYS where CALL-OPENLY does not change that.")

;;; One monitor for all: there are few threads, and what is done in it is short.

#+ecl (defvar *monitor* (mp:make-lock :name "agent"))
#+ecl (defvar *monitor-changed* (mp:make-condition-variable))
#+abcl (defvar *monitor* (list :monitor))
#-(or ecl abcl) (defvar *monitor* (backend make-lock :name "agent"))

(defmacro in-monitor (&body body)
  "Evaluate BODY while no other thread is here, and no errand is taken."
  `(let ((*defers* :always))
     #+ecl (mp:with-lock (*monitor*) ,@body)
     #+abcl (threads:synchronized-on *monitor* ,@body)
     #-(or ecl abcl) (backend call-with-lock-held *monitor* (lambda () ,@body))))

(defun notify-monitor ()
  "Inside IN-MONITOR: wake all that wait."
  #+ecl (mp:condition-variable-broadcast *monitor-changed*)
  #+abcl (threads:object-notify-all *monitor*))

(defconstant +tick-seconds+ 1/10
  "How exactly time limits are kept where the Lisp has no wait with one.")

(defun wait-in-monitor (seconds)
  "Inside IN-MONITOR: wait until another thread has called NOTIFY-MONITOR, or about SECONDS, or for no reason."
  (declare (ignorable seconds))
  #+ecl (progn
          (when seconds
            (start-clock))
          (mp:condition-variable-wait *monitor-changed* *monitor*))
  #+abcl (threads:object-wait *monitor* (max 1/1000 (or seconds 60))))

;;; ECL has no wait with a time limit: a thread notifies the monitor while somebody waits so.

#+ecl (defvar *clock* nil
        "The thread that does, or NIL.")
#+ecl (defvar *waits-with-limit* 0)

#+ecl
(defun tick ()
  (loop
    (sleep +tick-seconds+)
    (in-monitor
      (when (zerop *waits-with-limit*)
        (setf *clock* nil)
        (return))
      (notify-monitor))))

#+ecl
(defun start-clock ()
  (unless *clock*
    (setf *clock* (backend spawn #'tick :name "agent: clock"))))

;;; Errands

(defun put-errand (function)
  "Leave FUNCTION to this thread, which is interrupted. What was done is removed only here: nothing interrupts this."
  (setf (errands-waiting *errands*)
        (cons (list function) (remove nil (errands-waiting *errands*) :key #'first))))

(defun errand-waiting ()
  "Return the oldest errand of this thread that has not begun, a list of a function; or NIL."
  (and *errands* (find nil (errands-waiting *errands*) :key #'first :test-not #'eq :from-end t)))

(defun take-errands ()
  "Do what this thread is to do, unless it defers that."
  (loop until *defers*
        do (let ((errand (errand-waiting)))
             (unless errand
               (return))
             (funcall (shiftf (first errand) nil)))))

(implement call-atomically (function)
  (let ((*errands* (or *errands* (make-errands))))
    (multiple-value-prog1 (let ((*defers* (or *defers* t)))
                            (funcall function))
      (take-errands))))

(implement call-undisturbed (function)
  (let ((*errands* (or *errands* (make-errands))))
    (multiple-value-prog1 (let ((*defers* :always))
                            (funcall function))
      (take-errands))))

(implement call-openly (function)
  (if (eq :always *defers*)
      (funcall function)
      (let ((*defers* nil))
        (take-errands)
        (funcall function))))

(defvar *interrupted-here* nil
  "True in what CALL-IN-THREAD runs.")

(implement call-in-thread (thread function)
  (let ((function (for-thread function)))
    (flet ((run ()
             (run-errand (lambda ()
                                 (let ((*interrupted-here* t))
                                   (funcall function))))))
      (and (backend thread-alive-p thread)
           (handler-case (progn
                           (backend interrupt-thread
                                    thread
                                    (lambda ()
                                      (cond ((and *defers* *errands*)
                                             (put-errand #'run))
                                            (t
                                             (run)))))
                           ;; It may wait in the monitor.
                           (in-monitor (notify-monitor))
                           t)
             (error () nil))))))

;;; Signals

(defstruct (wakening (:copier nil) (:predicate nil))
  (count 0 :type fixnum))

(implement make-signal ()
  (make-wakening))

(implement raise-signal (signal)
  (in-monitor
    (incf (wakening-count signal))
    (notify-monitor))
  (take-errands))

(defun take-signal (signal end)
  "Wait until SIGNAL is raised: return true. NIL when there is an errand to be done or END has passed."
  (let ((open (not *defers*)))
    (loop
      (case (in-monitor
              (cond ((plusp (wakening-count signal))
                     (decf (wakening-count signal))
                     :raised)
                    ((or (and end (<= (seconds-until end) 0))
                         (and open (errand-waiting)))
                     :ended)
                    (end
                     (unwind-protect (progn
                                       #+ecl (incf *waits-with-limit*)
                                       (wait-in-monitor (seconds-until end)))
                       #+ecl (decf *waits-with-limit*)))
                    (t
                     (wait-in-monitor nil))))
        (:raised (return t))
        (:ended (return nil))
        ;; Another Lisp has nothing to wait with that all have.
        (t #-(or ecl abcl) (sleep 1/100))))))

(implement await-signal (signal &optional seconds)
  (let ((end (and seconds (time-after seconds)))
        (*errands* (or *errands* (make-errands))))
    (loop
      (when (take-signal signal end)
        (return t))
      (take-errands)
      (when (and end (<= (seconds-until end) 0))
        (return nil)))))

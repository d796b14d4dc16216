;;;; How much heap the agent's threads may use. The heap is the person's: a thread that makes it grow beyond its share is stopped.
;;;; The Lisp calls CHECK-SHARES after each collection.

(in-package #:cl-mcp-agent)

(define-condition heap-share-used (error)
  ((grown :initarg :grown :reader heap-grown)
   (share :initarg :share :reader heap-share))
  (:report (lambda (condition stream)
             (format stream "The heap of the image grew by ~:d MiB while this ran, and ~:d MiB is what it may keep (max-memory), ~
                             so that the person's program has room. It was stopped."
                     (ash (heap-grown condition) -20) (ash (heap-share condition) -20)))))

(defstruct (heap-use (:copier nil) (:predicate nil))
  "What was in use when THREAD began, and how much more may be."
  thread session (base 0) (share 0))

(defvar *heap-uses* '()
  "The threads that evaluate, and those that evaluations have made: a HEAP-USE each.")

(defun call-in-its-share (function)
  "Call FUNCTION, which may make the heap grow by as much as the session permits: an eighth of what is free by default."
  (unless (member 'watch-heap *implemented-operations*)
    (return-from call-in-its-share (funcall function)))
  (multiple-value-bind (used size) (heap-readings)
    (let ((use (make-heap-use :thread (current-thread) :session *session* :base used
                              :share (if *max-memory* (ash *max-memory* 20) (ash (- size used) -3)))))
      (unwind-protect (progn
                        (call-locked (lambda () (push use *heap-uses*)))
                        (funcall function))
        (call-locked (lambda () (setf *heap-uses* (remove use *heap-uses*))))))))

(defun stop-for-heap (use grown)
  "Called in the thread of USE: tell the session, and unwind."
  (let ((condition (make-condition 'heap-share-used :grown grown :share (heap-use-share use))))
    (setf *heap-was-filled* t)          ; the next evaluation begins with a full collection
    (cond (*post*
           (serve-error condition :error '(:left t)))
          (t
           (put-in-inbox (thread-error-entry condition :error (signalling-frame) (next-error-number)))
           (end-thread)))))

(defun check-shares ()
  "Stop the threads of the agent's that have made the heap grow too much: those that run, as one does that fills it."
  (let ((used (heap-readings)))
    (dolist (use *heap-uses*)
      (let ((grown (- used (heap-use-base use)))
            (thread (heap-use-thread use)))
        (when (> grown (heap-use-share use))
          (call-in-session (heap-use-session use)
                           (lambda ()
                             (when (and (not (standing-in thread))
                                        ;; The Lisp may call this in the thread whose work made it collect.
                                        (or (eq thread (current-thread))
                                            (member (thread-activity thread) '(:running :unknown))))
                               (call-in-thread thread (lambda () (stop-for-heap use grown)))))))))))

;;;; The agent's port to SBCL: threads, and finalizers without a thread of their own.

(in-package #:cl-mcp-agent)

(implement only-thread-p ()
  (null (rest (sb-int:with-system-mutex (sb-thread::*make-thread-lock*)
                (sb-thread::%dispose-thread-structs)
                ;; A thread is here before it has begun to run, and not yet in LIST-ALL-THREADS.
                (sb-thread::avltree-list sb-thread::*all-threads*)))))

(implement thread-names ()
  (loop for thread in (sb-thread:list-all-threads)
        unless (eq thread sb-thread:*current-thread*)
          collect (thread-name-of thread)))

(implement alone-p ()
  (null (rest (sb-thread::avltree-list sb-thread::*all-threads*))))

(implement main-thread-p ()
  (or *serves* (eq sb-thread:*current-thread* (sb-thread:main-thread))))

(implement exiting-p ()
  (and sb-sys:*exit-in-progress* t))

(implement end-thread ()
  (sb-thread:abort-thread))

(implement thread-name ()
  (thread-name-of sb-thread:*current-thread*))

(sb-ext:defglobal *lock* (sb-thread:make-mutex :name "agent"))

(implement call-locked (function)
  (declare (type function function))
  (sb-thread:with-recursive-lock (*lock*)
    (funcall function)))

;;; The finalizer thread would forbid copies. It never runs: finalizers run in the thread that
;;; collected garbage, as they do on SBCL without threads.

(defmacro without-waiting-mark (&body body)
  "Evaluate BODY as if this thread, which a collection may have interrupted while it waited, did not wait for anything."
  `(let ((mark (sb-thread::thread-waiting-for sb-thread:*current-thread*)))
     (setf (sb-thread::thread-waiting-for sb-thread:*current-thread*) nil)
     (unwind-protect (progn ,@body)
       (setf (sb-thread::thread-waiting-for sb-thread:*current-thread*) mark))))

(defun run-finalizers-here ()
  (when (and sb-sys:*allow-with-interrupts* (not sb-impl::*in-a-finalizer*))
    (without-waiting-mark
      (sb-sys:with-interrupts
        (sb-impl::run-pending-finalizers)))))

(defun notice-collection (&optional (hooks 1))
  "Do after a collection what the finalizer thread would do. HOOKS is 0 if SBCL wants finalizers only."
  (when (eql hooks 1)
    (request-collection-hooks))
  (run-finalizers-here)
  (when (and *evaluating* (null *guard*) sb-sys:*allow-with-interrupts* (main-thread-p)
             (not sb-impl::*in-a-finalizer*))
    (sb-sys:with-interrupts
      (check-heap))))

(defun remove-finalizer-thread ()
  "Stop the finalizer thread for good, in this process and in those started from its core."
  (when (sb-thread::thread-p sb-impl::*finalizer-thread*)
    (sb-impl::finalizer-thread-stop))
  (sb-ext:unlock-package "SB-IMPL")
  (handler-bind ((warning #'muffle-warning))
    (setf (fdefinition 'sb-impl::finalizer-thread-start)
          (lambda ()
            (setf (sb-alien:extern-alien "finalizer_thread_runflag" sb-alien:int) 1))
          (fdefinition 'sb-impl::finalizer-thread-stop)
          (lambda () nil)
          (fdefinition 'sb-impl::finalizer-thread-notify)
          #'notice-collection))
  (sb-ext:lock-package "SB-IMPL")
  (setf (sb-alien:extern-alien "finalizer_thread_runflag" sb-alien:int) 1))

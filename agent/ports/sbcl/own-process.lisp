;;;; The agent's port to SBCL: what holds where the process is the session's own: its main thread serves, the global values
;;;; of variables are the session's, and finalizers have no thread of their own.

(in-package #:cl-mcp-agent)

(implement serving-thread ()
  (sb-thread:main-thread))

(implement make-thread (name function)
  (start-thread name function))

(implement top-package ()
  (sb-ext:symbol-global-value '*package*))

;;; The finalizer thread would forbid copies. It never runs: finalizers run in the thread that
;;; collected garbage, as they do on SBCL without threads.

(defun run-finalizers-here ()
  (when (and sb-sys:*allow-with-interrupts* (not sb-impl::*in-a-finalizer*))
    ;; The collection may have interrupted this thread while it waited. It does not wait for anything here.
    (let ((mark (shiftf (sb-thread::thread-waiting-for sb-thread:*current-thread*) nil)))
      (unwind-protect (sb-sys:with-interrupts
                        (sb-impl::run-pending-finalizers))
        (setf (sb-thread::thread-waiting-for sb-thread:*current-thread*) mark)))))

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
  (replace-function 'sb-impl::finalizer-thread-start
                    (lambda ()
                      (setf (sb-alien:extern-alien "finalizer_thread_runflag" sb-alien:int) 1)))
  (replace-function 'sb-impl::finalizer-thread-stop (constantly nil))
  (replace-function 'sb-impl::finalizer-thread-notify #'notice-collection)
  (setf (sb-alien:extern-alien "finalizer_thread_runflag" sb-alien:int) 1))

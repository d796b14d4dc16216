;;;; The agent's port to SBCL: threads.

(in-package #:cl-mcp-agent)

(implement only-thread-p ()
  (null (rest (sb-int:with-system-mutex (sb-thread::*make-thread-lock*)
                (sb-thread::%dispose-thread-structs)
                ;; A thread is here before it has begun to run, and not yet in LIST-ALL-THREADS.
                (sb-thread::avltree-list sb-thread::*all-threads*)))))

(implement alone-p ()
  (null (rest (sb-thread::avltree-list sb-thread::*all-threads*))))

(implement exiting-p ()
  (and sb-sys:*exit-in-progress* t))

(defun start-thread (name function)
  "Start a thread that belongs to no session. Returns it."
  (let ((*is-agents-thread* nil))       ; its own context comes with FUNCTION
    (sb-thread:make-thread #'call-guarding-stack :arguments (list function) :name name)))

(implement end-thread ()
  (sb-thread:abort-thread))

(sb-ext:defglobal *lock* (sb-thread:make-mutex :name "agent"))

(implement call-locked (function)
  (sb-thread:with-recursive-lock (*lock*)
    (funcall function)))

;;;; The agent's port to SBCL: threads seen from another one: what they do, wait for and can be told.

(in-package #:cl-mcp-agent)

(implement all-threads ()
  (sb-thread:list-all-threads))

(implement current-thread ()
  sb-thread:*current-thread*)

(implement thread-alive-p (thread)
  (sb-thread:thread-alive-p thread))

(implement thread-number (thread)
  (if (eq thread (sb-thread:main-thread))
      (or *process-shown* (process-id)) ; SBCL remembers that of the process this one is a copy of.
      (let ((number (sb-thread:thread-os-tid thread)))
        (if (and (integerp number) (plusp number)) number nil))))

(implement thread-name-of (thread)
  (let ((name (sb-thread:thread-name thread)))
    (if (stringp name) name "unnamed thread")))

(defparameter *waiting-calls*
  '((:event (202 98)) (:sleep (230 115) (35 101)) (:connection (43 202) (288 242))
    (:input (0 63) (45 207) (47 212) (19 65)) (:output (1 64) (44 206) (46 211) (20 66))
    (:descriptors (7) (271 73) (23) (270 72) (232) (281 22)) (:child (61 260) (247 95))
    (:signal (128 137) (34) (130 133)))
  "What a thread waits for in a system call, and the numbers of such calls: on x86-64 and elsewhere.")

(defun line-of-task (number file lines)
  "Return line LINES, from 0, of FILE, in which the kernel describes the thread NUMBER; or NIL."
  (ignore-errors
   (with-open-file (stream (format nil "/proc/self/task/~d/~a" number file)
                           :external-format :latin-1)
     (loop repeat lines do (read-line stream))
     (read-line stream))))

(defun activity-in-kernel (number)
  "Return what the thread NUMBER waits for in the kernel, as a keyword, and the descriptor that it waits for."
  (let ((line (line-of-task number "syscall" 0)))
    (cond ((null line)
           :unknown)
          ((eql 0 (search "running" line))
           :running)
          (t
           (let* ((call (parse-integer line :junk-allowed t))
                  (activity (first (find-if (lambda (entry)
                                              (find call (rest entry)
                                                    :key #+x86-64 #'first #-x86-64 #'second))
                                            *waiting-calls*)))
                  (argument (search " 0x" line)))
             (values (or activity :call)
                     (if (and argument (member activity '(:connection :input :output)))
                         (parse-integer line :start (+ argument 3) :radix 16 :junk-allowed t)
                         nil)))))))

(defun last-run (number)
  "Return when, in milliseconds of the kernel's scheduler, the thread NUMBER was last seen running, or NIL."
  (let* ((line (line-of-task number "sched" 2))
         (colon (and line (eql 0 (search "se.exec_start" line)) (position #\: line))))
    (and colon (parse-integer line :start (1+ colon) :junk-allowed t))))

(defun mutex-awaited (thread)
  "Return what THREAD waits for, if that is a mutex, or NIL."
  (let* ((waits-for (sb-thread::thread-waiting-for thread))
         ;; A wait with a time limit is noted as (LIMIT . MUTEX).
         (lock (if (consp waits-for) (cdr waits-for) waits-for)))
    (if (sb-thread::mutex-p lock) lock nil)))

(defun mutex-text (mutex)
  (if (stringp (sb-thread:mutex-name mutex)) (sb-thread:mutex-name mutex) nil))

(implement lock-awaited (thread)
  (let* ((mutex (mutex-awaited thread))
         (owner (and mutex (sb-thread:mutex-owner mutex))))
    (if (sb-thread::thread-p owner)
        (values (mutex-text mutex) owner)
        nil)))

(implement locks-held ()
  ;; SBCL keeps no list of them, but who releases a mutex has it on the stack. What only looks like a pointer is not taken for one.
  (let ((mutexes '())
        (end (sb-sys:sap-int (sb-sys:int-sap (sb-thread::thread-control-stack-end sb-thread:*current-thread*)))))
    (loop for address from (sb-sys:sap-int (sb-kernel:current-sp)) below end by sb-vm:n-word-bytes
          for word = (sb-sys:sap-ref-word (sb-sys:int-sap address) 0)
          do (when (= sb-vm:instance-pointer-lowtag (logand word sb-vm:lowtag-mask))
               (multiple-value-bind (object valid) (sb-kernel:make-lisp-obj word nil)
                 (when (and valid (sb-thread::mutex-p object) (sb-thread:holding-mutex-p object))
                   (pushnew object mutexes)))))
    (loop for mutex in mutexes
          collect (if (mutex-text mutex) (format nil "the lock ~s" (mutex-text mutex)) "a lock without a name"))))

(implement thread-activity (thread)
  (let* ((number (thread-number thread))
         (lock (mutex-awaited thread))
         (now (last-run (thread-number sb-thread:*current-thread*)))
         (then (and number (last-run number))))
    (multiple-value-bind (activity descriptor)
        (if number (activity-in-kernel number) :starting)
      (if lock
          (let ((owner (sb-thread:mutex-owner lock)))
            (values :lock
                    (mutex-text lock)
                    (if (sb-thread::thread-p owner) owner nil)
                    (and now then (max 0 (- now then)))
                    nil))
          (values activity nil nil
                  (and now then (not (eq activity :running)) (max 0 (- now then)))
                  descriptor)))))

(implement call-in-thread (thread function)
  (let ((function (for-thread function)))
    (handler-case (progn
                    (sb-thread:interrupt-thread thread
                                                (lambda ()
                                                  (let ((*top-frame* (interrupted-frame)))
                                                    (funcall function))))
                    t)
      (sb-thread:interrupt-thread-error () nil))))

(implement put-off-interruptions ()
  (let ((set (make-array 128 :element-type '(unsigned-byte 8) :initial-element 0)))
    (sb-sys:with-pinned-objects (set)
      (setf (sb-sys:sap-ref-64 (sb-sys:vector-sap set) 0)
            (logior (ash 1 (1- sb-unix:sigurg)) (ash 1 (1- +look-signal+))))
      ;; SIG_BLOCK. What the signal has interrupted has its own mask.
      (c-call "pthread_sigmask" sb-alien:int
              sb-alien:int 0
              sb-sys:system-area-pointer (sb-sys:vector-sap set)
              sb-sys:system-area-pointer (sb-sys:int-sap 0)))))

(implement ask-thread-to-end (thread)
  (handler-case (sb-thread:terminate-thread thread)
    (sb-thread:interrupt-thread-error () nil)))

(implement await-thread (thread seconds)
  (sb-thread:join-thread thread :default nil :timeout seconds)
  (not (sb-thread:thread-alive-p thread)))

(implement make-signal ()
  (sb-thread:make-semaphore :name "agent"))

(implement raise-signal (signal)
  (sb-thread:signal-semaphore signal))

(implement await-signal (signal &optional seconds)
  (if (sb-thread:wait-on-semaphore signal :timeout seconds) t nil))

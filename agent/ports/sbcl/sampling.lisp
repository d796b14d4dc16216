;;;; The agent's port to SBCL: the statistical profiler.

(in-package #:cl-mcp-agent)

;;; Sampling is SB-SPROF's, but for its timer for real time: that is a thread, and a process with threads
;;; cannot be copied. A timer of the kernel sends the same signal; a copy does not inherit it.

(defconstant +no-timer+ -1)

(sb-ext:defglobal *timer* +no-timer+)

(defun start-timer (interval-us)
  "Have the kernel send SIGPROF to this thread each INTERVAL-US microseconds."
  (let ((memory (make-array 128 :element-type '(unsigned-byte 8) :initial-element 0)))
    (with-writable-vectors (memory)
      (let* ((event (sb-sys:vector-sap memory))
             (id (sb-sys:sap+ event 64))
             (times (sb-sys:sap+ event 72)))
        ;; sigev_signo, sigev_notify and the thread.
        (setf (sb-sys:sap-ref-32 event 8) sb-unix:sigprof
              (sb-sys:sap-ref-32 event 12) +signal-a-thread+
              (sb-sys:sap-ref-32 event 16) (system-call (186 178))) ; gettid
        ;; timer_create
        (when (minusp (system-call (222 107) +monotonic-clock+ (sb-sys:sap-int event) (sb-sys:sap-int id)))
          (error "The kernel has no timer for the profiler."))
        (setf *timer* (sb-sys:sap-ref-32 id 0))
        (multiple-value-bind (seconds microseconds) (floor interval-us 1000000)
          (loop for offset in '(0 16)
                do (setf (sb-sys:sap-ref-64 times offset) seconds
                         (sb-sys:sap-ref-64 times (+ offset 8)) (* 1000 microseconds))))
        (system-call (223 110) *timer* 0 (sb-sys:sap-int times) 0))))) ; timer_settime

(defun stop-timer ()
  (unless (= *timer* +no-timer+)
    ;; In a copy there is none of that id, which does no harm.
    (system-call (226 111) (shiftf *timer* +no-timer+)))) ; timer_delete

(implement sampling-p ()
  (and sb-sprof::*profiling* t))

(implement start-sampling (mode interval-us max-samples)
  (let ((by-time (string= mode "time")))
    (sb-sprof:start-profiling :mode (if (string= mode "alloc") :alloc :cpu)
                              :max-samples max-samples
                              ;; That of processor time is to ring never if not wanted.
                              :sample-interval (if by-time 1000000 (/ interval-us 1000000)))
    (when by-time
      (start-timer interval-us))))

(implement stop-sampling ()
  (stop-timer)
  (sb-sprof:stop-profiling))

(implement forget-samples ()
  (stop-timer)
  (sb-sprof:reset)
  ;; Set while samples refer to code, which must then not move away.
  (setf (sb-alien:extern-alien "sb_sprof_enabled" sb-alien:int) 0))

(defun learn-assembler-routines ()
  "Have the table of the assembler's routines made, which SB-SPROF and DISASSEMBLE use. Making it ends in
an error, as MAKE-ROOM-FOR-CONTEXTS has put closures in the place of two functions that are linked
statically, but all routines are in it by then, and it is made once in a process."
  (handler-case (sb-disassem::find-assembler-routine 0)
    (error () nil)))

(defun sampled-frame-name (info)
  (typecase info
    (sb-di:debug-fun (sb-di:debug-fun-name info))
    ((or string symbol) info)
    (t nil)))

(defun thread-start-name-p (name)
  (or (eq name 'sb-thread::run)
      (and (consp name) (eq 'sb-thread::run (second (member :in name))))))

(implement map-samples (function mode)
  (let ((samples sb-sprof::*samples*)
        (allocating (string= mode "alloc"))
        (names (make-hash-table :test #'eq)))
    (when samples
      (setf (sb-sprof::samples-vector samples) (sb-sprof::convert-raw-data))
      (sb-sprof:map-traces
       (lambda (thread trace)
         (let ((stack '()))
           ;; From the outermost.
           (sb-sprof::map-trace-pc-locs
            (lambda (info place)
              (declare (ignore place))
              (let ((name (multiple-value-bind (known found) (gethash info names)
                            (if found known
                                (setf (gethash info names) (sampled-frame-name info))))))
                (cond ((eq name 'sb-sprof::unavailable-frames) (push :more stack))
                      ((null name))
                      ;; What lies below is how a thread begins.
                      ((thread-start-name-p name) (setf stack '()))
                      ;; The allocator is reached by a routine in assembler or from foreign code.
                      ((and allocating (not (typep info 'sb-di:debug-fun))))
                      (t (push name stack)))))
            trace)
           ;; Older releases see at most one caller where the processor is no x86-64.
           #-x86-64
           (unless (cddr stack)
             (setf stack (append stack (list :more))))
           (funcall function stack (eq thread (sb-thread:main-thread)))))
       samples))))

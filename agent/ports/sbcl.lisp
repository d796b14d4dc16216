;;;; The agent's port to SBCL. Needs SBCL 2.2.6 or newer on Linux, x86-64 or arm64, with threads.
;;;; Only here the agent names symbols of SBCL's own packages.

(in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (require :sb-posix)
  (require :sb-introspect)
  (require :sb-sprof)
  (require :asdf)
  (setf sb-ext:*evaluator-mode* :compile))

;;; Calls of the C library. The names are resolved when the core starts.

(defmacro c-call (name result &rest typed-arguments)
  "Call the C function NAME; TYPED-ARGUMENTS alternates types and values."
  `(sb-alien:alien-funcall
    (sb-alien:extern-alien ,name (function ,result
                                           ,@(loop for (type) on typed-arguments by #'cddr
                                                   collect type)))
    ,@(loop for (nil value) on typed-arguments by #'cddr
            collect value)))

(defconstant +interrupted-call+ 4)
(defconstant +try-again+ 11)
(defconstant +channel+ 3)
(defconstant +gettid+ #+x86-64 186 #-x86-64 178)

(implement process-id ()
  (c-call "getpid" sb-alien:int))

(implement parent-process-id ()
  (c-call "getppid" sb-alien:int))

(implement end-process (code)
  (loop (c-call "_exit" sb-alien:void sb-alien:int code)))

(implement die-with-parent ()
  (c-call "prctl" sb-alien:int sb-alien:int 1 sb-alien:unsigned-long 9))

;;; The message header, the vector of buffers and the control data of recvmsg(2) lie in one octet
;;; vector, at these places; the layout is that of every 64-bit Linux.
(defconstant +header-buffers+ 16)
(defconstant +header-buffer-count+ 24)
(defconstant +header-control+ 32)
(defconstant +header-control-length+ 40)
(defconstant +header-flags+ 48)
(defconstant +header-end+ 56)
(defconstant +buffers+ 64)
(defconstant +control+ 128)
(defconstant +control-length+ 256)
(defconstant +poll+ 512)
(defconstant +time+ 528)

(declaim (type octets *message*))
(sb-ext:defglobal *message*
    (make-array 640 :element-type '(unsigned-byte 8) :initial-element 0))

(defun note-descriptors (message length)
  "Keep the descriptors in the LENGTH octets of control data at the address MESSAGE."
  (let ((position 0))
    (loop while (<= (+ position 16) length)
          do (let ((size (sb-sys:sap-ref-64 message (+ +control+ position))))
               (when (< size 16)
                 (return))
               (when (and (= 1 (sb-sys:sap-ref-32 message (+ +control+ position 8)))
                          (= 1 (sb-sys:sap-ref-32 message (+ +control+ position 12))))
                 (loop for offset from 16 below size by 4
                       do (setf *descriptors*
                                (append *descriptors*
                                        (list (sb-sys:sap-ref-32
                                               message (+ +control+ position offset)))))))
               (incf position (logandc2 (+ size 7) 7))))))

(declaim (inline poll-entry))
(defun poll-entry (message events)
  "Return where in MESSAGE, which is pinned, lies what poll(2) needs to wait for EVENTS on the channel."
  (declare (type octets message))
  (let ((entry (sb-sys:sap+ (sb-sys:vector-sap message) +poll+)))
    (setf (sb-sys:sap-ref-32 entry 0) +channel+
          (sb-sys:sap-ref-32 entry 4) events)
    entry))

(defun wait-for-octets ()
  (let ((message *message*))
    (sb-sys:with-pinned-objects (message)
      (c-call "poll" sb-alien:int
              sb-sys:system-area-pointer (poll-entry message 1)
              sb-alien:unsigned-long 1
              sb-alien:int -1))))

(implement receive-octets (buffer start end)
  (declare (type octets buffer) (type index start end))
  (let ((message *message*))
    (loop
      (call-openly #'wait-for-octets)
      (sb-sys:with-pinned-objects (buffer message)
        (let ((header (sb-sys:vector-sap message)))
          (setf (sb-sys:sap-ref-sap header +header-buffers+) (sb-sys:sap+ header +buffers+)
                (sb-sys:sap-ref-64 header +header-buffer-count+) 1
                (sb-sys:sap-ref-sap header +header-control+) (sb-sys:sap+ header +control+)
                (sb-sys:sap-ref-64 header +header-control-length+) +control-length+
                (sb-sys:sap-ref-sap header +buffers+)
                (sb-sys:sap+ (sb-sys:vector-sap buffer) start)
                (sb-sys:sap-ref-64 header (+ +buffers+ 8)) (- end start))
          ;; MSG_CMSG_CLOEXEC and MSG_DONTWAIT: the wait above is where interrupts run.
          (let ((count (c-call "recvmsg" sb-alien:long
                               sb-alien:int +channel+
                               sb-sys:system-area-pointer header
                               sb-alien:int (logior #x40000000 #x40))))
            (cond ((plusp count)
                   (let ((length (sb-sys:sap-ref-64 header +header-control-length+)))
                     (when (plusp length)
                       (note-descriptors header length)))
                   (return count))
                  ((zerop count)
                   (return 0))
                  (t
                   (let ((code (sb-alien:get-errno)))
                     (unless (or (= code +interrupted-call+) (= code +try-again+))
                       (end-process 71)))))))))))


(defun wait-until-writable ()
  (let ((message *message*))
    (sb-sys:with-pinned-objects (message)
      (c-call "poll" sb-alien:int
              sb-sys:system-area-pointer (poll-entry message 4)
              sb-alien:unsigned-long 1
              sb-alien:int -1))))

(implement send-octets (buffer end)
  (declare (type octets buffer) (type index end))
  (let ((start 0))
    (declare (type index start))
    (loop while (< start end)
          do (let ((count (sb-sys:with-pinned-objects (buffer)
                            ;; MSG_NOSIGNAL, so that a user's SIGPIPE handler has no say.
                            (c-call "send" sb-alien:long
                                    sb-alien:int +channel+
                                    sb-sys:system-area-pointer
                                    (sb-sys:sap+ (sb-sys:vector-sap buffer) start)
                                    sb-alien:unsigned-long (- end start)
                                    sb-alien:int #x4000))))
               (if (minusp count)
                   (let ((code (sb-alien:get-errno)))
                     (cond ((= code +try-again+) (wait-until-writable))
                           ((/= code +interrupted-call+) (end-process 72))))
                   (incf start count))))))

;;; Copies of the process

(defun thread-id-address ()
  "Return where the C library keeps the main thread's id, or 0.
In a copy it has to be changed: what the C library does not know it cannot signal, and INTERRUPT-THREAD of the main
thread would fail."
  (let* ((self (c-call "pthread_self" sb-alien:unsigned-long))
         (id (c-call "syscall" sb-alien:long sb-alien:long +gettid+)))
    (or (loop for offset from 512 below 1024 by 4
              when (= id (sb-sys:sap-ref-32 (sb-sys:int-sap self) offset))
                return (+ self offset))
        0)))

(defmacro system-call (number &rest arguments)
  "Call the kernel: NUMBER is a list of that on x86-64 and elsewhere."
  `(c-call "syscall" sb-alien:long
           sb-alien:long #+x86-64 ,(first number) #-x86-64 ,(second number)
           ,@(loop for argument in arguments collect 'sb-alien:unsigned-long collect argument)))

;;; A copy that is never asked anything is to write as little as can be: each page that it writes is copied for it. So
;;; nothing is bound around its system calls, all of them go through one function of the C library, and no other function of
;;; ours is called, whose cell would lie on a page that is not mapped yet.

(declaim (inline wait-as-copy))
(defun wait-as-copy (channel octet)
  "In a copy: take CHANNEL for descriptor 3 and wait there. At the address OCTET there is room for one."
  (declare (type (unsigned-byte 31) channel) (type sb-vm:word octet))
  (system-call (157 167) 1 9)                ; prctl: as DIE-WITH-PARENT
  (system-call (292 24) channel 3 #o2000000) ; dup3
  (system-call (3 57) channel)               ; close
  ;; recvfrom, MSG_PEEK. Unlike poll(2) it writes nothing when the process is killed while it waits.
  (loop while (minusp (system-call (45 207) 3 octet 1 2 0 0))))

(implement clone-process (&optional channel)
  (declare (optimize speed (sb-c:alien-funcall-saves-fp-and-pc 0)))
  (let ((message *message*)
        (channel (or channel -1)))
    (declare (type (signed-byte 32) channel))
    (sb-sys:with-pinned-objects (message)
      (let* ((octet (sb-sys:sap-int (sb-sys:sap+ (sb-sys:vector-sap message) +poll+)))
             (address (thread-id-address))
             ;; CLONE_PARENT and SIGCHLD.
             (process (system-call (56 220) (logior #x8000 17) 0 0 0 0)))
        (declare (type sb-vm:word octet address))
        (when (zerop process)
          (unless (minusp channel)
            (wait-as-copy channel octet))
          ;; set_tid_address, which returns the id. The kernel could do both in fork, but a copy that is never asked
          ;; anything needs neither.
          (unless (zerop address)
            (setf (sb-sys:signed-sap-ref-32 (sb-sys:int-sap address) 0)
                  (system-call (218 96) address))))
        (if (minusp process) nil process)))))

(implement adopt-descriptors (descriptors)
  (loop for descriptor in descriptors
        for target in '(3 1 2)
        ;; O_CLOEXEC on the channel: programs that the user starts have no business there.
        do (c-call "dup3" sb-alien:int sb-alien:int descriptor sb-alien:int target
                   sb-alien:int (if (= target 3) #o2000000 0)))
  (close-descriptors descriptors))

(implement close-descriptors (descriptors)
  (dolist (descriptor descriptors)
    (c-call "close" sb-alien:int sb-alien:int descriptor)))

;;; Copies of the outputs; programs that the user starts do not get them (F_DUPFD_CLOEXEC).

(sb-ext:defglobal *kept-descriptors* '(-1 -1))
(defconstant +first-kept-descriptor+ 200)

(defun keep-descriptor (descriptor)
  (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int 1030
          sb-alien:int +first-kept-descriptor+))

(implement keep-descriptors ()
  (dolist (descriptor *kept-descriptors*)
    (unless (minusp descriptor)
      (c-call "close" sb-alien:int sb-alien:int descriptor)))
  (setf *kept-descriptors* (list (keep-descriptor 1) (keep-descriptor 2))))

(implement repair-descriptors ()
  (loop for kept in *kept-descriptors*
        for descriptor from 1
        when (minusp (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int 1
                             sb-alien:int 0))
          do (c-call "dup2" sb-alien:int sb-alien:int kept sb-alien:int descriptor)))

(implement only-thread-p ()
  (null (rest (sb-int:with-system-mutex (sb-thread::*make-thread-lock*)
                (sb-thread::%dispose-thread-structs)
                ;; A thread is here before it has begun to run, and not yet in LIST-ALL-THREADS.
                (sb-thread::avltree-list sb-thread::*all-threads*)))))

(implement thread-names ()
  (loop for thread in (sb-thread:list-all-threads)
        unless (eq thread sb-thread:*current-thread*)
          collect (let ((name (sb-thread:thread-name thread)))
                    (if (stringp name) name "unnamed thread"))))

(implement main-thread-p ()
  (eq sb-thread:*current-thread* (sb-thread:main-thread)))

(implement end-thread ()
  (sb-thread:abort-thread))

;;; The finalizer thread would forbid copies. It never runs: finalizers run in the thread that
;;; collected garbage, as they do on SBCL without threads.

(defun run-finalizers-here ()
  (when (and sb-sys:*allow-with-interrupts* (not sb-impl::*in-a-finalizer*))
    (sb-thread::without-thread-waiting-for ()
      (sb-sys:with-interrupts
        (sb-impl::run-pending-finalizers)))))

;;; A collection copies what is alive, and the process ends if there is no room for that. So it ends
;;; where half of the heap is full of small objects, although there seems to be plenty left. Before
;;; it comes to that the evaluation gets a condition.

(define-condition heap-nearly-full (sb-kernel::heap-exhausted-error)
  ((used :initarg :used :reader heap-used))
  (:report (lambda (condition stream)
             (format stream "Heap exhausted: ~:d of ~:d MiB are in use after a garbage collection, ~
                             which leaves too little room for the next ones."
                     (ash (heap-used condition) -20) (ash (sb-ext:dynamic-space-size) -20)))))

(declaim (type sb-ext:word *heap-told*))
(sb-ext:defglobal *heap-told* 0)
(defconstant +single-object+ 16
  "The flag of a page whose object is large; such are not copied.")

(defun movable-octets ()
  "Return how many octets of the heap a collection of everything would copy."
  (let ((pages 0)
        (end (sb-alien:extern-alien "next_free_page" sb-alien:long)))
    (declare (type fixnum pages end) (optimize speed))
    (loop for number of-type fixnum below end
          do (symbol-macrolet ((page (sb-alien:deref sb-vm::page-table number)))
               (let ((flags (sb-alien:slot page 'sb-vm::flags)))
                 (when (and (plusp flags)
                            (not (logtest +single-object+ flags))
                            (< (sb-alien:slot page 'sb-vm::gen)
                               sb-vm:+pseudo-static-generation+))
                   (incf pages)))))
    (* pages sb-vm:gencgc-page-bytes)))

(defun check-heap ()
  "Signal HEAP-NEARLY-FULL if the collections to come may find no room, once for each growth."
  (let ((size (sb-ext:dynamic-space-size))
        (used (sb-kernel:dynamic-usage))
        (batch (sb-ext:bytes-consed-between-gcs)))
    (cond ((< (* 3 used) size)
           (setf *heap-told* 0))
          ((and (> used (+ *heap-told* (ash batch -1)))
                (> (+ used (movable-octets) (* 4 batch)) size))
           (setf *heap-told* used)
           (restart-case (error 'heap-nearly-full :used used)
             (continue ()
               :report "Go on, at the risk that the process ends."))))))

(defun notice-collection ()
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

;;; The runtime has room for eight interrupted contexts and ends the process at the ninth, so a handler
;;; of a fault that faults itself must not go deeper. When it gets narrow, contexts in the middle are
;;; forgotten while the new one is served: frames interrupted there lose their names, nothing more.

(defconstant +contexts-allowed+ 4)
(defconstant +contexts-kept+ 2)

(declaim (inline context-place))
(defun context-place (number)
  "Return where the runtime keeps the address of the interrupted context NUMBER."
  (sb-sys:sap+ (sb-sys:int-sap (sb-thread::thread-primitive-thread sb-thread:*current-thread*))
               (+ (sb-alien:extern-alien "dynamic_values_bytes" (sb-alien:unsigned 32))
                  (* 8 (the (mod 8) number)))))

(defun call-with-contexts-spared (function)
  (declare (type function function))
  (let* ((used sb-kernel:*free-interrupt-context-index*)
         (saved (loop for number from +contexts-kept+ below used
                      collect (sb-sys:sap-ref-word (context-place number) 0))))
    (unwind-protect
         (progn
           (setf (sb-sys:sap-ref-word (context-place +contexts-kept+) 0)
                 (sb-sys:sap-ref-word (context-place (1- used)) 0))
           (let ((sb-kernel:*free-interrupt-context-index* (1+ +contexts-kept+)))
             (funcall function)))
      (loop for number from +contexts-kept+
            for address in saved
            do (setf (sb-sys:sap-ref-word (context-place number) 0) address)))))

(defmacro with-room-for-contexts (call)
  `(if (<= sb-kernel:*free-interrupt-context-index* +contexts-allowed+)
       ,call
       (call-with-contexts-spared (lambda () ,call))))

(defun make-room-for-contexts ()
  "Have the functions that the runtime calls for faults see to it that more of them can come."
  (sb-ext:with-unlocked-packages ("SB-KERNEL" "SB-SYS")
    (handler-bind ((warning #'muffle-warning))
      (dolist (name '(sb-kernel:internal-error sb-kernel::memory-fault-error))
        (let ((function (fdefinition name)))
          (declare (type function function))
          (setf (fdefinition name)
                (lambda (context argument)
                  (with-room-for-contexts (funcall function context argument)))))))))

;;; User code may put something else in the place of a standard function, and what calls that function
;;; through its name is then broken: the agent, but also the reader, the compiler and the printer.
;;; Calls go through an FDEFN that compiled code holds on to. So when the image is complete each name
;;; gets another one: the image keeps calling what it was built with, and all that is compiled later,
;;; FDEFINITION, TRACE and FUNCALL of a name find the new one. It costs no call anything. A method that
;;; user code adds to a generic function counts everywhere: both fdefns hold the same function.
;;; LENGTH and EQL are called at a fixed address unless they are declared NOTINLINE, which no later
;;; definition reaches; code with CAR does not see another CAR either.

(defparameter *shared-functions* '(load compile-file require)
  "Functions that people trace or wrap to see what ASDF, which is in the image, does.")

(defmacro exchange-fdefn (name old new)
  "Make NEW the fdefn of the symbol NAME. Does nothing on an SBCL where symbols have none."
  (let ((exchange (find-symbol "CAS-SYMBOL-FDEFN" "SB-VM")))
    (if exchange
        `(,exchange ,name ,old ,new)
        `(list ,name ,old ,new))))

(defun separate-standard-functions ()
  "Leave the standard functions that the image calls to the image alone; once, before it is saved."
  (do-external-symbols (name "COMMON-LISP")
    (let ((old (and (fboundp name)
                    (not (macro-function name))
                    (not (special-operator-p name))
                    (not (member name *shared-functions*))
                    (sb-int:find-fdefn name))))
      (when (sb-kernel:fdefn-p old)
        (let ((new (sb-kernel:make-fdefn name)))
          (setf (sb-kernel:fdefn-fun new) (sb-kernel:fdefn-fun old))
          (exchange-fdefn name old new))))))

;;; Interrupts and signals

(implement call-atomically (function)
  (declare (type function function))
  (sb-sys:without-interrupts
    (sb-sys:allow-with-interrupts
      (funcall function))))

(implement call-openly (function)
  (declare (type function function))
  (sb-sys:with-interrupts
    (funcall function)))

(sb-ext:defglobal *on-interrupt* nil)
(sb-ext:defglobal *interrupt-handler* nil)

(defun handle-urgent-signal (signal info context)
  "Tell the server's interrupts from those of SBCL's threads, which use the same signal."
  ;; si_code is SI_QUEUE when sigqueue(3) was used; the value follows the sender's ids.
  (if (and info (= -1 (sb-sys:signed-sap-ref-32 info 8)))
      (let ((token (sb-sys:sap-ref-32 info 24))
            (sb-kernel:*current-internal-error-context* context))
        (with-room-for-contexts (funcall (the function *on-interrupt*) token)))
      (sb-unix::sigurg-handler signal info context)))

(defun installed-handler ()
  (sb-sys:sap-ref-lispobj (sb-sys:foreign-symbol-sap "lisp_sig_handlers" t)
                          (ash sb-unix:sigurg sb-vm:word-shift)))

(implement install-interrupt (function)
  (setf *on-interrupt* function)
  (sb-sys:enable-interrupt sb-unix:sigurg #'handle-urgent-signal)
  (setf *interrupt-handler* (installed-handler)))

(implement refresh-signal-handlers ()
  (unless (eq *interrupt-handler* (installed-handler))
    (install-interrupt *on-interrupt*)))

;;; Streams

(sb-ext:defglobal *output* nil)
(sb-ext:defglobal *error-output-stream* nil)
(sb-ext:defglobal *no-input* nil)
(sb-ext:defglobal *interactive* nil)

(defun make-output (descriptor name)
  (sb-sys:make-fd-stream descriptor
                         :name name :output t :buffering :none :element-type :default
                         :external-format '(:utf-8 :replacement #\ufffd)))

(defun renew-streams ()
  (setf *output* (make-output 1 "standard output")
        *error-output-stream* (make-output 2 "error output")
        *no-input* (make-concatenated-stream)
        *interactive* (make-two-way-stream *no-input* *output*)))

(defmacro set-where-different (&rest places-and-values)
  "Set each place that has another value. What is not written need not be copied after a copy of the
process: the symbols of variables lie scattered over many pages."
  `(progn
     ,@(loop for (place value) on places-and-values by #'cddr
             collect `(unless (and ,@(when (symbolp place) `((boundp ',place)))
                                   (eq ,place ,value))
                        (setf ,place ,value)))))

(implement ensure-streams ()
  (unless (and *output*
               (open-stream-p *output*) (open-stream-p *error-output-stream*)
               (open-stream-p *no-input*) (open-stream-p *interactive*))
    ;; Closing a stream has closed its descriptor.
    (repair-descriptors)
    (renew-streams))
  (let ((output *output*)
        (error-output *error-output-stream*)
        (interactive *interactive*))
    (set-where-different
     sb-impl::*stdin* *no-input*
     sb-impl::*stdout* output
     sb-impl::*stderr* error-output
     sb-impl::*tty* interactive
     *standard-output* output
     *trace-output* output
     *error-output* error-output
     *standard-input* *no-input*
     *terminal-io* interactive
     *query-io* interactive
     *debug-io* interactive)))

(defun flush-stream (stream)
  "Write what is left in the buffer of STREAM, if there is anything: the attempt alone writes to the buffer."
  (let ((buffer (sb-impl::fd-stream-obuf stream)))
    (unless (and buffer
                 (= (sb-impl::buffer-head buffer) (sb-impl::buffer-tail buffer))
                 (null (sb-impl::fd-stream-output-queue stream)))
      (finish-output stream))))

(implement flush-streams ()
  (ignore-errors (flush-stream *output*))
  (ignore-errors (flush-stream *error-output-stream*)))

(implement reset-columns ()
  (set-where-different (sb-impl::fd-stream-output-column *output*) 0
                       (sb-impl::fd-stream-output-column *error-output-stream*) 0))

;;; A stream that keeps a bounded number of characters

(declaim (ftype function stop-capture))

(defstruct (capture (:include sb-kernel:ansi-stream
                     (out #'capture-character)
                     (sout #'capture-string)
                     (misc #'capture-misc))
                    (:constructor %make-capture ())
                    (:conc-name captured-)
                    (:copier nil)
                    (:predicate nil))
  (text-buffer (make-string 192) :type (simple-array character (*)))
  (kept 0 :type index)
  (keep 0 :type index)
  (count 0 :type index)
  (stop 0 :type index)
  (column 0 :type index))

(defun grow-capture (capture needed)
  (declare (type index needed))
  (let* ((old (captured-text-buffer capture))
         (new (make-string (min (captured-keep capture) (max needed (* 2 (length old)))))))
    (replace new old :end2 (captured-kept capture))
    (setf (captured-text-buffer capture) new)))

(defun capture-character (capture character)
  (declare (type capture capture) (type character character)
           (optimize speed (sb-c:insert-array-bounds-checks 0)))
  (let ((kept (captured-kept capture)))
    (when (< kept (captured-keep capture))
      (when (= kept (length (captured-text-buffer capture)))
        (grow-capture capture (1+ kept)))
      (setf (schar (captured-text-buffer capture) kept) character
            (captured-kept capture) (1+ kept)))
    (setf (captured-column capture)
          (if (char= character #\newline) 0 (1+ (captured-column capture))))
    (when (>= (incf (captured-count capture)) (captured-stop capture))
      (stop-capture))
    character))

(defun capture-string (capture string start end)
  (declare (type capture capture) (type simple-string string) (type index start)
           (type (or null index) end) (optimize speed))
  (let* ((end (or end (length string)))
         (room (- (captured-keep capture) (captured-kept capture)))
         (taken (min room (- end start)))
         (kept (captured-kept capture)))
    (declare (type index end room taken))
    (when (plusp taken)
      (when (> (+ kept taken) (length (captured-text-buffer capture)))
        (grow-capture capture (+ kept taken)))
      (let ((text (captured-text-buffer capture)))
        (macrolet ((copy ()
                     `(loop for from of-type index from start below (+ start taken)
                            for to of-type index from kept
                            do (setf (schar text to) (schar string from)))))
          (if (typep string '(simple-array character (*))) (copy) (copy))))
      (setf (captured-kept capture) (+ kept taken)))
    (let ((newline (position #\newline string :start start :end end :from-end t)))
      (setf (captured-column capture)
            (if newline
                (- end newline 1)
                (+ (captured-column capture) (- end start)))))
    (when (>= (incf (captured-count capture) (- end start)) (captured-stop capture))
      (stop-capture))
    string))

(defun capture-misc (capture operation argument)
  (declare (ignore argument))
  (sb-impl::stream-misc-case (operation :default nil)
    (:charpos (captured-column capture))
    (:element-type 'character)
    (:element-mode 'character)
    (:external-format :default)))

(implement make-capture ()
  (%make-capture))

(implement start-capture (capture keep stop)
  (setf (captured-kept capture) 0
        (captured-keep capture) keep
        (captured-count capture) 0
        (captured-stop capture) stop
        (captured-column capture) 0))

(implement capture-text (capture)
  (values (subseq (captured-text-buffer capture) 0 (captured-kept capture))
          (captured-count capture)))

;;; Evaluation

(implement call-in-compilation-unit (function)
  (declare (type function function))
  ;; What WITH-COMPILATION-UNIT binds, without the summary it prints at the end.
  (let ((sb-c::*aborted-compilation-unit-count* 0)
        (sb-c::*compiler-error-count* 0)
        (sb-c::*compiler-warning-count* 0)
        (sb-c::*compiler-style-warning-count* 0)
        (sb-c::*compiler-note-count* 0)
        (sb-c::*undefined-warnings* nil)
        (sb-c::*argument-mismatch-warnings* nil)
        (sb-c::*methods-in-compilation-unit* nil)
        (sb-c::*in-compilation-unit* t)
        ;; A count for TIME; bound, it is not on a page of its own that each evaluation writes.
        (sb-impl::*eval-calls* 0))
    (handler-bind ((sb-kernel:parse-unknown-type
                     (lambda (condition)
                       (sb-c::note-undefined-reference
                        (sb-kernel:parse-unknown-type-specifier condition) :type))))
      (funcall function))))

(defun still-undefined-p (name kind)
  (ecase kind
    (:function (not (fboundp name)))
    (:variable (not (and (symbolp name)
                         (or (boundp name)
                             (not (eq :unknown (sb-int:info :variable :kind name)))))))
    (:type t)))

(implement undefined-names ()
  (loop for warning in (if (boundp 'sb-c::*undefined-warnings*)
                           (reverse sb-c::*undefined-warnings*)
                           '())
        for name = (sb-c::undefined-warning-name warning)
        for kind = (sb-c::undefined-warning-kind warning)
        when (still-undefined-p name kind)
          collect (list (if (eq kind :variable) 'warning 'style-warning)
                        name
                        (string-downcase kind)
                        (let ((context (first (sb-c::undefined-warning-warnings warning))))
                          (and (typep context 'sb-c::compiler-error-context)
                               (sb-c::compiler-error-context-original-form context)))
                        (place-of-context (first (sb-c::undefined-warning-warnings warning))))))

(defun place-of-context (context)
  "Return as file:line the top-level form that CONTEXT, where the compiler was, is in, or NIL."
  (let ((file (and (typep context 'sb-c::compiler-error-context)
                   (sb-c::compiler-error-context-file-name context))))
    (and (typep file '(or string pathname))
         (let ((position (sb-c::compiler-error-context-file-position context)))
           (source-text (namestring file) (and (integerp position) position) nil)))))

(implement place-being-compiled (condition)
  (let ((stream (and (typep condition 'stream-error) (stream-error-stream condition))))
    (cond ((typep stream 'sb-impl::form-tracking-stream)
           (let ((file (ignore-errors (namestring (pathname stream)))))
             ;; What is not finished began somewhere else than it ended.
             (multiple-value-bind (position start) (reading-position stream)
               (and file
                    (source-text file (if (typep condition 'end-of-file) start position) nil)))))
          (t
           (place-of-context (ignore-errors (sb-c::find-error-context nil)))))))

(defvar *compiler-errors* '()
  "The newest errors the compiler found in code of the user's: (MESSAGE CONDITION FRAMES).
Code compiled with an error signals another when it runs, which may be requests later.")
(defconstant +compiler-errors-kept+ 50)

(defvar *note-warning*)
(defvar *keep-frames* nil
  "A function of a condition that returns its frames as they will be reported.")

(defun innermost-condition (condition)
  "Return the error a macro signalled, if CONDITION is the compiler's message about it."
  (loop
    (let ((inner (cond ((typep condition 'sb-int:encapsulated-condition)
                        (sb-int:encapsulated-condition condition))
                       ((typep condition 'sb-int:simple-program-error)
                        (find-if (lambda (argument) (typep argument 'condition))
                                 (simple-condition-format-arguments condition))))))
      (if inner
          (setf condition inner)
          (return condition)))))

(defun note-compiler-error (condition)
  "Keep an error the compiler found, as the form that has it will signal something else."
  (let* ((inner (sb-int:encapsulated-condition condition))
         (original (innermost-condition inner)))
    (when (boundp 'sb-c::*compiler-error-bailout*)
      (unless (find original *compiler-errors* :key #'second)
        (push (list (ignore-errors (princ-to-string inner))
                    original
                    (and *keep-frames* (funcall (the function *keep-frames*) original)))
              *compiler-errors*)
        (let ((end (nthcdr +compiler-errors-kept+ *compiler-errors*)))
          (when end
            (setf *compiler-errors* (ldiff *compiler-errors* end))))
        (funcall *note-warning* original))
      ;; What the compiler does itself here, except for the text it prints.
      (when (and (boundp 'sb-c::*failure-p*) (find-restart 'continue condition))
        (setf sb-c::*failure-p* t
              sb-c::*warnings-p* t)
        (continue condition)))))

(defun note-and-muffle (condition)
  (let ((restart (find-restart 'muffle-warning condition)))
    (when restart
      ;; What the compiler would do itself, if the warning came as far: COMPILE and COMPILE-FILE
      ;; return whether there were any.
      (when (boundp 'sb-c::*warnings-p*)
        (setf sb-c::*warnings-p* t)
        (unless (typep condition 'style-warning)
          (setf sb-c::*failure-p* t)))
      (unless (ignorable-warning-p condition)
        (funcall *note-warning* condition))
      (invoke-restart restart))))

(defvar *component*)

(defun note-and-muffle-note (condition)
  "Record what the compiler would have liked to do better; what is loaded from files has too many."
  (let ((restart (find-restart 'muffle-warning condition)))
    (when restart
      (unless *component*
        (funcall *note-warning* condition))
      (invoke-restart restart))))

(implement compiler-note-p (condition)
  (typep condition 'sb-ext:compiler-note))

(implement call-recording-warnings (function note)
  (declare (type function function))
  (let ((*note-warning* note))
    (handler-bind ((warning #'note-and-muffle)
                   (sb-ext:compiler-note #'note-and-muffle-note)
                   (sb-c:compiler-error #'note-compiler-error))
      (funcall function))))

;;; What is compiled without effect is a file in memory, and so is what it is compiled into.

(defun make-memory-file (name)
  "Return a descriptor of a file without a name, or signal an error."
  (let ((descriptor (c-call "memfd_create" sb-alien:int sb-alien:c-string name
                            sb-alien:unsigned-int 1)))
    (when (minusp descriptor)
      (error "The kernel made no file in memory."))
    descriptor))

(defun name-of-descriptor (descriptor)
  (make-pathname :directory '(:absolute "proc" "self" "fd") :name (decimal descriptor)
                 ;; Nothing is to be added to it.
                 :type :unspecific :version nil
                 :defaults #p"/"))

(defun write-memory-file (descriptor text)
  (let ((octets (sb-ext:string-to-octets text :external-format '(:utf-8 :replacement #\?)))
        (start 0))
    (declare (type index start))
    (loop while (< start (length octets))
          do (let ((count (sb-sys:with-pinned-objects (octets)
                            (c-call "write" sb-alien:long
                                    sb-alien:int descriptor
                                    sb-sys:system-area-pointer
                                    (sb-sys:sap+ (sb-sys:vector-sap octets) start)
                                    sb-alien:unsigned-long (- (length octets) start)))))
               (when (minusp count)
                 (error "The file in memory cannot be written."))
               (incf start count)))))

(implement form-function (form)
  (eval `(sb-int:named-lambda compiled-form () ,form)))

(implement form-being-compiled ()
  (let ((context (ignore-errors (sb-c::find-error-context nil))))
    (and (typep context 'sb-c::compiler-error-context)
         (list (sb-c::compiler-error-context-original-form context)))))

(implement reading-position (stream)
  (if (typep stream 'sb-impl::form-tracking-stream)
      (values (sb-impl::form-tracking-stream-input-char-pos stream)
              (or (sb-impl::form-tracking-stream-form-start-char-pos stream) 0))
      nil))

(defun compile-memory-file (source compiled note)
  "Compile the file at the descriptor SOURCE into that at COMPILED. Returns whether all was well."
  (declare (type function note))
  (flet ((compile-it ()
           (handler-bind ((sb-ext:compiler-note (lambda (condition)
                                                  (funcall note condition)
                                                  (muffle-warning condition))))
             (not (nth-value 2 (compile-file (name-of-descriptor source)
                                             :output-file (name-of-descriptor compiled)
                                             :external-format :utf-8)))))
         (give-up (condition)
           ;; COMPILE-FILE removes what it has written when it fails; here there is nothing to remove.
           (unless (and (typep condition 'file-error)
                        (equal (princ-to-string (file-error-pathname condition))
                               (namestring (name-of-descriptor compiled))))
             (funcall note condition))
           (return-from compile-memory-file nil)))
    (call-with-debugger #'compile-it #'give-up)))

(implement compile-text (text note)
  (let ((source (make-memory-file "source"))
        (compiled (make-memory-file "compiled"))
        (*compile-print* nil)
        (*compile-verbose* nil))
    (unwind-protect
         (progn
           (write-memory-file source text)
           (call-recording-warnings (lambda () (compile-memory-file source compiled note)) note))
      (close-descriptors (list source compiled)))))

(implement ignorable-warning-p (condition)
  (typep condition 'sb-kernel:redefinition-warning))

(defvar *debugger* nil)

(defun enter-agent (condition hook)
  "Give CONDITION to the user's *DEBUGGER-HOOK* as the standard says, then to the agent."
  (declare (ignore hook))
  (let ((hook *debugger-hook*))
    (when hook
      (let ((*debugger-hook* nil))
        (funcall hook condition hook))))
  (funcall (the function *debugger*) condition))

(sb-ext:defglobal *thread-debugger* nil)

(defun instead-of-the-debugger (condition)
  "Stand in for SBCL's debugger when user code has put *INVOKE-DEBUGGER-HOOK* out of action."
  (funcall (the function (or *debugger* *thread-debugger*)) condition))

(defun remove-debugger ()
  (sb-ext:unlock-package "SB-DEBUG")
  (handler-bind ((warning #'muffle-warning))
    (setf (fdefinition 'sb-debug::%invoke-debugger) #'instead-of-the-debugger))
  (sb-ext:lock-package "SB-DEBUG"))

(implement call-with-debugger (function debugger)
  (declare (type function function))
  (let ((*debugger* debugger)
        (sb-ext:*invoke-debugger-hook* #'enter-agent)
        ;; Handlers of errors that signal errors are ordinary; what never ends fills the stack.
        (sb-kernel:*maximum-error-depth* 1000000))
    (funcall function)))

(implement handlers-now ()
  sb-kernel:*handler-clusters*)

(implement call-with-handlers (handlers function)
  (declare (type function function))
  (let ((sb-kernel:*handler-clusters* handlers))
    (funcall function)))

(implement standing-for (class)
  (let* ((name (class-name class))
         (package (and name (symbol-package name))))
    (flet ((implementation-p (package)
             (and package (eql 0 (search "SB-" (package-name package))))))
      (when (eq name 'heap-nearly-full)
        (return-from standing-for (find-class 'sb-kernel::heap-exhausted-error)))
      (if (or (eq package #.(find-package "CL-MCP-AGENT"))
              (and (implementation-p package)
                   (or (eql 0 (search "SIMPLE-" (symbol-name name)))
                       (subtypep class 'warning))))
          (or (find-if (lambda (class)
                         (let ((name (class-name class)))
                           (and (eq (symbol-package name) (find-package "COMMON-LISP"))
                                (not (eql 0 (search "SIMPLE-" (symbol-name name)))))))
                       (rest (sb-mop:class-precedence-list class)))
              class)
          class))))

(implement original-condition (condition)
  (if (typep condition 'sb-int:compiled-program-error)
      (let ((entry (find (sb-kernel::program-error-message condition) *compiler-errors*
                         :key #'first :test #'equal)))
        (if entry
            (values (second entry) (third entry))
            (values condition nil)))
      (values condition nil)))

(implement storage-kind (condition)
  (typecase condition
    (sb-kernel::heap-exhausted-error :heap)
    (sb-sys:memory-fault-error nil)
    (storage-condition :stack)))

(defparameter *dull-slots*
  '("FORMAT-CONTROL" "FORMAT-ARGUMENTS" "CONTEXT" "REFERENCES" "NOT-YET-LOADED" "PROBLEM")
  "Slots of SBCL's conditions that repeat the message or mean something to SBCL only.")

(implement condition-slots (condition)
  (loop for slot in (sb-mop:class-slots (class-of condition))
        for name = (sb-mop:slot-definition-name slot)
        unless (or (and (member (symbol-name name) *dull-slots* :test #'string=)
                        (not (visible-symbol-p name)))
                   (not (slot-boundp condition name)))
          collect (cons name (slot-value condition name))))

(implement restart-takes-value-p (restart)
  (let ((function (sb-kernel::restart-interactive-function restart)))
    (if (or function (member (restart-name restart) '(use-value store-value))) t nil)))

;;; Frames

(defvar *top-frame* nil
  "The frame to begin with when a condition arrived outside INVOKE-DEBUGGER.")

(defparameter *public-packages*
  '("SB-EXT" "SB-THREAD" "SB-POSIX" "SB-GRAY" "SB-MOP" "SB-BSD-SOCKETS" "SB-CLTL2"
    "SB-CONCURRENCY" "SB-INTROSPECT" "SB-SPROF" "SB-ALIEN" "SB-UNICODE"))

(defun visible-symbol-p (symbol)
  "True unless SYMBOL names a function that only someone at work on the Lisp would look for."
  (let ((package (symbol-package symbol)))
    (or (null package)
        (let ((name (package-name package)))
          (or (null name)
              (and (not (member package '#.(mapcar #'find-package '("CL-MCP-AGENT" "CL-MCP"))))
                   (or (< (length name) 3)
                       (char/= #\S (char name 0))
                       (char/= #\B (char name 1))
                       (char/= #\- (char name 2))
                       (and (member name *public-packages* :test #'string=)
                            (eq :external (nth-value 1 (find-symbol (symbol-name symbol)
                                                                    package)))))))))))

(defun system-symbol-p (symbol)
  (let ((package (symbol-package symbol)))
    (and package (system-package-p package))))

(defun visible-name-p (name)
  (cond ((eq name 'sb-pcl::call-no-applicable-method) t)
        ((eq name 'sb-ext:eval-tlf) nil)
        ((symbolp name) (visible-symbol-p name))
        ((stringp name) (or (string= name "undefined function") (eql 0 (search "user." name))))
        ((atom name) nil)
        (t
         (case (first name)
           ((sb-pcl::fast-method sb-pcl::slow-method)
            (let ((function (second name)))
              (and (visible-name-p function)
                   (not (and (eq function 'asdf:perform)
                             (member :around name)))
                   (not (member function '(no-applicable-method no-next-method slot-unbound
                                           slot-missing))))))
           ((flet labels lambda sb-int:named-lambda macro-function compiler-macro-function setf)
            (let ((place (member :in name)))
              (cond (place
                     ;; Local functions of the Lisp's own functions are its own affair.
                     (let ((home (second place)))
                       (and (visible-name-p home)
                            (not (and (symbolp home) (system-symbol-p home))))))
                    ((member (first name) '(lambda sb-int:named-lambda)) t)
                    ((consp (rest name)) (visible-name-p (second name)))
                    (t nil))))
           (t (and (symbolp (first name)) (visible-symbol-p (first name))))))))

(implement named-lambda-form (name lambda-list body)
  `(sb-int:named-lambda ,name ,lambda-list ,@body))

(implement signalling-frame ()
  (or *top-frame*
      (let ((hint (sb-debug::resolve-stack-top-hint)))
        (if (sb-di:frame-p hint) hint nil))
      (sb-di:top-frame)))

(defun name-of-frame (frame)
  (sb-di:debug-fun-name (sb-di:frame-debug-fun frame)))

(defun evaluator-frame-p (name name-below)
  "True if the frame called NAME is there only because its caller evaluates or expands a form."
  (and (member name-below '(sb-impl::%simple-eval sb-int:simple-eval-in-lexenv
                            sb-c::careful-expand-macro macroexpand macroexpand-1
                            sb-impl::%macroexpand sb-impl::%macroexpand-1))
       (or (equal name '(lambda ()))
           (member name '(macroexpand macroexpand-1 sb-impl::%macroexpand
                          sb-impl::%macroexpand-1)))))

(implement map-frames (function frame limit)
  (declare (type function function) (type fixnum limit))
  (let ((walked 0))
    (declare (type fixnum walked))
    (loop
      (when (null frame)
        (return (values walked t)))
      (when (>= walked limit)
        (return (values walked nil)))
      (let* ((name (name-of-frame frame))
             (below (sb-di:frame-down frame))
             (name-below (and below (name-of-frame below))))
        (incf walked)
        (when (or (eq name 'evaluate-form)
                  (eq name 'evaluate-form-by)
                  (and (eq name 'eval) (eq name-below 'evaluate-form)))
          (return (values walked t)))
        (when (and (visible-name-p name) (not (evaluator-frame-p name name-below)))
          (funcall function frame name))
        (setf frame below)))))

(implement frame-call (frame)
  (multiple-value-bind (name arguments)
      (sb-debug::frame-call frame :method-frame-style :normal)
    (cond ((eq name 'sb-pcl::call-no-applicable-method)
           (destructuring-bind (function call) arguments
             (values (sb-mop:generic-function-name function) call)))
          ((atom name)
           (values name arguments))
          ((eq (first name) :method)
           (values (cons 'method (rest name)) arguments))
          ((and (eq (first name) 'macro-function) (consp arguments))
           ;; The environment says nothing.
           (values name (list (first arguments))))
          (t
           (values name arguments)))))

(implement frame-locals (frame)
  (let ((location (sb-di:frame-code-location frame))
        (variables '()))
    (handler-case
        (sb-di:do-debug-fun-vars (variable (sb-di:frame-debug-fun frame))
          (when (eq :valid (sb-di:debug-var-validity variable location))
            (push (cons (sb-di:debug-var-symbol variable)
                        (sb-di:debug-var-value variable frame))
                  variables)))
      (sb-di:debug-condition ()))
    (nreverse variables)))

(implement unbound-marker ()
  (sb-debug::make-unprintable-object "unavailable"))

;;; The line of a position in a file. SBCL keeps positions in octets, so lines are counted in octets;
;;; of each file it is remembered how many lines there are before each of its blocks.

(defconstant +source-block+ 16384)
(defconstant +source-limit+ (* 16 1024 1024))
(defconstant +source-files-kept+ 8)
(defconstant +places-kept+ 50)
(defconstant +comment-limit+ (* 8 +source-block+)
  "So many octets of blanks and comments are passed over to find where a form begins.")

(defstruct (source-file (:copier nil) (:predicate nil))
  "What was found out about a file: LINES counts the newlines before each block, as far as read;
PLACES are the last positions asked for with their lines."
  (namestring "" :type string)
  (native "" :type string)
  (size 0 :type fixnum)
  (written 0 :type integer)
  (lines (make-array 8 :adjustable t :fill-pointer 0))
  (places '() :type list))

(declaim (type octets *source-block*))
(sb-ext:defglobal *source-block*
    (make-array +source-block+ :element-type '(unsigned-byte 8) :initial-element 0))
(sb-ext:defglobal *source-files* '())

(defun renew-source-file (file)
  "Forget what is known of FILE if it has changed. Returns true if it is a file that can be read."
  (multiple-value-bind (ok device inode mode links user group real-device size access written)
      (sb-unix:unix-stat (source-file-native file))
    (declare (ignore device inode links user group real-device access))
    (let ((readable (and ok (= #o100000 (logand mode #o170000)) (<= size +source-limit+))))
      (unless (and readable
                   (= size (source-file-size file)) (= written (source-file-written file)))
        (setf (fill-pointer (source-file-lines file)) 0
              (source-file-places file) '()
              (source-file-size file) (if readable size 0)
              (source-file-written file) (if readable written 0)))
      readable)))

(defun source-file (namestring)
  "Return what is known of the file NAMESTRING."
  (let ((file (find namestring *source-files* :key #'source-file-namestring :test #'string=)))
    (cond ((null file)
           (setf file (make-source-file
                       :namestring namestring
                       :native (sb-ext:native-namestring
                                (translate-logical-pathname (parse-namestring namestring)))))
           (when (nthcdr (1- +source-files-kept+) *source-files*)
             (setf *source-files* (butlast *source-files*))))
          (t
           (setf *source-files* (delete file *source-files*))))
    (push file *source-files*)
    file))

(defun read-source-block (descriptor number)
  "Read block NUMBER into *SOURCE-BLOCK*. Returns how many octets of it there are."
  (let ((block *source-block*))
    (sb-sys:with-pinned-objects (block)
      (max 0 (c-call "pread" sb-alien:long
                     sb-alien:int descriptor
                     sb-sys:system-area-pointer (sb-sys:vector-sap block)
                     sb-alien:unsigned-long +source-block+
                     sb-alien:long (* number +source-block+))))))

(defun newlines-in-block (end)
  (declare (type (integer 0 #.+source-block+) end))
  (let ((block *source-block*)
        (count 0))
    (declare (type index count))
    (fast
      (loop for position of-type index below end
            when (= 10 (aref block position))
              do (incf count)))
    count))

(defun line-of-position (descriptor file position)
  "Return the line of the form that is read from POSITION on, after blanks and comments."
  (declare (type index position))
  (let* ((number (floor position +source-block+))
         (known (source-file-lines file))
         (count 0)
         (line 0)
         (at position)
         (next 0))
    (declare (type index number count line at next))
    (when (zerop (fill-pointer known))
      (vector-push-extend 0 known))
    (loop for before = (1- (fill-pointer known))
          while (< before number)
          do (setf count (read-source-block descriptor before))
             (vector-push-extend (+ (aref known before) (newlines-in-block count)) known))
    (setf count (read-source-block descriptor number)
          next (min count (mod position +source-block+))
          line (+ 1 (aref known number) (newlines-in-block next)))
    (flet ((look ()
             (when (and (= next count) (= count +source-block+))
               (setf count (read-source-block descriptor (incf number))
                     next 0))
             (if (< next count) (aref *source-block* next) nil))
           (advance ()
             (when (= 10 (aref *source-block* next))
               (incf line))
             (incf next)
             (incf at)))
      (loop for octet = (look)
            for start = line
            while (and octet (< (- at position) +comment-limit+))
            do (case octet
                 ((32 9 10 12 13) (advance))
                 (59 (loop for octet = (look)
                           while (and octet (/= octet 10))
                           do (advance)))
                 (35 (advance)
                  (unless (eql 124 (look))
                    (return start))
                  (let ((depth 1)
                        (before 0))
                    (advance)
                    (loop for octet = (look)
                          while (and octet (plusp depth))
                          do (cond ((and (= octet 35) (= before 124))
                                    (decf depth)
                                    (setf octet 0))
                                   ((and (= octet 124) (= before 35))
                                    (incf depth)
                                    (setf octet 0)))
                             (setf before octet)
                             (advance))))
                 (t (return start)))
            finally (return line)))))

(defun find-line (file position)
  (let ((descriptor (c-call "open" sb-alien:int sb-alien:c-string (source-file-native file)
                            ;; O_NONBLOCK and O_CLOEXEC.
                            sb-alien:int #o2004000)))
    (unless (minusp descriptor)
      (unwind-protect (line-of-position descriptor file position)
        (c-call "close" sb-alien:int sb-alien:int descriptor)))))

(defun line-at (file position)
  (let ((places (source-file-places file)))
    (or (cdr (assoc position places))
        (let ((line (find-line file position)))
          (push (cons position line) places)
          (when (nthcdr +places-kept+ places)
            (setf places (butlast places)))
          (setf (source-file-places file) places)
          line))))

(defun source-text (namestring position created)
  "Return file:line, or the file alone where the line is not known."
  (if (not (main-thread-p))
      namestring
      (sb-sys:without-interrupts
        (let* ((file (source-file namestring))
               (line (and (renew-source-file file)
                          position
                          (<= position (source-file-size file))
                          (or (null created)
                              (<= (+ (source-file-written file) sb-impl::unix-to-universal-time)
                                  created))
                          (line-at file position))))
          (if line
              (concatenate 'string (source-file-native file) ":" (decimal line))
              (source-file-native file))))))

(defun decimal (number)
  (let ((*print-base* 10) (*print-radix* nil))
    (princ-to-string number)))

(defun debug-fun-source (debug-source compiled-debug-fun)
  (let ((namestring (sb-di:debug-source-namestring debug-source))
        (form (and compiled-debug-fun (sb-c::compiled-debug-fun-tlf-number compiled-debug-fun)))
        (positions (sb-c::debug-source-start-positions debug-source)))
    (if (and (stringp namestring) (not (eql 0 (search "SYS:" namestring))))
        (source-text namestring
                     (and form positions (< form (length positions)) (elt positions form))
                     (sb-c::debug-source-created debug-source))
        nil)))

(implement frame-source (frame)
  (let ((debug-fun (sb-di:frame-debug-fun frame)))
    (if (typep debug-fun 'sb-di::compiled-debug-fun)
        (ignore-errors
         (debug-fun-source (sb-di:code-location-debug-source (sb-di:frame-code-location frame))
                           (sb-di::compiled-debug-fun-compiler-debug-fun debug-fun)))
        nil)))

(implement call-in-fresh-context (function)
  (declare (type function function))
  (let ((sb-debug:*stack-top-hint* nil)
        (*top-frame* nil)
        (sb-kernel:*current-level-in-print* 0)
        (sb-impl::*circularity-hash-table* nil)
        (sb-impl::*circularity-counter* nil)
        (sb-ext:*suppress-print-errors* nil)
        (sb-kernel::*current-error-depth* 0)
        (sb-impl::*deadline* nil))
    (funcall function)))

(sb-ext:defglobal *lock* (sb-thread:make-mutex :name "agent"))

(implement call-locked (function)
  (declare (type function function))
  (sb-thread:with-recursive-lock (*lock*)
    (funcall function)))

(implement clock-readings ()
  ;; GET-INTERNAL-REAL-TIME ticks every few milliseconds only. 1 is CLOCK_MONOTONIC.
  (multiple-value-bind (seconds nanoseconds) (sb-unix::clock-gettime 1)
    (values (+ (* 1000000 seconds) (floor nanoseconds 1000))
            (get-internal-run-time)
            sb-ext:*gc-run-time*
            (sb-ext:get-bytes-consed))))

(implement processor-time ()
  ;; In a place that is written anyway: the stack for foreign data would be a page more to be copied after each copy.
  (let ((message *message*))
    (sb-sys:with-pinned-objects (message)
      (let ((time (sb-sys:sap+ (sb-sys:vector-sap message) +time+)))
        ;; 2 is CLOCK_PROCESS_CPUTIME_ID.
        (c-call "clock_gettime" sb-alien:int sb-alien:int 2 sb-sys:system-area-pointer time)
        (+ (* 1000000 (sb-sys:sap-ref-64 time 0))
           (floor (sb-sys:sap-ref-64 time 8) 1000))))))

(implement thread-name ()
  (let ((name (sb-thread:thread-name sb-thread:*current-thread*)))
    (if (stringp name) name "unnamed thread")))

(implement call-as-interrupted (function)
  (declare (type function function))
  (let ((*top-frame* (sb-di::find-interrupted-frame)))
    (funcall function)))

;;; SBCL prints many names with their package, whatever the current package is. The agent does not.

(defvar *plain-names* nil)

(defun print-name (stream symbol &optional colon at)
  "Take the place of PRINT-SYMBOL-WITH-PREFIX, which FORMAT calls."
  (declare (ignore colon at))
  (if *plain-names*
      (prin1 symbol stream)
      (let ((*package* #.(find-package "KEYWORD")))
        (prin1 symbol stream))))

(defun replace-name-printer ()
  (sb-ext:unlock-package "SB-EXT")
  (handler-bind ((warning #'muffle-warning))
    (setf (fdefinition 'sb-ext:print-symbol-with-prefix) #'print-name))
  (sb-ext:lock-package "SB-EXT"))

(implement call-printing-plainly (function)
  (declare (type function function))
  (let ((*plain-names* t)
        (sb-int:*print-condition-references* nil))
    (funcall function)))

(implement class-ancestors (class)
  (sb-mop:class-precedence-list class))

;;; Watching functions

(implement wrap-function (name tag wrapper)
  (sb-int:encapsulate name tag wrapper))

(implement unwrap-function (name tag)
  (sb-int:unencapsulate name tag))

(implement inlined-name-p (name)
  (and (member (sb-int:info :function :inlinep name) '(inline sb-ext:maybe-inline)) t))

(implement function-wrapped-p (name tag)
  (and (sb-int:encapsulated-p name tag) t))

(implement system-package-p (package)
  (let ((name (package-name package)))
    (and name (or (string= name "COMMON-LISP") (eql 0 (search "SB-" name))))))

(implement call-without-handlers (function)
  (declare (type function function))
  (let ((sb-kernel:*handler-clusters* sb-kernel::**initial-handler-clusters**))
    (funcall function)))

(implement quick-readings ()
  ;; 1 is CLOCK_MONOTONIC.
  (multiple-value-bind (seconds nanoseconds) (sb-unix::clock-gettime 1)
    (declare (type (unsigned-byte 30) seconds nanoseconds))
    (values (+ (* 1000000000 seconds) nanoseconds)
            (the (unsigned-byte 62) (sb-ext:get-bytes-consed)))))

;;; Memory

(implement collect-garbage ()
  (sb-ext:gc :full t))

(implement generation-readings ()
  (append (loop for generation from 0 below sb-vm:+pseudo-static-generation+
                for octets = (sb-ext:generation-bytes-allocated generation)
                when (plusp octets)
                  collect (list (format nil "generation ~d" generation) octets))
          (list (list "from the start"
                      (sb-ext:generation-bytes-allocated sb-vm:+pseudo-static-generation+)))))

;;; Objects are counted by their layout: to ask for their class might run code of the user's, and nothing
;;; else can run while the heap is walked.
(defmacro object-layout (object)
  (list (or (find-symbol "WRAPPER-OF" "SB-KERNEL") (find-symbol "LAYOUT-OF" "SB-KERNEL")) object))

(defmacro layout-classoid (layout)
  (list (or (find-symbol "WRAPPER-CLASSOID" "SB-KERNEL") (find-symbol "LAYOUT-CLASSOID" "SB-KERNEL"))
        layout))

(defun type-of-layout (layout)
  (let ((name (sb-kernel:classoid-name (layout-classoid layout))))
    (if (or (not (symbolp name)) (eq name 'sb-kernel::random-class)) nil name)))

(implement count-heap (image time-us)
  (let ((counts (make-hash-table :test #'eq))
        (types (make-hash-table :test #'eq))
        (end (+ (clock-readings) time-us))
        (seen 0)
        (complete t))
    (declare (type fixnum seen end))
    (sb-vm:map-allocated-objects
     (lambda (object widetag size)
       (declare (ignore widetag) (type fixnum size))
       (when (and (zerop (logand (incf seen) 4095)) (> (the fixnum (clock-readings)) end))
         (setf complete nil))
       (when (and complete
                  (or image (< (the fixnum (sb-kernel:generation-of object))
                               sb-vm:+pseudo-static-generation+)))
         (let* ((layout (object-layout object))
                (count (or (gethash layout counts)
                           (setf (gethash layout counts) (cons 0 0)))))
           (incf (the fixnum (car count)) size)
           (incf (the fixnum (cdr count))))))
     :dynamic)
    ;; A class that was defined anew has several layouts.
    (maphash (lambda (layout count)
               (let* ((name (type-of-layout layout))
                      (entry (or (gethash name types)
                                 (setf (gethash name types) (list name 0 0)))))
                 (incf (second entry) (car count))
                 (incf (third entry) (cdr count))))
             counts)
    (values (loop for entry being the hash-values of types
                  collect entry)
            complete)))

;;; Sampling is SB-SPROF's, but for its timer for real time: that is a thread, and a process with threads
;;; cannot be copied. A timer of the kernel sends the same signal; a copy does not inherit it.

(defconstant +timer-create+ #+x86-64 222 #-x86-64 107)
(defconstant +timer-settime+ #+x86-64 223 #-x86-64 110)
(defconstant +timer-delete+ #+x86-64 226 #-x86-64 111)
(defconstant +no-timer+ -1)

(sb-ext:defglobal *timer* +no-timer+)

(defun start-timer (interval-us)
  "Have the kernel send SIGPROF to this thread each INTERVAL-US microseconds."
  (let ((memory (make-array 128 :element-type '(unsigned-byte 8) :initial-element 0)))
    (sb-sys:with-pinned-objects (memory)
      (let* ((event (sb-sys:vector-sap memory))
             (id (sb-sys:sap+ event 64))
             (times (sb-sys:sap+ event 72)))
        ;; sigev_signo, sigev_notify: SIGEV_THREAD_ID, and the thread.
        (setf (sb-sys:sap-ref-32 event 8) sb-unix:sigprof
              (sb-sys:sap-ref-32 event 12) 4
              (sb-sys:sap-ref-32 event 16) (c-call "syscall" sb-alien:long
                                                   sb-alien:long +gettid+))
        ;; 1 is CLOCK_MONOTONIC.
        (when (minusp (c-call "syscall" sb-alien:long sb-alien:long +timer-create+
                              sb-alien:long 1 sb-sys:system-area-pointer event
                              sb-sys:system-area-pointer id))
          (error "The kernel has no timer for the profiler."))
        (setf *timer* (sb-sys:sap-ref-32 id 0))
        (multiple-value-bind (seconds microseconds) (floor interval-us 1000000)
          (loop for offset in '(0 16)
                do (setf (sb-sys:sap-ref-64 times offset) seconds
                         (sb-sys:sap-ref-64 times (+ offset 8)) (* 1000 microseconds))))
        (c-call "syscall" sb-alien:long sb-alien:long +timer-settime+
                sb-alien:long *timer* sb-alien:long 0
                sb-sys:system-area-pointer times sb-alien:unsigned-long 0)))))

(defun stop-timer ()
  (unless (= *timer* +no-timer+)
    ;; In a copy there is none of that id, which does no harm.
    (c-call "syscall" sb-alien:long sb-alien:long +timer-delete+
            sb-alien:long (shiftf *timer* +no-timer+))))

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
  (declare (type function function))
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
           (funcall function stack (eq thread (sb-thread:main-thread)))))
       samples))))

;;; Looking

(defvar *default-policy* sb-c::*policy*)

(implement call-with-default-policy (function)
  (declare (type function function))
  (let ((sb-c::*policy* *default-policy*))
    (funcall function)))

(implement call-encapsulated (wrappers function)
  (declare (type function function))
  (let ((done '()))
    (unwind-protect
         (progn
           (loop for (name . wrapper) in wrappers
                 do (when (and (fboundp name) (not (macro-function name)))
                      (sb-int:encapsulate name 'call-encapsulated wrapper)
                      (push name done)))
           (funcall function))
      (dolist (name done)
        (sb-int:unencapsulate name 'call-encapsulated)))))

(implement change-directory (directory)
  (sb-posix:chdir directory))

(implement heap-readings ()
  (values (sb-kernel:dynamic-usage) (sb-ext:dynamic-space-size)))

(implement function-lambda-list (function)
  (handler-case (sb-introspect:function-lambda-list function)
    (error () :unknown)))

(implement function-type (name)
  (sb-introspect:function-type name))

(implement variable-type (symbol)
  (sb-kernel:type-specifier (sb-int:info :variable :type symbol)))

(implement variable-kind (symbol)
  (let ((kind (sb-int:info :variable :kind symbol)))
    (case kind
      (:unknown nil)
      (:macro :symbol-macro)
      (:constant (if (keywordp symbol) nil :constant))
      (t kind))))

(implement type-definition (symbol)
  (when (and (eq :defined (sb-int:info :type :kind symbol))
             (not (find-class symbol nil)))
    (let ((arguments (ignore-errors (sb-introspect:deftype-lambda-list symbol))))
      (format nil "Arguments: ~:[()~;~:*~a~]" arguments))))

(implement direct-slot-names (class)
  (mapcar #'sb-mop:slot-definition-name (sb-mop:class-direct-slots class)))

(implement slot-names (object)
  (mapcar #'sb-mop:slot-definition-name (sb-mop:class-slots (class-of object))))

(implement closed-over-values (function)
  (if (sb-kernel:closurep function)
      (loop for value in (sb-kernel:%closure-values function)
            collect (if (and (sb-kernel:%other-pointer-p value)
                             (= sb-vm:value-cell-widetag (sb-kernel:%other-pointer-widetag value)))
                        (sb-kernel:value-cell-ref value)
                        value))
      '()))

(implement inner-objects (object)
  (typecase object
    (sb-ext:weak-pointer (list (cons "VALUE" (sb-ext:weak-pointer-value object))))
    (sb-kernel:fdefn (list (cons "NAME" (sb-kernel:fdefn-name object))
                           (cons "FUNCTION" (sb-kernel:fdefn-fun object))))
    (t '())))

(implement hash-table-weak (table)
  (sb-ext:hash-table-weakness table))

(implement direct-superclasses (class)
  (sb-mop:class-direct-superclasses class))

(implement direct-subclasses (class)
  (sb-mop:class-direct-subclasses class))

(implement direct-superclass-names (class)
  (remove nil (mapcar #'class-name (sb-mop:class-direct-superclasses class))))

(implement direct-subclass-names (class)
  (remove nil (mapcar #'class-name (sb-mop:class-direct-subclasses class))))

(implement methods-of-function (function)
  (sb-mop:generic-function-methods function))

(implement methods-on-class (class)
  (sb-mop:specializer-direct-methods class))

(implement method-parts (method)
  (let ((function (sb-mop:method-generic-function method)))
    (if (or (null function) (typep method 'sb-mop:standard-accessor-method))
        nil
        (let ((specializers (sb-mop:method-specializers method))
              (lambda-list (sb-mop:method-lambda-list method)))
          (values (sb-mop:generic-function-name function)
                  (method-qualifiers method)
                  (loop for parameter in lambda-list
                        for specializer = (pop specializers)
                        collect (cond ((null specializer) parameter)
                                      ((eq specializer (find-class t)) parameter)
                                      ((typep specializer 'class)
                                       (list parameter (class-name specializer)))
                                      (t
                                       (list parameter
                                             `(eql ,(sb-mop:eql-specializer-object
                                                     specializer)))))))))))

;;; The image

(defconstant +compression+ 1
  "The level of zstd. Higher ones take many times as long for a few percent.")

(defun revive-output (stream)
  "Give STREAM, of the image that was saved, a buffer: what it had was outside the heap."
  (setf (sb-impl::fd-stream-obuf stream) (sb-impl::get-buffer)
        (sb-impl::fd-stream-output-queue stream) nil))

(implement start-port ()
  (when *output*
    (revive-output *output*)
    (revive-output *error-output-stream*))
  (setf *kept-descriptors* '(-1 -1))
  (learn-assembler-routines)
  ;; F_SETFD, FD_CLOEXEC.
  (c-call "fcntl" sb-alien:int sb-alien:int +channel+ sb-alien:int 2 sb-alien:int 1))

(defun finalize-classes (class)
  "Do with CLASS and all below it what their first use does: every process that uses one would write to the image."
  (unless (sb-mop:class-finalized-p class)
    (sb-mop:finalize-inheritance class))
  (mapc #'finalize-classes (sb-mop:class-direct-subclasses class)))

(implement prepare-image ()
  (remove-finalizer-thread)
  (remove-debugger)
  (make-room-for-contexts)
  (replace-name-printer)
  (setf *keep-frames* #'frames-of-compiler-error)
  (setf *thread-debugger* #'debugger)
  (setf sb-ext:*invoke-debugger-hook* #'enter-agent
        *debugger* #'debugger)
  (setf sb-ext:*exit-timeout* 1)
  (note-library-packages)
  (separate-standard-functions)
  #+(and x86-64 linux)
  (look-up-in-copies)
  ;; What is in the image stays: a copy of ASDF among the sources would be compiled and loaded
  ;; before anything else, which takes seconds and breaks every session's first load.
  (asdf:register-immutable-system "asdf")
  (asdf:register-immutable-system "uiop")
  (search-also)
  (finalize-classes (find-class 'asdf:operation))
  (setf sb-ext:*evaluator-mode* :compile)
  ;; Variables can be looked at, and calls in tail position stay calls in tail position.
  (proclaim '(optimize (debug 2) (safety 1) (speed 1) (space 1) (compilation-speed 1)
              (sb-c::insert-debug-catch 0)))
  ;; LOAD, which is loading this, has bound the policy; what is saved is the global value.
  (setf (sb-ext:symbol-global-value 'sb-c::*policy*) sb-c::*policy*))

(defun close-output ()
  "Send descriptor 1 to /dev/null: the runtime says there how far the compression is."
  (let ((nowhere (c-call "open" sb-alien:int sb-alien:c-string "/dev/null" sb-alien:int 1)))
    (unless (minusp nowhere)
      (c-call "dup2" sb-alien:int sb-alien:int nowhere sb-alien:int 1))))

(implement save-image (path compressed)
  (declare (ignorable compressed))
  (when compressed
    (close-output))
  (drop-filling)
  (sb-ext:save-lisp-and-die path :toplevel #'main :executable nil
                                 #+sb-core-compression #+sb-core-compression
                                 :compression (if compressed +compression+ nil)))

;;; Copies

(implement special-variable-p (symbol)
  (eq :special (sb-int:info :variable :kind symbol)))

(implement walk-heap ()
  (sb-ext:gc))

;;;; The agent's port to SBCL: what holds where the image is a person's, and several sessions are at work in it. Nothing of
;;;; the image is replaced: what the agent needs is bound in its own threads.

(in-package #:cl-mcp-agent)

(implement holds-up-others-p ()
  ;; Compiling and defining classes needs it.
  (sb-thread:holding-mutex-p sb-kernel::**world-lock**))

;;; Encapsulations that are in the image while sessions are open. They do something in the agent's threads only.

(defun add-encapsulations ()
  (keep-frames-of-failing-functions)
  (let-methods-be-wrapped)
  (wrap-calls 'sb-ext:print-symbol-with-prefix
              (lambda (print &rest arguments)
                (if *is-agents-thread*
                    (apply #'print-name arguments)
                    (apply (the function print) arguments))))
  (wrap-calls 'sb-debug::%invoke-debugger
              (lambda (debug &rest arguments)
                ;; The code has put *INVOKE-DEBUGGER-HOOK* out of action, or the agent itself has failed there.
                (apply (the function (or *debugger* debug)) arguments)))
  (add-ownership))

(defun wrap-calls (name wrapper)
  "Have WRAPPER called with the function NAME and its arguments instead of it, if this release has it."
  (when (fboundp name)
    (sb-int:encapsulate name 'cl-mcp-agent wrapper)))

(defun unwrap-calls (name)
  (when (fboundp name)
    (sb-int:unencapsulate name 'cl-mcp-agent)))

(defun remove-encapsulations ()
  (mapc #'unwrap-calls '(sb-c::tail-annotate sb-c::debug-location-for sb-pcl::maybe-trace-method sb-ext:print-symbol-with-prefix
                         sb-debug::%invoke-debugger))
  (remove-ownership))

;;; The streams of a session

(define-output-stream counted-output ((:constructor make-counted-output (target)) (:copier nil) (:predicate nil))
    (:character #'count-character :string #'count-string :misc #'answer-for-target)
  target)

(defun count-character (stream character)
  (note-persons-output 1)
  (write-char character (counted-output-target stream)))

(defun count-string (stream string start end)
  (note-persons-output (- (or end (length string)) start))
  (write-string string (counted-output-target stream) :start start :end end))

(defun answer-for-target (stream operation argument)
  (declare (ignore argument))
  (let ((target (counted-output-target stream)))
    (case operation
      (#.(sb-impl::%stream-opcode :charpos) (sb-kernel:charpos target))
      (#.(sb-impl::%stream-opcode :element-type) 'character)
      (#.(sb-impl::%stream-opcode :element-mode) 'character)
      (#.(sb-impl::%stream-opcode :external-format) :default)
      ((#.(sb-impl::%stream-opcode :finish-output) #.(sb-impl::%stream-opcode :force-output)) (finish-output target)))))

(defun call-counting-persons-output (function)
  "Call FUNCTION so that what it prints to the image's own streams is counted, and goes there."
  (let ((sb-sys:*stdout* (make-counted-output (sb-ext:symbol-global-value 'sb-sys:*stdout*)))
        (sb-sys:*stderr* (make-counted-output (sb-ext:symbol-global-value 'sb-sys:*stderr*)))
        (sb-sys:*tty* (make-two-way-stream sb-sys:*stdin*
                                           (make-counted-output (sb-ext:symbol-global-value 'sb-sys:*tty*)))))
    (funcall function)))

(defun make-session-output (session number)
  (make-instance 'session-output :session session :number number))

(implement reset-columns ()
  (setf (printed-column *output*) 0
        (printed-column *error-output-stream*) 0))

;;; Threads

(defun policy-of-agent ()
  "Return the image's policy, with as much debugging information as entering errors needs."
  (with-compilation-unit (:policy '(optimize (debug 2)))
    sb-c::*policy*))

(defun call-as-agent (function)
  "Call FUNCTION with the agent's own values of SBCL's variables."
  (wrap-new-pools)
  (let ((*is-agents-thread* t)
        (sb-ext:*invoke-debugger-hook* nil)
        (sb-ext:*stepper-hook* #'note-step)
        (sb-ext:*evaluator-mode* :compile)
        (sb-c::*policy* (policy-of-agent)))
    (call-counting-persons-output function)))

(defun global-values ()
  "List the image's values of *OWN-VARIABLES*, as a new session has them."
  (list* (find-package "COMMON-LISP-USER")
         (copy-readtable (sb-ext:symbol-global-value '*readtable*))
         (mapcar #'sb-ext:symbol-global-value (cddr *own-variables*))))

(defun value-in-thread (symbol thread)
  "Return the value that SYMBOL is bound to in THREAD, or NIL."
  (handler-case (values (sb-thread:symbol-value-in-thread symbol thread nil))
    (error () nil)))

(defun learn-held-condition (thread)
  "Do nothing: VALUE-IN-THREAD sees what the debugger of THREAD has bound."
  (declare (ignore thread))
  nil)

(defun forget-held-condition (thread)
  (declare (ignore thread))
  nil)

(defun frame-of-debugger ()
  "Return the frame in this thread that has entered the debugger last."
  (loop for frame = (sb-di:top-frame) then (sb-di:frame-down frame)
        for down = (sb-di:frame-down frame)
        while down
        when (and (member (name-of-frame frame) '(invoke-debugger error cerror break))
                  (not (member (name-of-frame down) '(error cerror break))))
          return down
        finally (return (sb-di:top-frame))))

(defun number-in-debugger (frame)
  "Return the number of FRAME in the debugger of Swank's or Slynk's in which this thread stands, or NIL."
  ;; That debugger counts from a frame that it has noted; meanwhile more frames are above that.
  (let ((first (or (value-of "*SLDB-STACK-TOP*" "SWANK/SBCL") (value-of "*SLY-DB-STACK-TOP*" "SLYNK/SBCL"))))
    (and first
         (loop for above = frame then (sb-di:frame-up above)
               for number from 0
               while above
               when (sb-sys:sap= (sb-di::frame-pointer above) (sb-di::frame-pointer first))
                 return number))))

(defun send-at-once (stream)
  "Have the kernel send what is written to STREAM, of a socket, without waiting for the other end to confirm what came before."
  (when (typep stream 'sb-sys:fd-stream)
    (let ((on (make-array 1 :element-type '(unsigned-byte 32) :initial-element 1)))
      (sb-sys:with-pinned-objects (on)
        ;; IPPROTO_TCP, TCP_NODELAY.
        (c-call "setsockopt" sb-alien:int sb-alien:int (sb-sys:fd-stream-fd stream) sb-alien:int 6 sb-alien:int 1
                sb-sys:system-area-pointer (sb-sys:vector-sap on) sb-alien:unsigned-int 4)))))

;;;; The agent's port to SBCL: the signals of the server, and those of faults.

(in-package #:cl-mcp-agent)

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
  (dolist (name '(sb-kernel:internal-error sb-kernel::memory-fault-error))
    (let ((function (fdefinition name)))
      (replace-function name (lambda (context argument)
                               (with-room-for-contexts (funcall function context argument)))))))

;;; Where a signal may interrupt a function so that SBCL's debugger does not find it: in a routine of SBCL's in assembly,
;;; which has no frame (GENERIC-+), where a function has made the frame of one that it is about to call, before that one
;;; has put the return address into its frame, and where a function has left its frame and is about to return.

#+x86-64
(progn
  (defconstant +rbp-in-context+ 120)
  (defconstant +rsp-in-context+ 160)
  (defconstant +rip-in-context+ 168)
  (defconstant +pop-return-address+ #x08458f
    "POP [RBP+8], with which functions begin.")
  (defconstant +jump+ #xe9)
  (defconstant +return+ #xc3)
  (defconstant +set-frame+ #xe88b48
    "MOV RBP, REGISTER, without the bits that tell which register.")
  (defconstant +words-of-routine+ 4
    "The most that a routine pushes upon its return address.")

  (defun kind-of-code (address)
    "Return :FUNCTION or :ROUTINE if ADDRESS is in Lisp code, or NIL."
    (let ((code (ignore-errors (sb-di::code-header-from-pc (sb-sys:int-sap address)))))
      (cond ((null code) nil)
            ((typep (sb-kernel:%code-debug-info code) 'sb-c::compiled-debug-info) :function)
            (t :routine))))

  (defun octets-at (place size)
    "Return the SIZE bits, at most 32, at the address PLACE."
    (ldb (byte size 0) (sb-sys:sap-ref-32 (sb-sys:int-sap place) 0)))

  (defun caller-of-routine (stack frame)
    "Return the address in the function that called the routine without a frame that runs, or NIL."
    (loop for place from (sb-sys:sap-int stack) below (sb-sys:sap-int frame) by sb-vm:n-word-bytes
          repeat +words-of-routine+
          for word = (sb-sys:sap-ref-word (sb-sys:int-sap place) 0)
          when (and (eq :function (kind-of-code word))
                    ;; It has made a frame, and continues with a function.
                    (/= word (sb-sys:sap-ref-word frame 8)))
            return word))

  (defun caller-of-returning (address stack)
    "Return the address to which the instruction at ADDRESS returns, or NIL if it does not return to a function."
    (let ((caller (and (eq :function (kind-of-code address))
                       (= +return+ (octets-at address 8))
                       (sb-sys:sap-ref-word stack 0))))
      (and caller (eq :function (kind-of-code caller)) caller)))

  (defun frame-of-calling (address frame)
    "Return the frame of the function at ADDRESS if it has made FRAME for one that it is about to call, or FRAME."
    (flet ((sets-frame-p (end)
             (= +set-frame+ (logand #xf8fffe (octets-at (- end 3) 24)))))
      (if (and (eq :function (kind-of-code address))
               (or (sets-frame-p address)
                   ;; MOV EAX, ADDRESS (SBCL 2.2), MOV RAX, [R13-16] (2.5) or MOV RAX, [R12+OFFSET] (2.6) tells whom it calls.
                   (loop for (octet . length) in '((#xb8 . 5) (#x49 . 4) (#x49 . 5))
                           thereis (and (= octet (octets-at (- address length) 8))
                                        (sets-frame-p (- address length))))))
          (sb-sys:sap-ref-sap frame 0)
          frame)))

  (defun enters-function-p (address)
    "True if the instruction at ADDRESS is the first of a function, or jumps there, as the code of an fdefinition does."
    (if (= +jump+ (octets-at address 8))
        (let ((target (ldb (byte 64 0) (+ address 5 (sb-sys:signed-sap-ref-32 (sb-sys:int-sap address) 1)))))
          (and (eq :function (kind-of-code target))
               (= +pop-return-address+ (octets-at target 24))))
        (and (eq :function (kind-of-code address))
             (= +pop-return-address+ (octets-at address 24))))))

(defun call-where-function-is-found (context function)
  "Call FUNCTION while CONTEXT, of what a signal has interrupted, is that of the function that ran."
  #-x86-64 context
  #+x86-64
  (let* ((address (sb-sys:sap-ref-word context +rip-in-context+))
         (stack (sb-sys:sap-ref-sap context +rsp-in-context+))
         (frame (sb-sys:sap-ref-sap context +rbp-in-context+)))
    (when (enters-function-p address)
      (setf (sb-sys:sap-ref-word frame 8) (sb-sys:sap-ref-word stack 0)))
    (unwind-protect
         (progn
           (setf (sb-sys:sap-ref-word context +rip-in-context+)
                 (or (if (eq :routine (kind-of-code address))
                         (caller-of-routine stack frame)
                         (caller-of-returning address stack))
                     address)
                 (sb-sys:sap-ref-sap context +rbp-in-context+) (frame-of-calling address frame))
           (funcall function))
      (setf (sb-sys:sap-ref-word context +rip-in-context+) address
            (sb-sys:sap-ref-sap context +rbp-in-context+) frame)))
  #-x86-64
  (funcall function))

;;; Two signals come from the server: an interrupt, and a look-up. They are different ones because the kernel keeps
;;; one of each that waits: a look-up must not swallow an interrupt.

(sb-ext:defglobal *interrupt-handler* nil)
(sb-ext:defglobal *look-handler* nil)

(defun token-of-server (info)
  "Return the token that came with a signal of the server's, or NIL if the signal is none."
  ;; si_code is SI_QUEUE when sigqueue(3) was used; the value follows the sender's ids.
  (if (and info (= -1 (sb-sys:signed-sap-ref-32 info 8)))
      (sb-sys:signed-sap-ref-32 info 24)
      nil))

(defun serve-signal (context route token)
  "Call ROUTE with TOKEN, which came with a signal of the server's that has interrupted CONTEXT."
  (let ((sb-kernel:*current-internal-error-context* context))
    (call-where-function-is-found context (lambda () (with-room-for-contexts (funcall route token))))))

(defun handle-urgent-signal (signal info context)
  "Tell the server's interrupts from those of SBCL's threads, which use the same signal."
  (let ((token (token-of-server info)))
    (if token
        (serve-signal context #'route-interrupt token)
        (call-where-function-is-found
         context
         (lambda ()
           ;; SBCL would have the stack begin where the signal came; an error of what it runs is in frames above that.
           (let ((sb-debug:*stack-top-hint* nil))
             (call-signalled (lambda () (sb-unix::sigurg-handler signal info context)))))))))

(defun handle-look-signal (signal info context)
  (declare (ignore signal))
  (let ((token (token-of-server info)))
    (when token
      (serve-signal context #'route-look token))))

(declaim (inline installed-handler))
(defun installed-handler (signal)
  (sb-sys:sap-ref-lispobj (sb-sys:foreign-symbol-sap "lisp_sig_handlers" t)
                          (ash signal sb-vm:word-shift)))

(implement install-interrupt ()
  (sb-sys:enable-interrupt sb-unix:sigurg #'handle-urgent-signal)
  (sb-sys:enable-interrupt +look-signal+ #'handle-look-signal)
  (setf *interrupt-handler* (installed-handler sb-unix:sigurg)
        *look-handler* (installed-handler +look-signal+)))

(implement refresh-signal-handlers ()
  (unless (and (eq *interrupt-handler* (installed-handler sb-unix:sigurg))
               (eq *look-handler* (installed-handler +look-signal+)))
    (install-interrupt)))

;;;; The agent's port to SBCL: calls of the C library and of the kernel, and the process itself.
;;;; The port is tested with SBCL 2.2.9, 2.5.2 and 2.6.4 on Linux, x86-64 and arm64, with threads.
;;;; Only the files in its folder name symbols of SBCL's own packages.

(in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (unless (find-symbol "%DISPOSE-THREAD-STRUCTS" "SB-THREAD")
    (error "SBCL ~a is too old: it lacks SB-THREAD::%DISPOSE-THREAD-STRUCTS, which came with 2.2.8."
           (lisp-implementation-version)))
  (require :sb-posix)
  (require :sb-introspect)
  (require :sb-sprof)
  (require :asdf))

;;; Calls of the C library. The names are resolved when the core starts.

(defmacro c-call (name result &rest typed-arguments)
  "Call the C function NAME; TYPED-ARGUMENTS alternates types and values."
  `(sb-alien:alien-funcall
    (sb-alien:extern-alien ,name (function ,result
                                           ,@(loop for (type) on typed-arguments by #'cddr
                                                   collect type)))
    ,@(loop for (nil value) on typed-arguments by #'cddr
            collect value)))

(defmacro system-call (number &rest arguments)
  "Call the kernel: NUMBER is a list of that on x86-64 and elsewhere."
  `(c-call "syscall" sb-alien:long
           sb-alien:long #+x86-64 ,(first number) #-x86-64 ,(second number)
           ,@(loop for argument in arguments collect 'sb-alien:unsigned-long collect argument)))

(defconstant +interrupted-call+ sb-posix:eintr)
(defconstant +try-again+ sb-posix:eagain)
;;; What SB-POSIX does not name; the same on x86-64 and arm64.
(defconstant +close-on-exec+ #o2000000 "O_CLOEXEC")
(defconstant +duplicate-close-on-exec+ 1030 "F_DUPFD_CLOEXEC")
(defconstant +descriptor-close-on-exec+ 1 "FD_CLOEXEC")
(defconstant +memory-close-on-exec+ 1 "MFD_CLOEXEC")
(defconstant +received-close-on-exec+ #x40000000 "MSG_CMSG_CLOEXEC")
(defconstant +do-not-wait+ #x40 "MSG_DONTWAIT")
(defconstant +do-not-signal+ #x4000 "MSG_NOSIGNAL")
(defconstant +peek+ 2 "MSG_PEEK")
(defconstant +path-only+ #o10000000 "O_PATH")
(defconstant +set-parent-death-signal+ 1 "PR_SET_PDEATHSIG")
(defconstant +child-of-the-parent+ #x8000 "CLONE_PARENT")
(defconstant +monotonic-clock+ 1 "CLOCK_MONOTONIC")
(defconstant +process-clock+ 2 "CLOCK_PROCESS_CPUTIME_ID")
(defconstant +signal-a-thread+ 4 "SIGEV_THREAD_ID")
(defconstant +use-huge-pages+ 14 "MADV_HUGEPAGE")
(defconstant +working-directory+ -100 "AT_FDCWD")
(defconstant +basic-status+ #x7ff "STATX_BASIC_STATS")
(defconstant +channel+ 3)

(implement process-id ()
  (c-call "getpid" sb-alien:int))

(implement parent-process-id ()
  (c-call "getppid" sb-alien:int))

(implement end-process (code)
  (loop (c-call "_exit" sb-alien:void sb-alien:int code)))

(implement die-with-parent ()
  (c-call "prctl" sb-alien:int sb-alien:int +set-parent-death-signal+ sb-alien:unsigned-long sb-posix:sigkill))

(implement change-directory (directory)
  (sb-posix:chdir directory))

(implement foreign-libraries ()
  (mapcar #'sb-alien::shared-object-namestring sb-sys:*shared-objects*))

(implement close-descriptors (descriptors)
  (dolist (descriptor descriptors)
    (c-call "close" sb-alien:int sb-alien:int descriptor)))

;;; What the kernel writes into. Where SBCL finds changed objects by write-protecting pages, as on arm64 up to Debian 12's
;;; release, those of the saved image are protected. A write of the Lisp's lifts that, one of the kernel's fails with EFAULT.

#-x86-64
(progn
  (defconstant +smallest-page+ 4096)
  (defconstant +vector-header+ 16)

  (declaim (inline touch))
  (defun touch (vector)
    "Write to each page of VECTOR, which is pinned, what is there."
    (let ((end (- (sb-ext:primitive-object-size vector) +vector-header+))
          (octets (sb-sys:vector-sap vector)))
      (declare (type fixnum end))
      (flet ((touch-octet (place)
               (declare (type fixnum place))
               (setf (sb-sys:sap-ref-8 octets place) (sb-sys:sap-ref-8 octets place))))
        (loop for place of-type fixnum from 0 below end by +smallest-page+
              do (touch-octet place))
        (when (plusp end)
          (touch-octet (1- end)))))))

(defmacro with-writable-vectors ((&rest vectors) &body body)
  "Run BODY with the specialized VECTORS, which are variables, where the kernel can write into them."
  `(sb-sys:with-pinned-objects ,vectors
     #-x86-64 ,@(loop for vector in vectors collect `(touch ,vector))
     ,@body))

;;; What is passed to the kernel lies in one octet vector.

;;; The message header, the vector of buffers and the control data of recvmsg(2) lie in one octet
;;; vector, at these places; the layout is that of every 64-bit Linux.
(defconstant +header-buffers+ 16)
(defconstant +header-buffer-count+ 24)
(defconstant +header-control+ 32)
(defconstant +header-control-length+ 40)
(defconstant +buffers+ 64)
(defconstant +control+ 128)
(defconstant +control-length+ 256)
(defconstant +poll+ 512)
(defconstant +time+ 528)

(declaim (type octets *message*))
(sb-ext:defglobal *message*
    (make-array 640 :element-type '(unsigned-byte 8) :initial-element 0))

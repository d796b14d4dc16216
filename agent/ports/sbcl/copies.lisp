;;;; The agent's port to SBCL: copies of the process, and the descriptors they get.

(in-package #:cl-mcp-agent)

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

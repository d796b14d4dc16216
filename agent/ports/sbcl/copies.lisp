;;;; The agent's port to SBCL: copies of the process, and the descriptors they get.

(in-package #:cl-mcp-agent)

(defun thread-id-address ()
  "Return where the C library keeps the main thread's id, or 0.
In a copy it has to be changed: what the C library does not know it cannot signal, and INTERRUPT-THREAD of the main
thread would fail."
  (let* ((self (c-call "pthread_self" sb-alien:unsigned-long))
         (id (system-call (186 178)))) ; gettid
    ;; What comes before it has 720 octets on x86-64, 208 elsewhere.
    (or (loop for offset from #+x86-64 512 #-x86-64 192 below 1024 by 4
              when (= id (sb-sys:sap-ref-32 (sb-sys:int-sap self) offset))
                return (+ self offset))
        0)))

;;; A copy that never gets a request should write as little as possible: the kernel copies each page that it writes. So
;;; nothing is bound around its system calls, all of them go through one function of the C library, and no other function of
;;; the agent is called, because its cell would be on a page that is not mapped yet.

(declaim (inline wait-as-copy))
(defun wait-as-copy (channel octet)
  "In a copy: make CHANNEL descriptor 3 and wait there. There is room for one octet at the address OCTET."
  (declare (type (unsigned-byte 31) channel) (type sb-vm:word octet))
  (system-call (157 167) +set-parent-death-signal+ sb-posix:sigkill) ; prctl: as DIE-WITH-PARENT
  (system-call (292 24) channel +channel+ +close-on-exec+) ; dup3
  (system-call (3 57) channel)               ; close
  ;; recvfrom. Unlike poll(2) it writes nothing when the process is killed while it waits.
  (loop while (minusp (system-call (45 207) +channel+ octet 1 +peek+ 0 0))))

;;; Copies of the outputs; programs that the user starts do not get them (F_DUPFD_CLOEXEC).

(sb-ext:defglobal *kept-descriptors* '(-1 -1))

;;; Only the session keeps descriptors that are not files: a copy that held one would delay an end of file or block a port.

(sb-ext:defglobal *directory-entries* (make-array 4096 :element-type '(unsigned-byte 8)))
(defconstant +first-own-descriptor+ 4)

(defun open-descriptors ()
  "List the open descriptors of this process from 4 on, as many as fit into one reading of /proc/self/fd."
  (let ((directory (c-call "open" sb-alien:int sb-alien:c-string "/proc/self/fd"
                           sb-alien:int (logior sb-posix:o-directory +close-on-exec+)))
        (entries *directory-entries*)
        (numbers '()))
    (declare (type (simple-array (unsigned-byte 8) (*)) entries))
    (unless (minusp directory)
      (let ((end (with-writable-vectors (entries)
                   (system-call (217 61) directory (sb-sys:sap-int (sb-sys:vector-sap entries))
                                (length entries)))))
        ;; struct linux_dirent64: the length of the entry at 16, its name from 19 on.
        (loop with start = 0
              while (< start end)
              do (let ((number (loop for i from (+ start 19) below end
                                     for digit = (digit-char-p (code-char (aref entries i)))
                                     while digit
                                     for value = digit then (+ (* 10 value) digit)
                                     finally (return value))))
                   (when (and number (>= number +first-own-descriptor+) (/= number directory))
                     (push number numbers)))
                 (incf start (max 1 (+ (aref entries (+ start 16))
                                       (ash (aref entries (+ start 17)) 8))))))
      (c-call "close" sb-alien:int sb-alien:int directory))
    numbers))

(defun kind-of-descriptor (descriptor)
  "Return the bits of DESCRIPTOR's mode that tell the type of its file, 0 for an event queue or a timer; NIL if it is closed."
  (multiple-value-bind (ok device node mode) (sb-unix:unix-fstat descriptor)
    (declare (ignore device node))
    (and ok (logand mode sb-posix:s-ifmt))))

(defconstant +pipe+ sb-posix:s-ififo)
(defconstant +socket+ sb-posix:s-ifsock)
(defconstant +regular-file+ sb-posix:s-ifreg)

(implement passing-descriptors (except)
  (loop for descriptor in (open-descriptors)
        unless (or (member descriptor except)
                   (member descriptor *kept-descriptors*))
          when (member (kind-of-descriptor descriptor) (list 0 +pipe+ +socket+))
            collect descriptor))

;;; The original waits until its copy has closed what is severed; otherwise the next evaluation might find a port in use.
;;; They share a pipe that neither writes to. The original reads its end of file when the copy has closed it.

(defun open-gate ()
  "Return the ends of a new pipe, or negative numbers."
  (let ((ends (make-array 2 :element-type '(signed-byte 32))))
    (if (zerop (with-writable-vectors (ends)
                 (c-call "pipe2" sb-alien:int
                         sb-sys:system-area-pointer (sb-sys:vector-sap ends)
                         sb-alien:int +close-on-exec+)))
        (coerce ends 'list)
        '(-1 -1))))

(defun await-gate (read-end write-end)
  (close-descriptors (list write-end))
  (let ((octet *directory-entries*))
    (declare (type (simple-array (unsigned-byte 8) (*)) octet))
    (with-writable-vectors (octet)
      (loop while (and (minusp (c-call "read" sb-alien:long sb-alien:int read-end
                                       sb-sys:system-area-pointer (sb-sys:vector-sap octet)
                                       sb-alien:unsigned-long 1))
                       (= +interrupted-call+ (sb-alien:get-errno))))))
  (close-descriptors (list read-end)))

(defun written-p (descriptor)
  "True if DESCRIPTOR is a regular file that is open for writing."
  (and (eql +regular-file+ (kind-of-descriptor descriptor))
       (plusp (logand 3 (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int sb-posix:f-getfl)))))

(implement written-files ()
  (loop for descriptor in (open-descriptors)
        for name = (and (not (member descriptor *kept-descriptors*))
                        (written-p descriptor)
                        (ignore-errors (sb-unix:unix-readlink (format nil "/proc/self/fd/~d" descriptor))))
        when name
          collect name))

(defun output-files ()
  "List the streams to files that are open for writing."
  (let ((streams '()))
    (when (written-files)
      (sb-vm:map-allocated-objects
       (lambda (object type size)
         (declare (ignore type size))
         (when (and (typep object 'sb-sys:fd-stream)
                    (sb-impl::fd-stream-file object)
                    (open-stream-p object)
                    (output-stream-p object))
           (push object streams)))
       :all))
    streams))

(implement flush-output-files ()
  (dolist (stream (output-files))
    (ignore-errors (finish-output stream))))

(implement make-output-files-plain ()
  (dolist (stream (output-files))
    ;; CLOSE leaves a file alone to which it believes to have appended.
    (setf (sb-impl::fd-stream-original stream) (sb-impl::fd-stream-file stream)
          (sb-impl::fd-stream-delete-original stream) nil)))

(defun socket-text (descriptor)
  "Return what the socket DESCRIPTOR is bound to, or NIL."
  (let ((address *directory-entries*)
        (length (make-array 1 :element-type '(unsigned-byte 32) :initial-element 128)))
    (declare (type (simple-array (unsigned-byte 8) (*)) address))
    (fill address 0 :end 128)
    (when (zerop (with-writable-vectors (address length)
                   (c-call "getsockname" sb-alien:int sb-alien:int descriptor
                           sb-sys:system-area-pointer (sb-sys:vector-sap address)
                           sb-sys:system-area-pointer (sb-sys:vector-sap length))))
      (let ((port (+ (ash (aref address 2) 8) (aref address 3))))
        (case (aref address 0)
          (1 (let ((end (position 0 address :start 2 :end 110)))
               (and end (> end 2)
                    (map 'string #'code-char (subseq address 2 end)))))
          (2 (format nil "~d.~d.~d.~d:~d" (aref address 4) (aref address 5) (aref address 6)
                     (aref address 7) port))
          (10 (format nil "port ~d" port)))))))

(implement descriptor-text (descriptor)
  (let ((kind (kind-of-descriptor descriptor)))
    (cond ((eql kind +pipe+) (format nil "pipe (descriptor ~d)" descriptor))
          ((eql kind +socket+) (format nil "socket (descriptor ~d~@[, ~a~])" descriptor (socket-text descriptor)))
          (t (format nil "event queue or timer (descriptor ~d)" descriptor)))))

;;; A lock of flock, or of an open file description, stays until all processes that share the description have closed it. So a
;;; copy that waits opens a locked file anew, through the kernel's name for it. Other files stay shared, and with them the
;;; position: after a return to the copy's state, what was written since must not be overwritten.

(defconstant +path-octets+ 32)

(defun locked-p (descriptor)
  "True if DESCRIPTOR is of a regular file with such a lock. A lock of POSIX belongs to one process, and a copy has none."
  (and (eql +regular-file+ (kind-of-descriptor descriptor))
       (ignore-errors
        (with-open-file (lines (format nil "/proc/self/fdinfo/~d" descriptor) :external-format :latin-1)
          (loop for line = (read-line lines nil)
                while line
                  thereis (and (eql 0 (search "lock:" line))
                               (or (search " FLOCK " line) (search " OFDLCK " line))))))))

(defun files-to-reopen ()
  "Return the descriptors of locked files, and the names by which a copy opens them, each in +PATH-OCTETS+ octets."
  (let* ((files (remove-if-not #'locked-p (set-difference (open-descriptors) *kept-descriptors*)))
         (names (make-array (* +path-octets+ (length files)) :element-type '(unsigned-byte 8) :initial-element 0)))
    (loop for descriptor in files
          for start by +path-octets+
          do (replace names (map 'vector #'char-code (format nil "/proc/self/fd/~d" descriptor)) :start1 start))
    (values (coerce files '(simple-array (signed-byte 32) (*))) names)))

(declaim (inline reopen-file))
(defun reopen-file (descriptor name)
  "In a copy, which allocates nothing yet: open the file of DESCRIPTOR by the string at the address NAME, at the same position."
  (declare (type (unsigned-byte 32) descriptor) (type sb-vm:word name))
  (let* ((flags (system-call (72 25) descriptor sb-posix:f-getfl 0))
         (place (system-call (8 62) descriptor 0 1)) ; lseek
         (new (system-call (257 56) 0 name (logior (ldb (byte 32 0) flags) +close-on-exec+) 0)))
    (unless (minusp new)
      (system-call (8 62) (ldb (byte 32 0) new) (ldb (byte 63 0) place) 0)
      (system-call (292 24) (ldb (byte 32 0) new) descriptor ; dup3
                   (if (logtest 1 (system-call (72 25) descriptor sb-posix:f-getfd 0)) +close-on-exec+ 0))
      (system-call (3 57) (ldb (byte 32 0) new)))))

(implement clone-process (&optional channel severed apart)
  (multiple-value-bind (files names)
      (if apart
          (files-to-reopen)
          (values (make-array 0 :element-type '(signed-byte 32)) (make-array 0 :element-type '(unsigned-byte 8))))
    (clone channel (coerce severed '(simple-array (signed-byte 32) (*))) files names)))

(defun clone (channel severed files names)
  (declare (optimize speed (sb-c:alien-funcall-saves-fp-and-pc 0)))
  (let ((message *message*)
        (channel (or channel -1)))
    (declare (type (signed-byte 32) channel) (type (simple-array (signed-byte 32) (*)) severed files)
             (type (simple-array (unsigned-byte 8) (*)) names))
    (with-writable-vectors (message names)
      (let* ((octet (sb-sys:sap-int (sb-sys:sap+ (sb-sys:vector-sap message) +poll+)))
             (address (thread-id-address))
             (paths (sb-sys:sap-int (sb-sys:vector-sap names)))
             (ends (if (plusp (+ (length severed) (length files))) (open-gate) '(-1 -1)))
             (read-end (first ends))
             (write-end (second ends))
             (process (system-call (56 220) (logior +child-of-the-parent+ sb-posix:sigchld) 0 0 0 0))) ; clone
        (declare (type sb-vm:word octet address paths) (type (signed-byte 32) read-end write-end))
        (when (zerop process)
          (loop for descriptor across severed
                do (system-call (292 24) 0 (ldb (byte 32 0) descriptor) +close-on-exec+)) ; dup3
          (loop for descriptor across files
                for name of-type sb-vm:word from paths by +path-octets+
                do (reopen-file (ldb (byte 32 0) descriptor) name))
          (unless (minusp read-end)
            (system-call (3 57) (ldb (byte 32 0) read-end)) ; close
            (system-call (3 57) (ldb (byte 32 0) write-end)))
          (unless (minusp channel)
            (wait-as-copy channel octet))
          ;; set_tid_address, which returns the id. The kernel could do both in fork, but a copy that never gets a
          ;; request needs neither.
          (unless (zerop address)
            (setf (sb-sys:signed-sap-ref-32 (sb-sys:int-sap address) 0)
                  (system-call (218 96) address))))
        (unless (or (zerop process) (minusp read-end))
          (await-gate read-end write-end))
        (if (minusp process) nil process)))))

(implement adopt-descriptors (descriptors)
  (loop for descriptor in descriptors
        for target in '(3 1 2)
        ;; O_CLOEXEC on the channel: programs that the user starts must not inherit it.
        do (c-call "dup3" sb-alien:int sb-alien:int descriptor sb-alien:int target
                   sb-alien:int (if (= target 3) +close-on-exec+ 0)))
  (close-descriptors descriptors))

(implement sever-descriptors (descriptors)
  (dolist (descriptor descriptors)
    ;; O_CLOEXEC, except for the outputs.
    (c-call "dup3" sb-alien:int sb-alien:int 0 sb-alien:int descriptor
            sb-alien:int (if (< descriptor 3) 0 +close-on-exec+))))

(defconstant +first-kept-descriptor+ 200)

(defun keep-descriptor (descriptor)
  (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int +duplicate-close-on-exec+
          sb-alien:int +first-kept-descriptor+))

(implement keep-descriptors ()
  (dolist (descriptor *kept-descriptors*)
    (unless (minusp descriptor)
      (c-call "close" sb-alien:int sb-alien:int descriptor)))
  (setf *kept-descriptors* (list (keep-descriptor 1) (keep-descriptor 2))))

(implement restore-outputs ()
  (loop for kept in *kept-descriptors*
        for descriptor from 1
        do (c-call "dup2" sb-alien:int sb-alien:int kept sb-alien:int descriptor)))

(implement repair-descriptors ()
  (loop for kept in *kept-descriptors*
        for descriptor from 1
        when (minusp (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int sb-posix:f-getfd
                             sb-alien:int 0))
          do (c-call "dup2" sb-alien:int sb-alien:int kept sb-alien:int descriptor)))

;;;; The agent's port to SBCL: the process's memory as the kernel sees it, mappings and pages.

(in-package #:cl-mcp-agent)

(defconstant +page+ 4096)
(defconstant +huge-page+ (ash 1 21))
(defconstant +no-memory+ (1- (ash 1 64)))

(defstruct (mapping (:copier nil) (:predicate nil))
  "A mapping of the process from START to END: its PERMISSIONS as in /proc/self/maps, whether its file is the CORE of this
Lisp, and how many octets of it are RESIDENT."
  start end permissions core resident)

(defun mapping-writable (mapping)
  (string= "rwxp" (mapping-permissions mapping)))

(defun memory-map ()
  "List the mappings of the process."
  (with-open-file (stream "/proc/self/smaps" :if-does-not-exist nil :external-format :latin-1)
    (and stream
         (loop with core = (or (sb-ext:native-namestring sb-ext:*core-pathname*) "?")
               for line = (read-line stream nil)
               while line
               when (find (char line 0) "0123456789abcdef")
                 collect (parse-mapping line (read-resident stream) core)))))

(defun read-resident (stream)
  "Read on in /proc/self/smaps; return how many octets of the mapping are in memory."
  (loop for line = (read-line stream nil "Rss: 0")
        when (eql 0 (search "Rss:" line))
          return (* 1024 (parse-integer line :start 4 :junk-allowed t))))

(defun parse-mapping (line resident core)
  "Parse the first line of a mapping with RESIDENT octets in memory; CORE is the name of the core file."
  (let ((dash (position #\- line))
        (space (position #\space line)))
    (make-mapping :start (parse-integer line :end dash :radix 16)
                  :end (parse-integer line :start (1+ dash) :end space :radix 16)
                  :permissions (subseq line (1+ space) (+ space 5))
                  :core (and (search core line) t)
                  :resident resident)))

(declaim (inline advise))
(defun advise (start end advice)
  "Advise the kernel about the use of the memory from START to END."
  (declare (type (unsigned-byte 62) start end))
  (c-call "madvise" sb-alien:int sb-alien:unsigned-long start sb-alien:unsigned-long (- end start)
          sb-alien:int advice))

(defun map-memory (address length protection flags &optional (descriptor -1) (offset 0))
  "Map LENGTH octets, of a file if there is a DESCRIPTOR, at OFFSET; return the address, or +NO-MEMORY+."
  (c-call "mmap" sb-alien:unsigned-long sb-alien:unsigned-long address sb-alien:unsigned-long length
          sb-alien:int protection sb-alien:int flags sb-alien:int descriptor sb-alien:long offset))

(defun map-scratch (length)
  "Map LENGTH octets of empty memory from a huge page's border on; return the address, or nil."
  ;; PROT_READ, PROT_WRITE, PROT_EXEC; MAP_PRIVATE, MAP_ANONYMOUS.
  (let ((raw (map-memory 0 (+ length +huge-page+) 7 #x22)))
    (unless (= raw +no-memory+)
      (let* ((scratch (* +huge-page+ (ceiling raw +huge-page+)))
             (head (- scratch raw)))
        (flet ((unmap (address length)
                 (when (plusp length)
                   (c-call "munmap" sb-alien:int sb-alien:unsigned-long address
                           sb-alien:unsigned-long length))))
          (unmap raw head)
          (unmap (+ scratch length) (- +huge-page+ head)))
        scratch))))

;;; Memory is replaced by a copy of it at SCRATCH, including this code and its data, so nothing may write to it in
;;; between. One system call takes the old mapping away and moves the new one there.

(defmacro put-in-place (scratch length start)
  ;; MREMAP_MAYMOVE and MREMAP_FIXED.
  `(c-call "mremap" sb-alien:unsigned-long sb-alien:unsigned-long ,scratch sb-alien:unsigned-long ,length
           sb-alien:unsigned-long ,length sb-alien:int 3 sb-alien:unsigned-long ,start))

(defmacro copy-octets (to from length)
  `(c-call "memcpy" sb-alien:unsigned-long sb-alien:unsigned-long ,to sb-alien:unsigned-long ,from
           sb-alien:unsigned-long ,length))

(defun replace-memory (start length scratch)
  "Copy what is at START to SCRATCH and put SCRATCH in its place."
  (declare (optimize (speed 3) (safety 0)) (type (unsigned-byte 62) start length scratch))
  (sb-sys:without-interrupts
    (copy-octets scratch start length)
    (put-in-place scratch length start))
  nil)

(defconstant +page-flags-at-once+ 512)
(deftype page-flags () '(simple-array (unsigned-byte 64) (#.+page-flags-at-once+)))

(defun read-page-flags (descriptor start count flags)
  "Fill FLAGS with those of COUNT pages, at most 512, from the address START, as /proc/self/pagemap has them; false
if there are none."
  (= (* 8 count) (read-at descriptor flags (* 8 count) (* 8 (floor start +page+)))))

(defun read-at (descriptor vector length offset)
  "Read LENGTH octets at OFFSET of the file into VECTOR; return how many came, or -1."
  (sb-sys:with-pinned-objects (vector)
    (c-call "pread" sb-alien:long sb-alien:int descriptor
            sb-sys:system-area-pointer (sb-sys:vector-sap vector)
            sb-alien:unsigned-long length sb-alien:long offset)))

(defun call-with-file (name function)
  "Call FUNCTION with a descriptor for reading the file NAME, if there is one."
  ;; O_CLOEXEC.
  (let ((descriptor (c-call "open" sb-alien:int sb-alien:c-string name sb-alien:int #o2000000)))
    (unless (minusp descriptor)
      (funcall (the function function) descriptor)
      (close-descriptors (list descriptor)))))

(defmacro do-page-runs ((from to) (test start end descriptor) &body body)
  "Evaluate BODY for each run of pages, FROM one address TO the other, between START and END whose flags satisfy TEST.
DESCRIPTOR is of /proc/self/pagemap. Conses nothing: what is allocated where free pages are given back would be
in the way."
  (let ((flags (gensym)) (limit (gensym)) (base (gensym)) (count (gensym)) (first (gensym)) (last (gensym)) (number (gensym)))
    `(let ((,flags (make-array +page-flags-at-once+ :element-type '(unsigned-byte 64)))
           (,limit ,end))
       (declare (type page-flags ,flags) (dynamic-extent ,flags) (type index ,limit))
       (loop for ,base of-type index from ,start below ,limit by (* +page+ +page-flags-at-once+)
             do (let ((,count (min +page-flags-at-once+ (floor (- ,limit ,base) +page+)))
                      (,first 0))
                  (declare (type (integer 0 #.+page-flags-at-once+) ,count ,first))
                  (when (read-page-flags ,descriptor ,base ,count ,flags)
                    (loop while (< ,first ,count)
                          do (let ((,last (loop for ,number of-type index from ,first below ,count
                                                while (,test (aref ,flags ,number))
                                                finally (return ,number))))
                               (when (< ,first ,last)
                                 (let ((,from (+ ,base (* ,first +page+)))
                                       (,to (+ ,base (* ,last +page+))))
                                   ,@body))
                               (setf ,first (min ,count (1+ ,last)))))))))))

(declaim (inline own-page-p))
(defun own-page-p (flags)
  "True if the page is in memory (bit 63), not from a file (61), and not shared with another process (56)."
  (declare (type (unsigned-byte 64) flags))
  (and (logbitp 63 flags) (not (logbitp 61 flags)) (logbitp 56 flags)))

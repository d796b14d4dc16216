;;;; The agent's port to SBCL, continued: keeping copies of the process cheap.

(in-package #:cl-mcp-agent)

;;; A copy of the process costs what its page tables cost. Most pages of the image are never written,
;;; but a mapping of the core file has an entry for each, which fork copies one by one. In memory of
;;; its own, in huge pages, 2 MiB have one entry, and the kernel splits those that are written.

(defconstant +page+ 4096)
(defconstant +huge-page+ (ash 1 21))
(defconstant +gathered-at-once+ (* 32 +huge-page+))

(defstruct (mapping (:copier nil) (:predicate nil))
  "A mapping of the process: from START to END, PERMISSIONS as in /proc/self/maps, from OFFSET of its file;
its FILE with device and number, whether that is the CORE of this Lisp, and whether there is none and it is no STACK either; and how
many octets of it are RESIDENT."
  start end permissions offset file core plain resident)

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
  "Parse the first line of a mapping, of which so many octets are RESIDENT; CORE is the name of the core file."
  (let* ((dash (position #\- line))
         (space (position #\space line))
         (offset (+ space 6)))
    (make-mapping :start (parse-integer line :end dash :radix 16)
                  :end (parse-integer line :start (1+ dash) :end space :radix 16)
                  :permissions (subseq line (1+ space) (+ space 5))
                  :offset (parse-integer line :start offset :end (position #\space line :start offset) :radix 16)
                  :file (subseq line (position #\space line :start offset))
                  :core (and (search core line) t)
                  :plain (and (search " 00:00 0 " line) (not (search "[stack]" line)))
                  :resident resident)))

(defun heap-end ()
  "Return where the used part of the heap ends."
  (+ sb-vm:dynamic-space-start
     (* sb-vm:gencgc-page-bytes
        (sb-alien:extern-alien "next_free_page" sb-alien:long))))

(sb-ext:defglobal *image-end* 0
  "Where the image's part of the heap ends, at a huge page's border; what the session allocates lies behind.")

(defun image-ranges (heap-end)
  "List (START . END) of what is worth it, in whole huge pages: the heap up to HEAP-END, writable mappings of
the core file, and where that was compressed the spaces it was read into."
  (let ((ranges (list (cons (* +huge-page+ (ceiling sb-vm:dynamic-space-start +huge-page+))
                            (* +huge-page+ (ceiling heap-end +huge-page+))))))
    (loop for (this next) on (memory-map)
          do (let ((start (mapping-start this))
                   (end (mapping-end this)))
               ;; The other spaces of SBCL lie below the heap; parts of them are not used yet.
               (when (and (mapping-writable this)
                          (< start sb-vm:dynamic-space-start)
                          (> (- end start) (* 2 +huge-page+))
                          (or (mapping-core this)
                              (> (mapping-resident this) (* 3/4 (- end start)))))
                 (let ((from (* +huge-page+ (ceiling start +huge-page+)))
                       (to (* +huge-page+ (ceiling end +huge-page+))))
                   ;; What follows is the free part of the same space, so rounding up stays inside it.
                   (unless (and next (= (mapping-start next) end) (mapping-writable next)
                                (>= (mapping-end next) to))
                     (decf to +huge-page+))
                   (when (< from to)
                     (push (cons from to) ranges))))))
    ranges))

(defun replace-memory (start length scratch mapping)
  "Copy what is at START to SCRATCH and put MAPPING, which shows what is there, in its place; nothing may write to it
between."
  (declare (optimize (speed 3) (safety 0))
           (type (unsigned-byte 62) start length scratch mapping))
  (sb-sys:without-interrupts
    (sb-alien:alien-funcall
     (sb-alien:extern-alien "memcpy" (function sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:unsigned-long sb-alien:unsigned-long))
     scratch start length)
    ;; MREMAP_MAYMOVE and MREMAP_FIXED: one system call takes the old mapping away and moves the new
    ;; one there, this code included.
    (sb-alien:alien-funcall
     (sb-alien:extern-alien "mremap" (function sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:int sb-alien:unsigned-long))
     mapping length length 3 start))
  nil)

(declaim (inline advise))
(defun advise (start end advice)
  "Tell the kernel what is going to happen to the memory from START to END."
  (declare (type (unsigned-byte 62) start end))
  (c-call "madvise" sb-alien:int sb-alien:unsigned-long start sb-alien:unsigned-long (- end start)
          sb-alien:int advice))

(defun map-memory (address length protection flags descriptor)
  "Map LENGTH octets of the file, or of empty memory; return the address, or nil."
  (let ((mapped (c-call "mmap" sb-alien:unsigned-long
                        sb-alien:unsigned-long address sb-alien:unsigned-long length
                        sb-alien:int protection sb-alien:int flags sb-alien:int descriptor sb-alien:long 0)))
    (if (= mapped (1- (ash 1 64)))
        nil
        mapped)))

(defun unmap-memory (address length)
  (when (plusp length)
    (c-call "munmap" sb-alien:int sb-alien:unsigned-long address sb-alien:unsigned-long length)))

(defun map-scratch (length)
  "Map LENGTH octets of empty memory from a huge page's border on; return the address, or nil."
  ;; PROT_READ, PROT_WRITE, PROT_EXEC; MAP_PRIVATE, MAP_ANONYMOUS.
  (let ((raw (map-memory 0 (+ length +huge-page+) 7 #x22 -1)))
    (when raw
      (let* ((scratch (* +huge-page+ (ceiling raw +huge-page+)))
             (head (- scratch raw)))
        (unmap-memory raw head)
        (unmap-memory (+ scratch length) (- +huge-page+ head))
        scratch))))

(defun use-huge-pages-of-file (start end)
  "Have all of a file's empty memory from START to END be in huge pages; false if the kernel has none for files."
  ;; The kernel puts pages together and makes those that are missing, but not all of them.
  (loop for page from start below end by +huge-page+
        do (setf (sb-sys:sap-ref-8 (sb-sys:int-sap page) 0) 0))
  ;; MADV_COLLAPSE.
  (zerop (advise start end 25)))

(defun largest-file ()
  "Return how many octets a file may get; one that gets more is a signal that ends the process."
  (let ((limits (make-array 2 :element-type '(unsigned-byte 64) :initial-element 0)))
    (sb-sys:with-pinned-objects (limits)
      ;; RLIMIT_FSIZE.
      (c-call "getrlimit" sb-alien:int sb-alien:int 1 sb-sys:system-area-pointer (sb-sys:vector-sap limits)))
    (aref limits 0)))

(defun note-file-of-heap (end)
  "Tell the collector that the heap up to END is a file's, so that pages that get free there are filled with zeros: giving them
back to the kernel would bring back what the file has. False if this SBCL does not know of such."
  (when (sb-sys:find-foreign-symbol-address "anon_dynamic_space_start")
    (setf (sb-alien:extern-alien "anon_dynamic_space_start" sb-alien:unsigned-long)
          (max end (sb-alien:extern-alien "anon_dynamic_space_start" sb-alien:unsigned-long)))))

(defun gather-in-file (start end)
  "Put what is between START and END into huge pages of a file that only this mapping knows: what nobody has written of a
file costs a copy nothing at all. False if there are no such pages for files."
  (let* ((length (- end start))
         (descriptor (if (and (<= length (largest-file))
                              (or (< end sb-vm:dynamic-space-start)
                                  (note-file-of-heap end)))
                         ;; MFD_CLOEXEC, MFD_ALLOW_SEALING.
                         (c-call "memfd_create" sb-alien:int sb-alien:c-string "lisp-image" sb-alien:unsigned 3)
                         -1))
         (scratch (and (not (minusp descriptor))
                       (zerop (c-call "ftruncate" sb-alien:int sb-alien:int descriptor sb-alien:long length))
                       (map-scratch length)))
         (mapping nil))
    (when scratch
      ;; MAP_SHARED, MAP_FIXED; MAP_PRIVATE.
      (when (and (map-memory scratch length 3 #x11 descriptor)
                 (use-huge-pages-of-file scratch (+ scratch length))
                 (setf mapping (map-memory 0 length 7 #x2 descriptor)))
        (replace-memory start length scratch mapping))
      (unmap-memory scratch length))
    (when mapping
      ;; F_ADD_SEALS: all sessions share it, so nobody may ever write to it, cut it short or make it longer.
      (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int 1033 sb-alien:int 15))
    (unless (minusp descriptor)
      (close-descriptors (list descriptor)))
    (and mapping t)))

(sb-ext:defglobal *file-ranges* '()
  "All mappings of files, the core's too, as (START . END).")

(sb-ext:defglobal *ranges-in-files* '()
  "What was gathered in files, as (START . END).")

(sb-ext:defglobal *ranges-in-memory* '()
  "What was gathered in memory that is no file's, as (START . END).")

(defun gather-in-memory (start end)
  "Put what is between START and END into huge pages; a kernel without them is none the worse for the copy."
  (let* ((length (- end start))
         (scratch (map-scratch length)))
    (when scratch
      ;; MADV_HUGEPAGE.
      (advise scratch (+ scratch length) 14)
      (replace-memory start length scratch scratch))))

(defun gather-range (start end)
  (if (gather-in-file start end)
      (push (cons start end) *ranges-in-files*)
      (progn
        (gather-in-memory start end)
        (push (cons start end) *ranges-in-memory*))))

;;; A huge page that holds something that every call writes is split by every copy, and then costs more than
;;; all others together. So what is written lies behind the image: whatever is free in the image's part of the
;;; heap is taken, for good, by vectors that the collector does not move.

(sb-ext:defglobal *filling* '()
  "What takes the place that is free in the image.")

(defconstant +least-large-object+ (* 4 sb-vm:gencgc-page-bytes)
  "Objects of this size have pages of their own, on which they stay.")

(defun heap-address (object)
  (logandc2 (sb-kernel:get-lisp-obj-address object) sb-vm:lowtag-mask))

(defun page-number (address)
  "Return the number of the heap's page that has the ADDRESS."
  (floor (- address sb-vm:dynamic-space-start) sb-vm:gencgc-page-bytes))

(declaim (inline page-state (setf page-state) free-page-p))
(defun page-state (number)
  "Return the flags of the heap's page NUMBER. Those of a free page say no more than whether it is to be filled with
zeros before it is used."
  (declare (type (unsigned-byte 40) number))
  (the (unsigned-byte 8) (sb-alien:slot (sb-alien:deref sb-vm::page-table number) 'sb-vm::flags)))

(defun (setf page-state) (state number)
  (declare (type (unsigned-byte 40) number) (type (unsigned-byte 8) state))
  (setf (sb-alien:slot (sb-alien:deref sb-vm::page-table number) 'sb-vm::flags) state))

(defun page-generation (number)
  (declare (type (unsigned-byte 40) number))
  (the (signed-byte 8) (sb-alien:slot (sb-alien:deref sb-vm::page-table number) 'sb-vm::gen)))

(defun free-page-p (number)
  (declare (type (unsigned-byte 40) number))
  (zerop (logand 15 (page-state number))))

(defun free-runs (start end)
  "List (FIRST . COUNT) of the free pages of the heap between the addresses START and END, in ascending order."
  (let ((runs '()))
    (loop for number from (page-number start) below (page-number end)
          do (when (free-page-p number)
               (if (and runs (= number (+ (car (first runs)) (cdr (first runs)))))
                   (incf (cdr (first runs)))
                   (push (cons number 1) runs))))
    (nreverse runs)))

(defun make-filling (pages)
  "Return a vector that fills so many pages of the heap."
  (make-array (- (* pages sb-vm:gencgc-page-bytes) (* 2 sb-vm:n-word-bytes))
              :element-type '(unsigned-byte 8)))

(defun drop-filling ()
  "An image that is saved is packed anew, and nothing in it is free."
  (setf *filling* '()))

(defun call-pinning (objects function)
  "Call FUNCTION while none of OBJECTS is moved."
  (if (endp objects)
      (funcall (the function function))
      (sb-sys:with-pinned-objects ((first objects))
        (call-pinning (rest objects) function))))

(defun fill-small-holes ()
  "Allocate until new objects lie behind the image; return the first object of each page that took."
  (let ((objects '())
        (page nil))
    (dolist (make (list (lambda () (make-filling 1))
                        (lambda () (make-array 2))
                        (lambda () (cons nil nil)))
                  objects)
      (loop for object = (funcall (the function make))
            do (unless (eql page (page-number (heap-address object)))
                 (setf page (page-number (heap-address object)))
                 (push object objects))
            until (>= (heap-address object) *image-end*)))))

(defun fill-image ()
  "Collect garbage, and have everything that is allocated from now on lie behind the image; return where that
ends but for what fills its last huge page."
  ;; What this process has allocated so far leaves a hole, and that is to be large enough for a large object.
  (push (make-filling 4) *filling*)
  (pop *filling*)
  (let ((end (heap-end)))
    (setf *image-end* (* +huge-page+ (ceiling (+ end +least-large-object+) +huge-page+)))
    (push (make-filling (floor (- *image-end* end) sb-vm:gencgc-page-bytes)) *filling*)
    (sb-ext:gc)
    (loop for (nil . count) in (free-runs sb-vm:dynamic-space-start *image-end*)
          when (>= (* count sb-vm:gencgc-page-bytes) +least-large-object+)
            do (push (make-filling count) *filling*))
    ;; What is pinned in collections is promoted where it is; what was beside it leaves other holes.
    (loop repeat 3
          do (let ((objects (fill-small-holes)))
               (push objects *filling*)
               (call-pinning objects (lambda ()
                                       (sb-ext:gc)
                                       (sb-ext:gc))))
          while (free-runs sb-vm:dynamic-space-start *image-end*))
    end))

;;; Looking up a symbol that a package inherits notes in the package which table had it. CL-USER lies in the
;;; image, so that reading any code wrote to it.

(sb-ext:defglobal *spare-package* (list nil)
  "The copy that looking up uses, while nobody does.")

(defun call-with-copy (function package)
  "Call FUNCTION with a copy of PACKAGE, the one of before made to look like it if nobody uses it: other threads
and interrupts look up symbols too."
  (declare (type function function) (type package package) (optimize speed))
  (let* ((cell *spare-package*)
         (spare (car cell))
         (copy (if (and spare (eq spare (sb-ext:compare-and-swap (car cell) spare nil)))
                   (the package spare)
                   (copy-structure package))))
    (setf (sb-impl::package-internal-symbols copy) (sb-impl::package-internal-symbols package)
          (sb-impl::package-external-symbols copy) (sb-impl::package-external-symbols package)
          (sb-impl::package-tables copy) (sb-impl::package-tables package)
          (sb-impl::package-mru-table-index copy) (sb-impl::package-mru-table-index package))
    (multiple-value-prog1 (funcall function copy)
      (setf (car cell) copy))))

(defun look-up-in-copies ()
  "Have symbols looked up in a copy of a package that lies in the image: it has the same tables, and its note
goes to where everything new goes."
  (sb-ext:unlock-package "SB-IMPL")
  (sb-int:encapsulate 'sb-impl::%find-symbol 'look-up-in-copies
                      (lambda (look-up name length package)
                        (declare (type function look-up) (optimize speed (safety 0)))
                        (if (< (the sb-ext:word (sb-kernel:get-lisp-obj-address package))
                               (the sb-ext:word *image-end*))
                            (flet ((look-up-there (copy)
                                     (funcall look-up name length copy)))
                              (declare (dynamic-extent #'look-up-there))
                              (call-with-copy #'look-up-there package))
                            (funcall look-up name length package))))
  (sb-ext:lock-package "SB-IMPL"))

;;; The table of the collector's cards is filled with zeros at the start, octet by octet, so that all of it
;;; is in memory. A page of it that still holds nothing else reads the same when the kernel has it back.

(defun empty-page-p (address)
  (declare (optimize (speed 3) (safety 0)) (type (unsigned-byte 62) address))
  (loop for at of-type (unsigned-byte 62) from address below (+ address +page+) by 8
        always (zerop (sb-sys:sap-ref-64 (sb-sys:int-sap at) 0))))

(defun give-back-empty-cards ()
  (when (and (sb-sys:find-foreign-symbol-address "gc_card_mark")
             (sb-sys:find-foreign-symbol-address "gc_card_table_mask"))
    (let* ((start (sb-alien:extern-alien "gc_card_mark" sb-alien:unsigned-long))
           (end (+ start 1 (sb-alien:extern-alien "gc_card_table_mask" sb-alien:int))))
      (loop for page from (* +page+ (ceiling start +page+)) to (- end +page+) by +page+
            when (empty-page-p page)
              ;; MADV_DONTNEED.
              do (advise page (+ page +page+) 4)))))

;;; A page of the core file that was read but not written costs an entry in each copy's table if its
;;; neighbours were written. It comes back from the kernel's cache when it is used again.

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

(declaim (inline present-page-p files-page-p unwritten-page-p written-page-p))

(defun present-page-p (flags)
  (declare (type (unsigned-byte 64) flags))
  (logbitp 63 flags))

(defun files-page-p (flags)
  "True if the page is in memory (bit 63) and still the file's (bit 61)."
  (declare (type (unsigned-byte 64) flags))
  (= 5 (ash flags -61)))

(defun written-page-p (flags)
  "True if the page is in memory and no longer the file's."
  (declare (type (unsigned-byte 64) flags))
  (= 4 (ash flags -61)))

(defun unwritten-page-p (flags)
  "True if the page is the file's, in memory or not: neither in memory nor swapped out as our own."
  (declare (type (unsigned-byte 64) flags))
  (or (zerop (ash flags -62)) (files-page-p flags)))

(defun give-back-file-pages ()
  (call-with-file "/proc/self/pagemap"
                  (lambda (descriptor)
                    (loop for (start . end) in *file-ranges*
                          do (do-page-runs (from to) (files-page-p start end descriptor)
                               ;; MADV_DONTNEED.
                               (advise from to 4))))))

(defun give-back-empty-pages-between (start end descriptor)
  "Give back those pages that hold zeros only: they read the same. Must not allocate, as it may come by the place where
the next object is going to be."
  (do-page-runs (from to) (present-page-p start end descriptor)
    (loop for page of-type index from from below to by +page+
          when (empty-page-p page)
            ;; MADV_DONTNEED.
            do (advise page (+ page +page+) 4))))

(defun give-back-empty-pages (mappings)
  "Give back what malloc, the runtime, and buffers of the agent's have of pages that were filled with zeros; MAPPINGS
are those of the process."
  (call-with-file "/proc/self/pagemap"
                  (lambda (descriptor)
                    (dolist (mapping mappings)
                      (when (and (mapping-plain mapping) (string= "rw-p" (mapping-permissions mapping)))
                        (give-back-empty-pages-between (mapping-start mapping) (mapping-end mapping) descriptor)))
                    (give-back-empty-pages-between *image-end* (heap-end) descriptor))))

;;; A private mapping of a file of which no page was ever written costs a copy nothing. The spaces that SBCL keeps
;;; from being written have a few written pages each; what lies between them is mapped anew.

(defconstant +least-renewed+ (* 8 +page+))

(defun renew-mapping (start end offset descriptor)
  "Map what is between START and END, which is at OFFSET of the core file, anew, unless it is something else."
  (let* ((length (- end start))
         (octets (make-array length :element-type '(unsigned-byte 8))))
    (when (and (= length (read-at descriptor octets length offset))
               (sb-sys:with-pinned-objects (octets)
                 (zerop (c-call "memcmp" sb-alien:int sb-alien:unsigned-long start
                                sb-sys:system-area-pointer (sb-sys:vector-sap octets)
                                sb-alien:unsigned-long length))))
      ;; PROT_READ and PROT_EXEC; MAP_PRIVATE, MAP_FIXED, and MAP_NORESERVE, which the mappings around it do not
      ;; have, so that the kernel does not make one of them all.
      (c-call "mmap" sb-alien:unsigned-long sb-alien:unsigned-long start sb-alien:unsigned-long length
              sb-alien:int 5 sb-alien:int #x4012 sb-alien:int descriptor sb-alien:long offset))))

(defun renew-mappings (mappings)
  "Map anew what nobody has written of those of MAPPINGS, all of the core file, that may not be written."
  (call-with-file
   (sb-ext:native-namestring sb-ext:*core-pathname*)
   (lambda (core)
     (call-with-file
      "/proc/self/pagemap"
      (lambda (flags)
        (dolist (mapping mappings)
          (when (string= "r-xp" (mapping-permissions mapping))
            (let ((start (mapping-start mapping)))
              (do-page-runs (from to) (unwritten-page-p start (mapping-end mapping) flags)
                (when (>= (- to from) +least-renewed+)
                  (renew-mapping from to (+ (mapping-offset mapping) (- from start)) core)))))))))))

;;; Linkers give what a library only reads a mapping on either side of its code, and what is written when it is loaded
;;; another before its data, so that none can be executed or written by mistake. Until 2018 they did not, and in a process
;;; that is there to execute what is written it helps nobody. Each mapping costs each copy something.

(defun join-mappings (mappings)
  "Make one mapping of those of MAPPINGS that follow one another in the same file and differ in their permissions only."
  (labels ((followed-p (this next)
             (and this next
                  (= (mapping-end this) (mapping-start next))
                  (= (+ (mapping-offset this) (- (mapping-end this) (mapping-start this))) (mapping-offset next))
                  (string= (mapping-file this) (mapping-file next))))
           (is (mapping permissions)
             (string= permissions (mapping-permissions mapping)))
           (permit (mapping protection)
             (c-call "mprotect" sb-alien:int sb-alien:unsigned-long (mapping-start mapping)
                     sb-alien:unsigned-long (- (mapping-end mapping) (mapping-start mapping))
                     sb-alien:int protection)))
    (loop for (before this next) on (cons nil (remove-if #'mapping-core mappings))
          when (and this (is this "r--p"))
            ;; PROT_READ and PROT_WRITE, or PROT_READ and PROT_EXEC.
            do (cond ((and (followed-p this next) (is next "rw-p"))
                      (permit this 3))
                     ((or (and (followed-p before this) (is before "r-xp"))
                          (and (followed-p this next) (is next "r-xp")))
                      (permit this 5))))))

;;; The kernel writes into each process where its C library asked to be told the processor (rseq), as soon as it runs and
;;; whenever it is moved: a page to be copied for each copy. Whoever wants to know asks the kernel then.

(defun leave-processor-unknown ()
  (when (and (sb-sys:find-foreign-symbol-address "__rseq_offset")
             (sb-sys:find-foreign-symbol-address "__rseq_size"))
    ;; RSEQ_FLAG_UNREGISTER; 32 octets, and the signature that the C library registers with.
    (system-call (334 293)
                 (+ (c-call "pthread_self" sb-alien:unsigned-long)
                    (sb-alien:extern-alien "__rseq_offset" sb-alien:long))
                 32 1 #x53053053)))

;;; What the session allocates later is in small pages again, and each of them costs something in each copy.
;;; So what it needs no longer goes back to the kernel soon: a collection of what is young takes a fraction of
;;; a millisecond. What lives on, and what is written of the image, is gathered too, but less often.

(defconstant +octets-until-collected+ (ash 1 18))
(defconstant +share-of-time-collecting+ 1/32)
(defconstant +octets-until-gathered+ (ash 1 23))
(defconstant +octets-in-small-pages+ (ash 1 22))
(defconstant +collapsed-at-once+ (* 8 +huge-page+))
(defconstant +microseconds-of-gathering+ 20000)

(sb-ext:defglobal *consed-when-collected* 0)
(sb-ext:defglobal *consed-when-gathered* 0)
(declaim (type unsigned-byte *consed-when-collected* *consed-when-gathered*))

(sb-ext:defglobal *epoch-when-collected* nil
  "What was the collector's epoch then: each collection makes a new one.")

(sb-ext:defglobal *next-collection* 0
  "The processor time before which none is worth it.")

(defconstant +octets-until-promoted+ (ash 1 20))
(defconstant +never-promoted+ (1- (ash 1 31)))

(sb-ext:defglobal *young-when-collected* 0
  "How much was young still after the last collection.")
(declaim (type unsigned-byte *young-when-collected*))

(defun heap-limit ()
  (+ sb-vm:dynamic-space-start (sb-ext:dynamic-space-size)))

(defun heap-end-in-huge-pages ()
  (min (heap-limit) (* +huge-page+ (ceiling (heap-end) +huge-page+))))

(defun use-huge-pages-from (address)
  "Have the kernel use huge pages for what of the heap from ADDRESS on is not in memory yet."
  (when (< address (heap-limit))
    ;; MADV_HUGEPAGE.
    (advise address (heap-limit) 14)))

(sb-ext:defglobal *to-be-gathered* '()
  "What is still to be put into huge pages, as (FUNCTION START END).")

(defun collapse-range (start end)
  "Have the kernel put what is between START and END into huge pages."
  ;; MADV_COLLAPSE, which kernels before 6.1 refuse. It gives up at the first page that is in the way.
  (unless (zerop (advise start end 25))
    (loop for page from start below end by +huge-page+
          do (advise page (+ page +huge-page+) 25))))

(defun in-pieces (function start end)
  "List what FUNCTION is to be called with for what is between START and END."
  (loop for from from start below end by +collapsed-at-once+
        collect (list function from (min end (+ from +collapsed-at-once+)))))

(defun written-huge-pages (start end)
  "List (START . END) of the runs of huge pages between START and END, which are a file's, in which something was written."
  (let ((runs '()))
    (call-with-file "/proc/self/pagemap"
                    (lambda (descriptor)
                      (do-page-runs (from to) (written-page-p start end descriptor)
                        (let ((first (- from (mod from +huge-page+))))
                          (cond ((null runs)
                                 (push (cons first (+ first +huge-page+)) runs))
                                ((< first (cdr (first runs)))
                                 nil)
                                ((= first (cdr (first runs)))
                                 (incf (cdr (first runs)) +huge-page+))
                                (t
                                 (push (cons first (+ first +huge-page+)) runs)))))))
    runs))

(defun give-back-free-pages ()
  "Give the kernel back what of the heap behind the image is not in use, and tell the collector that it holds
zeros: filling it would bring all of it back. The collector takes pages for free ones whatever they hold. Must
not allocate: what is free when it is looked at would not be when it is given back."
  (declare (optimize speed (safety 0)))
  (let ((number (page-number *image-end*))
        (end (sb-alien:extern-alien "next_free_page" (sb-alien:signed 64)))
        (start sb-vm:dynamic-space-start))
    (declare (type (unsigned-byte 40) number end) (type (unsigned-byte 60) start))
    (loop while (< number end)
          do (let ((first number))
               (declare (type (unsigned-byte 40) first))
               (loop while (and (< number end) (free-page-p number))
                     do (incf number))
               (if (= first number)
                   (incf number)
                   ;; MADV_DONTNEED.
                   (when (zerop (advise (+ start (the (unsigned-byte 60) (* first sb-vm:gencgc-page-bytes)))
                                        (+ start (the (unsigned-byte 60) (* number sb-vm:gencgc-page-bytes)))
                                        4))
                     (loop for page of-type (unsigned-byte 40) from first below number
                           do (setf (page-state page) 0))))))
    (when (zerop (advise (heap-end) (heap-limit) 4))
      ;; As far as it was used since the last time.
      (loop for page of-type (unsigned-byte 40) from end below (page-number (heap-limit))
            until (zerop (page-state page))
            do (setf (page-state page) 0)))))

(defun settled-huge-page-p (start)
  "True if all that lies in the huge page from START on has outlived collections, and there is no place for something new."
  (loop with first = (page-number start)
        for number from first below (+ first (floor +huge-page+ sb-vm:gencgc-page-bytes))
        always (and (not (free-page-p number))
                    (plusp (page-generation number)))))

(defun settled-huge-pages ()
  "List (START . END) of the huge pages of what the session has allocated to which nothing new is going to come."
  (loop for page from *image-end* below (* +huge-page+ (floor (heap-end) +huge-page+)) by +huge-page+
        when (settled-huge-page-p page)
          collect (cons page (+ page +huge-page+))))

(defun plan-to-gather (all)
  "Note in small ranges what of the image was written, and if ALL is true what the session has allocated, unless the
next objects are going to be there. Where the image is in a file, what was written of it costs each copy little, and comes
into a new file only with ALL."
  (flet ((to-be-gathered (function ranges)
           (loop for (from . to) in ranges
                 nconc (in-pieces function from to))))
    (when all
      (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+)))
    (setf *to-be-gathered*
          (nconc (to-be-gathered #'collapse-range *ranges-in-memory*)
                 (when all
                   (nconc (to-be-gathered #'collapse-range (settled-huge-pages))
                          (loop for (from . to) in *ranges-in-files*
                                nconc (to-be-gathered #'gather-in-file (written-huge-pages from to)))))))))

(defun gather-some ()
  "Gather what was noted until it has taken long enough; the rest waits for the next copy."
  (loop with deadline = (+ (clock-readings) +microseconds-of-gathering+)
        while (and *to-be-gathered* (< (clock-readings) deadline))
        do (destructuring-bind (function from to) (pop *to-be-gathered*)
             (funcall (the function function) from to))))

(defun note-collected ()
  (setf *consed-when-collected* (sb-ext:get-bytes-consed)
        *young-when-collected* (sb-ext:generation-bytes-allocated 0)
        *epoch-when-collected* sb-kernel::*gc-epoch*))

(defun collect-young ()
  "Collect what is young. What the stack refers to stays where it is, and with it whatever lies on the same page; once
that is promoted it is garbage that nobody collects. So nothing is promoted until there is much that lives on."
  (let ((collections (sb-ext:generation-number-of-gcs-before-promotion 0)))
    (when (< *young-when-collected* +octets-until-promoted+)
      (setf (sb-ext:generation-number-of-gcs-before-promotion 0) +never-promoted+))
    ;; GC would go on to run finalizers and hooks of the user's, which have no business here.
    (sb-kernel::sub-gc 0)
    (setf (sb-ext:generation-number-of-gcs-before-promotion 0) collections)))

(defun collect-again ()
  "Collect what is young, if much was allocated since; true if that was done, by us or by the session."
  (let ((start (nth-value 1 (clock-readings))))
    (when (or (not (eq *epoch-when-collected* sb-kernel::*gc-epoch*))
              (and (> (- (sb-ext:get-bytes-consed) *consed-when-collected*) +octets-until-collected+)
                   (>= start *next-collection*)))
      (when (eq *epoch-when-collected* sb-kernel::*gc-epoch*)
        (collect-young))
      (give-back-free-pages)
      ;; The collector has read them.
      (give-back-file-pages)
      (note-collected)
      (let ((end (nth-value 1 (clock-readings))))
        (setf *next-collection* (+ end (floor (- end start) +share-of-time-collecting+))))
      t)))

;;; Each page that is written after a copy is copied then. For somebody who pauses between two requests that is
;;; done in the pause, for the pages that both of the last two requests have written.

(defconstant +most-noted-pages+ 1024)
(defconstant +most-pages-copied+ 128)
(defconstant +window-of-allocation+ (ash 1 20))
(defconstant +largest-noted-mapping+ (ash 1 22))

(defun make-notes ()
  "Make what holds the addresses of pages, and how many there are as its first element."
  (make-array (1+ +most-noted-pages+) :element-type 'fixnum :initial-element 0))

(deftype notes () '(simple-array fixnum (#.(1+ +most-noted-pages+))))
(declaim (type notes *noted* *noted-before*))
(sb-ext:defglobal *noted* (make-notes)
  "The pages that the last request has written.")
(sb-ext:defglobal *noted-before* (make-notes)
  "Those that the one before it had, in the same order.")
(sb-ext:defglobal *written-ranges* '()
  "Where to look for them, besides where the next objects are going to be, as (START . END).")

(declaim (inline own-page-p))
(defun own-page-p (flags)
  "True if the page is in memory (bit 63), no file's (61), and no other process has it (56)."
  (declare (type (unsigned-byte 64) flags))
  (and (logbitp 63 flags) (not (logbitp 61 flags)) (logbitp 56 flags)))

(defun note-written-ranges (mappings)
  (setf *written-ranges*
        (loop for mapping in mappings
              for length = (- (mapping-end mapping) (mapping-start mapping))
              when (and (eql 0 (search "rw" (mapping-permissions mapping)))
                        (< length +largest-noted-mapping+)
                        (or (< (mapping-end mapping) sb-vm:dynamic-space-start)
                            (> (mapping-start mapping) (heap-limit))))
                collect (cons (mapping-start mapping) (mapping-end mapping)))))

(defun note-pages-between (start end descriptor)
  (let ((noted *noted*))
    (do-page-runs (from to) (own-page-p start end descriptor)
      (loop for page of-type index from from below to by +page+
            while (< (aref noted 0) +most-noted-pages+)
            do (setf (aref noted (incf (aref noted 0))) page)))))

#+(and x86-64 linux)
(implement note-written-pages (more)
  (unless more
    (rotatef *noted* *noted-before*)
    (setf (aref *noted* 0) 0))
  (call-with-file "/proc/self/pagemap"
                  (lambda (descriptor)
                    (loop for (start . end) in *written-ranges*
                          do (note-pages-between start end descriptor))
                    (let ((here (* +page+ (floor (heap-address (list 0)) +page+))))
                      (note-pages-between (max *image-end* (- here +window-of-allocation+))
                                          (min (heap-limit) (+ here +window-of-allocation+))
                                          descriptor)))))

#+(and x86-64 linux)
(implement copy-written-pages ()
  (let ((noted *noted*)
        (before *noted-before*)
        (at 1)
        (left +most-pages-copied+))
    (declare (type index at) (type fixnum left))
    (loop for index of-type index from 1 to (aref noted 0)
          while (plusp left)
          do (let* ((page (aref noted index))
                    (place (loop for place of-type index from at to (aref before 0)
                                 when (= page (aref before place))
                                   return place)))
               (declare (type index page))
               (when place
                 (setf at (1+ (the index place)))
                 (decf left)
                 ;; MADV_POPULATE_WRITE, which kernels before 5.14 refuse.
                 (advise page (+ page +page+) 23))))))

#+(and x86-64 linux)
(implement gather-memory ()
  (setf *message* (copy-seq *message*)
        *noted* (make-notes)
        *noted-before* (make-notes)
        *spare-package* (list nil))
  (setf *ranges-in-files* '()
        *ranges-in-memory* '())
  (loop for (start . end) in (image-ranges (fill-image))
        do (loop for from from start below end by +gathered-at-once+
                 do (gather-range from (min end (+ from +gathered-at-once+)))))
  ;; A session that allocates little stays small; what one allocates beyond that is in huge pages at once.
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+))
  (give-back-empty-cards)
  (leave-processor-unknown)
  ;; Read once: it takes 2 ms.
  (let* ((mappings (memory-map))
         (of-core (remove-if-not #'mapping-core mappings)))
    (setf *file-ranges* (append *ranges-in-files*
                                (loop for mapping in of-core
                                      collect (cons (mapping-start mapping) (mapping-end mapping)))))
    (note-written-ranges mappings)
    (join-mappings mappings)
    (renew-mappings of-core)
    ;; What is young, or was until now, would move with each collection, and what refers to it be written.
    (sb-kernel::sub-gc 1)
    (loop for (start . end) in *ranges-in-files*
          do (loop for (from . to) in (written-huge-pages start end)
                   do (gather-in-file from to)))
    (give-back-file-pages)
    (give-back-empty-pages mappings))
  ;; MADV_POPULATE_READ. What the zygote has, too, counts as shared, and not as what the first session needs.
  (loop for (start . end) in *ranges-in-files*
        do (advise start end 22))
  (give-back-free-pages)
  (note-collected)
  (setf *consed-when-gathered* *consed-when-collected*))

#+(and x86-64 linux)
(implement gather-again ()
  (when (collect-again)
    (let ((much (> (- *consed-when-collected* *consed-when-gathered*) +octets-until-gathered+)))
      (when much
        (setf *consed-when-gathered* *consed-when-collected*))
      (plan-to-gather much)))
  (gather-some))

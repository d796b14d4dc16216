;;;; The agent's port to SBCL, continued: keeping copies of the process cheap.

(in-package #:cl-mcp-agent)

;;; A copy of the process costs what its page tables cost. Most pages of the image are never written,
;;; but a mapping of the core file has an entry for each, which fork copies one by one. In memory of
;;; its own, in huge pages, 2 MiB have one entry, and the kernel splits those that are written.

(defconstant +page+ 4096)
(defconstant +huge-page+ (ash 1 21))
(defconstant +gathered-at-once+ (* 32 +huge-page+))

(defun memory-map ()
  "List the mappings of the process as PARSE-MAPPING does."
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
  "Parse the first line of a mapping into start, end, whether it is private and writable, whether it
maps the file CORE, and RESIDENT."
  (let ((dash (position #\- line))
        (space (position #\space line)))
    (list (parse-integer line :end dash :radix 16)
          (parse-integer line :start (1+ dash) :end space :radix 16)
          (string= "rwxp" line :start2 (1+ space) :end2 (+ space 5))
          (and (search core line) t)
          resident)))

(defun heap-end ()
  "Return where the used part of the heap ends."
  (+ sb-vm:dynamic-space-start
     (* sb-vm:gencgc-page-bytes
        (sb-alien:extern-alien "next_free_page" sb-alien:long))))

(defun image-ranges ()
  "List (START . END) of what is worth it, in whole huge pages: writable mappings of the core file, and
where that was compressed the spaces it was read into."
  (let ((ranges '()))
    (loop for (this next) on (memory-map)
          do (destructuring-bind (start end writable core resident) this
               (when (and writable (not core) (= start sb-vm:dynamic-space-start))
                 ;; What follows is the free part of the same mapping.
                 (setf next (list (heap-end) end t)
                       end (heap-end)))
               ;; The other spaces of SBCL lie below the heap; parts of them are not used yet.
               (when (and writable
                          (> (- end start) (* 2 +huge-page+))
                          (or core
                              (and (<= start sb-vm:dynamic-space-start)
                                   (> resident (* 3/4 (- end start))))))
                 (let ((from (* +huge-page+ (ceiling start +huge-page+)))
                       (to (* +huge-page+ (ceiling end +huge-page+))))
                   ;; What follows is the free part of the same space, so rounding up stays inside it.
                   (unless (and next (= (first next) end) (third next) (>= (second next) to))
                     (decf to +huge-page+))
                   (when (< from to)
                     (push (cons from to) ranges))))))
    ranges))

(defun replace-memory (start length scratch)
  "Copy what is at START to SCRATCH and put SCRATCH in its place; nothing may write to it between."
  (declare (optimize (speed 3) (safety 0))
           (type (unsigned-byte 62) start length scratch))
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
     scratch length length 3 start))
  nil)

(defun advise (start end advice)
  "Tell the kernel what is going to happen to the memory from START to END."
  (c-call "madvise" sb-alien:int sb-alien:unsigned-long start sb-alien:unsigned-long (- end start)
          sb-alien:int advice))

(defun gather-range (start end)
  (let* ((length (- end start))
         ;; PROT_READ, PROT_WRITE, PROT_EXEC; MAP_PRIVATE, MAP_ANONYMOUS.
         (raw (c-call "mmap" sb-alien:unsigned-long
                      sb-alien:unsigned-long 0
                      sb-alien:unsigned-long (+ length +huge-page+)
                      sb-alien:int 7 sb-alien:int #x22 sb-alien:int -1 sb-alien:long 0)))
    (unless (= raw (1- (ash 1 64)))
      (let* ((scratch (* +huge-page+ (ceiling raw +huge-page+)))
             (head (- scratch raw))
             (tail (- +huge-page+ head)))
        (flet ((unmap (address length)
                 (when (plusp length)
                   (c-call "munmap" sb-alien:int sb-alien:unsigned-long address
                           sb-alien:unsigned-long length))))
          (unmap raw head)
          (unmap (+ scratch length) tail)
          ;; MADV_HUGEPAGE; a kernel without huge pages is none the worse for the copy.
          (advise scratch (+ scratch length) 14)
          (replace-memory start length scratch))))))

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

(defun read-page-flags (stream start count)
  "Return the flags of COUNT pages from the address START, as /proc/self/pagemap has them."
  (let ((flags (make-array count :element-type '(unsigned-byte 64) :initial-element 0)))
    (file-position stream (floor start +page+))
    (read-sequence flags stream)
    flags))

(defun unwritten-page-p (flags)
  "True if the page is in memory (bit 63) and still the file's (bit 61)."
  (= 5 (ash flags -61)))

(defun give-back-file-pages ()
  (with-open-file (stream "/proc/self/pagemap" :element-type '(unsigned-byte 64)
                                               :if-does-not-exist nil)
    (when stream
      (loop for (start end nil core) in (memory-map)
            when core
              do (loop for flags across (read-page-flags stream start (floor (- end start) +page+))
                       for page from start by +page+
                       ;; MADV_DONTNEED.
                       when (unwritten-page-p flags)
                         do (advise page (+ page +page+) 4))))))

;;; What the session allocates later, and what it writes, is in small pages again. From time to time
;;; it is gathered too: after a collection, so that only what lives is.

(defconstant +octets-until-gathered+ (ash 1 23))
(defconstant +octets-in-small-pages+ (ash 1 22))
(defconstant +collapsed-at-once+ (* 8 +huge-page+))
(defconstant +microseconds-of-gathering+ 20000)

(sb-ext:defglobal *consed-when-gathered* 0)
(declaim (type unsigned-byte *consed-when-gathered*))

(sb-ext:defglobal *epoch-when-gathered* nil
  "What was the collector's epoch then: each collection makes a new one.")

(sb-ext:defglobal *gathered-ranges* '()
  "What the first gathering moved, as (START . END).")

(defun heap-limit ()
  (+ sb-vm:dynamic-space-start (sb-ext:dynamic-space-size)))

(defun heap-end-in-huge-pages ()
  (min (heap-limit) (* +huge-page+ (ceiling (heap-end) +huge-page+))))

(defun use-huge-pages-from (address)
  "Have the kernel use huge pages for what of the heap from ADDRESS on is not in memory yet."
  (when (< address (heap-limit))
    ;; MADV_HUGEPAGE.
    (advise address (heap-limit) 14)))

(sb-ext:defglobal *ranges-to-collapse* '()
  "What is still to be put into huge pages, as (START . END).")

(defun collapse-range (start end)
  "Have the kernel put what is between START and END into huge pages."
  ;; MADV_COLLAPSE, which kernels before 6.1 refuse. It gives up at the first page that is in the way.
  (unless (zerop (advise start end 25))
    (loop for page from start below end by +huge-page+
          do (advise page (+ page +huge-page+) 25))))

(defun plan-to-collapse ()
  "Give back what of the heap is not in use, and note what is, in small ranges."
  (let ((start (* +huge-page+ (ceiling sb-vm:dynamic-space-start +huge-page+)))
        (end (heap-end-in-huge-pages)))
    (use-huge-pages-from start)
    (when (< end (heap-limit))
      ;; MADV_DONTNEED. The collector takes pages for free ones whatever they hold.
      (advise end (heap-limit) 4))
    (setf *ranges-to-collapse*
          (loop for (from . to) in (cons (cons start end) *gathered-ranges*)
                nconc (loop for from from from below to by +collapsed-at-once+
                            collect (cons from (min to (+ from +collapsed-at-once+))))))))

(defun collapse-some ()
  "Collapse what was noted until it has taken long enough; the rest waits for the next copy."
  (loop with deadline = (+ (clock-readings) +microseconds-of-gathering+)
        while (and *ranges-to-collapse* (< (clock-readings) deadline))
        do (destructuring-bind (from . to) (pop *ranges-to-collapse*)
             (collapse-range from to))))

(defun note-gathered ()
  (setf *consed-when-gathered* (sb-ext:get-bytes-consed)
        *epoch-when-gathered* sb-kernel::*gc-epoch*))

#+(and x86-64 linux)
(implement gather-memory ()
  (sb-ext:gc)
  (setf *gathered-ranges* (image-ranges))
  (loop for (start . end) in *gathered-ranges*
        do (loop for from from start below end by +gathered-at-once+
                 do (gather-range from (min end (+ from +gathered-at-once+)))))
  ;; A session that allocates little stays small; what one allocates beyond that is in huge pages at once.
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+))
  (give-back-empty-cards)
  (give-back-file-pages)
  (note-gathered))

#+(and x86-64 linux)
(implement gather-again ()
  (let ((collected (not (eq *epoch-when-gathered* sb-kernel::*gc-epoch*)))
        (much (> (- (sb-ext:get-bytes-consed) *consed-when-gathered*) +octets-until-gathered+)))
    (when (or collected much)
      (unless collected
        ;; GC would go on to run finalizers and hooks of the user's, which have no business here.
        (sb-kernel::sub-gc 0))
      (plan-to-collapse)
      (note-gathered))
    (collapse-some)))


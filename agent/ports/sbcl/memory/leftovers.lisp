;;;; The agent's port to SBCL: pages and mappings that cost each copy of the process something and are good for nothing.

(in-package #:cl-mcp-agent)

;;; The table of the collector's cards is filled with zeros at the start, octet by octet, so that all of it
;;; is in memory. A page of it that still holds nothing else reads the same when the kernel has it back.

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

(sb-ext:defglobal *file-ranges* '()
  "The mappings of the core file as (START . END), as they were when the image was gathered.")

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

;;; Linkers give what a library only reads a mapping on either side of its code, and what is written when it is loaded
;;; another before its data, so that none can be executed or written by mistake. Until 2018 they did not, and in a process
;;; that is there to execute what is written it helps nobody. Each mapping costs each copy something.

(defun continued-p (this next)
  "True if the mapping NEXT goes on where THIS ends, in memory and in the same file."
  (and this next
       (= (mapping-end this) (mapping-start next))
       (= (+ (mapping-offset this) (- (mapping-end this) (mapping-start this))) (mapping-offset next))
       (string= (mapping-file this) (mapping-file next))))

(defun join-mappings (mappings)
  "Make one mapping of those of MAPPINGS that follow one another in the same file and differ in their permissions only."
  (labels ((is (mapping permissions)
             (string= permissions (mapping-permissions mapping)))
           (permit (mapping protection)
             (protect (mapping-start mapping) (mapping-end mapping) protection)))
    (loop for (before this next) on (cons nil (remove-if #'mapping-core mappings))
          when (and this (is this "r--p"))
            ;; PROT_READ and PROT_WRITE, or PROT_READ and PROT_EXEC.
            do (cond ((and (continued-p this next) (is next "rw-p"))
                      (permit this 3))
                     ((or (and (continued-p before this) (is before "r-xp"))
                          (and (continued-p this next) (is next "r-xp")))
                      (permit this 5))))))

;;; A library's data that are in its file and its data that start as zeros follow one another, as two mappings.

(defconstant +largest-data+ (ash 1 20))

(defun join-memory (start end)
  "Make one mapping without a file of what is between START and END, all of which may be read and written."
  ;; PROT_READ and PROT_WRITE; MAP_PRIVATE and MAP_ANONYMOUS.
  (let ((scratch (map-memory 0 (- end start) 3 #x22)))
    (unless (= scratch +no-memory+)
      (replace-where-different start (- end start) scratch))))

(defun join-data (mappings)
  "Make one mapping of those of MAPPINGS that hold the data of a file, relocations included, and of those that follow them.
They are as they were before JOIN-MAPPINGS."
  (loop for (before file plain) on (cons nil mappings)
        for start = (and file
                         (mapping-start (if (and (continued-p before file) (string= "r--p" (mapping-permissions before)))
                                            before
                                            file)))
        when (and plain
                  (= (mapping-end file) (mapping-start plain))
                  (not (mapping-core file)) (not (mapping-plain file)) (mapping-plain plain)
                  (string= "rw-p" (mapping-permissions file))
                  (string= "rw-p" (mapping-permissions plain))
                  (< (- (mapping-end plain) start) +largest-data+))
          do (join-memory start (mapping-end plain))))

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

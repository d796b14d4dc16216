;;;; The agent's port to SBCL: collecting garbage between calls, and occasionally compacting memory into huge pages.

(in-package #:cl-mcp-agent)

;;; The session allocates in small pages, and each of them makes every copy more expensive. So garbage goes back to the
;;; kernel soon: collecting the young generation takes a fraction of a millisecond. Objects that survive are compacted into
;;; huge pages, but less often. The image is not: it would get new memory, and each copy made before would keep the old.

(defconstant +octets-until-collected+ (ash 1 18))
(defconstant +share-of-time-collecting+ 1/32)
(defconstant +octets-until-compacted+ (ash 1 23))
(defconstant +octets-in-small-pages+ (ash 1 22))
(defconstant +collapsed-at-once+ (* 8 +huge-page+))
(defconstant +microseconds-of-compaction+ 20000)

(sb-ext:defglobal *consed-when-collected* 0)
(sb-ext:defglobal *consed-when-compacted* 0)
(declaim (type unsigned-byte *consed-when-collected* *consed-when-compacted*))

(sb-ext:defglobal *epoch-when-collected* nil
  "The collector's epoch after the last collection here. Each collection makes a new one.")

(sb-ext:defglobal *next-collection* 0
  "The CPU time before which a collection is not worthwhile.")

(defconstant +octets-until-promoted+ (ash 1 20))
(defconstant +never-promoted+ (1- (ash 1 31)))
(defconstant +old-octets-never-collected+ (ash 1 25))

(sb-ext:defglobal *written-by-requests* '()
  "The objects that every request writes, which stay where they are.")

(sb-ext:defglobal *young-when-collected* 0
  "How many octets were young after the last collection.")
(sb-ext:defglobal *old-when-collected* 0
  "How many octets the first promoted generation had when it was last collected.")
(declaim (type unsigned-byte *young-when-collected* *old-when-collected*))

(sb-ext:defglobal *written-by-collection* 0
  "How many pages of the image a collection writes even if no object moves that the image refers to: since SBCL 2.4.7 it marks
the weak vectors of the linkage space, for instance. The self-check measures it.")
(declaim (type fixnum *written-by-collection*))

(defun count-written-of-image ()
  "Count the pages of the image that were written since the last copy of the process was made."
  (let ((count 0))
    (declare (type index count))
    (call-with-file "/proc/self/pagemap"
                    (lambda (descriptor)
                      (loop for (start . end) in *image-ranges*
                            do (do-page-runs (from to) (own-page-p start end descriptor)
                                 (incf count (floor (- to from) +page+))))))
    count))

(defun use-huge-pages-from (address)
  "Have the kernel use huge pages for the part of the heap from ADDRESS on that is not in memory yet."
  (when (< address (heap-limit))
    ;; MADV_HUGEPAGE.
    (advise address (heap-limit) 14)))

(sb-ext:defglobal *ranges-to-compact* '()
  "The ranges that are still to be put into huge pages, as (START . END).")

(defun collapse-range (start end)
  "Have the kernel put the memory from START to END into huge pages."
  ;; MADV_COLLAPSE, which kernels before 6.1 refuse. It gives up at the first page that is in the way.
  (unless (zerop (advise start end 25))
    (loop for page from start below end by +huge-page+
          do (advise page (+ page +huge-page+) 25))))

(defun give-back-free-pages ()
  "Give the free pages of the session's part of the heap back to the kernel. The collector fills a page that was used before
with zeros when it takes it again, whatever it holds. Must not allocate: a page that is free when it is looked at would not
be when it is given back."
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
                   (advise (+ start (the (unsigned-byte 60) (* first sb-vm:gencgc-page-bytes)))
                           (+ start (the (unsigned-byte 60) (* number sb-vm:gencgc-page-bytes)))
                           4))))
    (advise (heap-end) (heap-limit) 4)))

(defun plan-compaction ()
  "Plan to compact, in small ranges, those parts of the session's heap in which nothing new will be allocated. Collapsing waits
for all processors (lru_add_drain_all), so it is done rarely."
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+))
  (setf *consed-when-compacted* *consed-when-collected*
        *ranges-to-compact*
        (loop for (start . end) in (settled-huge-pages)
              nconc (loop for from from start below end by +collapsed-at-once+
                          collect (cons from (min end (+ from +collapsed-at-once+)))))))

(defun compact-some ()
  "Compact the planned ranges until that has taken long enough; the rest waits for the next copy."
  (when *ranges-to-compact*
    (loop with deadline = (+ (clock-readings) +microseconds-of-compaction+)
          while (and *ranges-to-compact* (< (clock-readings) deadline))
          do (destructuring-bind (from . to) (pop *ranges-to-compact*)
               (collapse-range from to)))))

(defun note-collected ()
  (setf *consed-when-collected* (sb-ext:get-bytes-consed)
        *young-when-collected* (sb-ext:generation-bytes-allocated 0)
        *epoch-when-collected* sb-kernel::*gc-epoch*))

(defun collect-generation (generation &optional collections)
  "Collect GENERATION and promote younger objects to it. Promote its own objects if they have survived COLLECTIONS collections,
or the number that the Lisp is set to."
  (let ((before (sb-ext:generation-number-of-gcs-before-promotion generation)))
    (when collections
      (setf (sb-ext:generation-number-of-gcs-before-promotion generation) collections))
    ;; GC would also run the user's finalizers and hooks, which must not run here.
    (unwind-protect (sb-kernel::sub-gc generation)
      (setf (sb-ext:generation-number-of-gcs-before-promotion generation) before))))

(defun collect-young ()
  "Collect the young generation. Objects that the stack refers to are not moved, nor is anything on their pages; once promoted,
these pages are garbage that is hardly ever collected. So nothing is promoted until many octets survive, or the image refers to
young objects: each collection moves those and so writes the image."
  (if (>= *young-when-collected* +octets-until-promoted+)
      (collect-generation 0)
      (let ((written (count-written-of-image)))
        (collect-generation 0 +never-promoted+)
        (when (> (count-written-of-image) (+ written *written-by-collection*))
          (collect-generation 0 0)))))

(defun collect-old ()
  "Collect the promoted generation if it has grown by half and is not so large that the collection would be noticed. Each of these
collections moves it, and each copy made before keeps the old memory. The objects that every request writes stay where they are."
  (let ((octets (sb-ext:generation-bytes-allocated 1)))
    (when (< (* 3/2 *old-when-collected*) octets +old-octets-never-collected+)
      (call-pinning *written-by-requests* (lambda () (collect-generation 1 +never-promoted+)))
      (tidy-up)
      (setf *old-when-collected* (sb-ext:generation-bytes-allocated 1)))))

(defun tidy-up ()
  "Undo the effects of a collection that make copies of the process more expensive."
  (give-back-free-pages)
  (note-collected))

(defun collect-again ()
  "Collect young objects, if enough was allocated; true if that was done, by the agent or by the session."
  (let ((start (processor-time)))
    (when (or (not (eq *epoch-when-collected* sb-kernel::*gc-epoch*))
              (and (> (- (sb-ext:get-bytes-consed) *consed-when-collected*) +octets-until-collected+)
                   (>= start *next-collection*)))
      (when (eq *epoch-when-collected* sb-kernel::*gc-epoch*)
        (collect-young))
      (tidy-up)
      (let ((end (processor-time)))
        (setf *next-collection* (+ end (floor (- end start) +share-of-time-collecting+))))
      t)))

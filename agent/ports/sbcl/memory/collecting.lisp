;;;; The agent's port to SBCL: what the session allocates is collected and gathered between two calls.

(in-package #:cl-mcp-agent)

;;; What the session allocates later is in small pages again, and each of them costs something in each copy.
;;; So what it needs no longer goes back to the kernel soon: a collection of what is young takes a fraction of
;;; a millisecond. What lives on, and what is written of the image, is gathered too, but less often.

(defconstant +octets-until-collected+ (ash 1 18))
(defconstant +share-of-time-collecting+ 1/32)
(defconstant +octets-until-compacted+ (ash 1 23))
(defconstant +octets-until-repaired+ (ash 1 20))
(defconstant +copies-until-repaired+ 50)
(defconstant +octets-in-small-pages+ (ash 1 22))
(defconstant +collapsed-at-once+ (* 8 +huge-page+))
(defconstant +microseconds-of-compaction+ 20000)

(sb-ext:defglobal *consed-when-collected* 0)
(sb-ext:defglobal *consed-when-compacted* 0)
(declaim (type unsigned-byte *consed-when-collected* *consed-when-compacted*))

(sb-ext:defglobal *epoch-when-collected* nil
  "What was the collector's epoch then: each collection makes a new one.")

(sb-ext:defglobal *next-collection* 0
  "The processor time before which none is worth it.")

(defconstant +octets-until-promoted+ (ash 1 20))
(defconstant +never-promoted+ (1- (ash 1 31)))
(defconstant +old-octets-always-collected+ (ash 1 23))
(defconstant +old-octets-never-collected+ (ash 1 25))

(sb-ext:defglobal *written-by-requests* '()
  "The objects that every request writes, which stay where they are.")

(sb-ext:defglobal *young-when-collected* 0
  "How much was young still after the last collection.")
(sb-ext:defglobal *old-when-collected* 0
  "How much there was of the generation after that when it was collected last.")
(declaim (type unsigned-byte *young-when-collected* *old-when-collected*))

(sb-ext:defglobal *copies-since-written* nil
  "How many copies were made since the image was written, as far as collections have seen, or NIL if it was not since it was
gathered.")

(sb-ext:defglobal *written-by-collection* 0
  "How many pages of the image a collection writes even if nothing moves that the image refers to: since SBCL 2.4.7 it marks
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
  "Have the kernel use huge pages for what of the heap from ADDRESS on is not in memory yet."
  (when (< address (heap-limit))
    ;; MADV_HUGEPAGE.
    (advise address (heap-limit) 14)))

(sb-ext:defglobal *ranges-to-compact* '()
  "What is still to be put into huge pages, as (START . END).")

(defun collapse-range (start end)
  "Have the kernel put what is between START and END into huge pages."
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
  "Note in small ranges the image, of which something may have been written, and what the session has allocated, unless the next
objects are going to be there. Each time waits for all processors (lru_add_drain_all): rarely done, it holds up nobody."
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+))
  (setf *consed-when-compacted* *consed-when-collected*
        *copies-since-written* nil
        *ranges-to-compact*
        (loop for (start . end) in (append *image-ranges* (settled-huge-pages))
              nconc (loop for from from start below end by +collapsed-at-once+
                          collect (cons from (min end (+ from +collapsed-at-once+)))))))

(defun compact-some ()
  "Gather what was noted until it has taken long enough; the rest waits for the next copy."
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
  "Collect GENERATION, and what is younger is promoted to it; what is of it is promoted if it has outlived so many COLLECTIONS, or
as many as the Lisp was told."
  (let ((before (sb-ext:generation-number-of-gcs-before-promotion generation)))
    (when collections
      (setf (sb-ext:generation-number-of-gcs-before-promotion generation) collections))
    ;; GC would go on to run finalizers and hooks of the user's, which have no business here.
    (unwind-protect (sb-kernel::sub-gc generation)
      (setf (sb-ext:generation-number-of-gcs-before-promotion generation) before))))

(defun collect-young ()
  "Collect what is young. What the stack refers to stays where it is, and with it whatever lies on the same page; once
that is promoted it is garbage that nobody collects, some more each time. So nothing is promoted until there is much that
lives on, or the image refers to it: whatever moves with each collection has the image written each time."
  (if (>= *young-when-collected* +octets-until-promoted+)
      (progn
        (collect-generation 0)
        (setf *copies-since-written* 0))
      (let ((written (count-written-of-image)))
        (collect-generation 0 +never-promoted+)
        (let ((written-now (count-written-of-image)))
          (when (> written-now (+ written *written-by-collection*))
            (collect-generation 0 0))
          (when (> written-now *written-by-collection*)
            (setf *copies-since-written* 0))))))

(defun collect-old ()
  "Collect what was promoted if that is quickly done, or it is much more than the last time and not so much that somebody
would notice. What every request writes to stays where it is."
  (let ((octets (sb-ext:generation-bytes-allocated 1)))
    (when (or (< octets +old-octets-always-collected+)
              (< (* 3/2 *old-when-collected*) octets +old-octets-never-collected+))
      (call-pinning *written-by-requests* (lambda () (collect-generation 1 +never-promoted+)))
      (tidy-up)
      (setf *old-when-collected* (sb-ext:generation-bytes-allocated 1)))))

(defun tidy-up ()
  "Undo what a collection does that makes copies of the process more expensive."
  (give-back-free-pages)
  (note-collected))

(defun compaction-due-p (collected)
  "True if it is time to put memory into huge pages again: when much was allocated, or when the image was written, but not
recently. Compacting takes as long as ten copies of a split image, and longer where many sessions do it at once."
  (let ((consed (- (sb-ext:get-bytes-consed) *consed-when-compacted*)))
    (or (and collected (> consed +octets-until-compacted+))
        (and *copies-since-written*
             (>= *copies-since-written* +copies-until-repaired+)
             (> consed +octets-until-repaired+)))))

(defun collect-again ()
  "Collect what is young, if enough was allocated since; true if that was done, by us or by the session."
  (let ((start (processor-time)))
    (when (or (not (eq *epoch-when-collected* sb-kernel::*gc-epoch*))
              (and (> (- (sb-ext:get-bytes-consed) *consed-when-collected*) +octets-until-collected+)
                   (>= start *next-collection*)))
      (if (eq *epoch-when-collected* sb-kernel::*gc-epoch*)
          (collect-young)
          (setf *copies-since-written* 0))
      (tidy-up)
      (let ((end (processor-time)))
        (setf *next-collection* (+ end (floor (- end start) +share-of-time-collecting+))))
      t)))

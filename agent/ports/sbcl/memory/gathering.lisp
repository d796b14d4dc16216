;;;; The agent's port to SBCL: copies of the process are kept cheap.

(in-package #:cl-mcp-agent)

#+(and x86-64 linux)
(implement gather-memory (variables)
  (setf *noted* (make-notes)
        *noted-before* (make-notes))
  (prepare-for-errors)
  (gather-image)
  ;; A session that allocates little stays small; what one allocates beyond that is in huge pages at once.
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+))
  (give-back-empty-cards)
  (leave-processor-unknown)
  ;; Read once: it takes 2 ms.
  (let* ((mappings (memory-map))
         (of-core (remove-if-not #'mapping-core mappings)))
    (setf *file-ranges* (loop for mapping in of-core
                              collect (cons (mapping-start mapping) (mapping-end mapping))))
    (note-written-ranges mappings)
    (join-mappings mappings)
    (join-data mappings)
    ;; What is young, or was until now, would move with each collection, and what refers to it be written.
    (renew-often-written variables)
    (call-pinning *often-written* (lambda () (collect-generation 1)))
    (give-back-file-pages)
    (give-back-empty-pages mappings))
  (give-back-free-pages)
  (note-collected)
  (setf *consed-when-gathered* *consed-when-collected*
        *old-when-collected* (sb-ext:generation-bytes-allocated 1)))

(defun gathering-due-p (collected)
  "True if it is time to put memory into huge pages again: when much was allocated, or when the image was written but has not been
for a while. Gathering takes as long as ten copies of a split image, and more where many sessions do it at once."
  (let ((consed (- (sb-ext:get-bytes-consed) *consed-when-gathered*)))
    (or (and collected (> consed +octets-until-gathered+))
        (and *copies-since-written*
             (>= *copies-since-written* +copies-until-repaired+)
             (> consed +octets-until-repaired+)))))

#+(and x86-64 linux)
(implement gather-again ()
  (let ((collected (collect-again)))
    (when *copies-since-written*
      (incf *copies-since-written*))
    (when (gathering-due-p collected)
      (collect-old)
      (plan-to-gather)))
  (gather-some))

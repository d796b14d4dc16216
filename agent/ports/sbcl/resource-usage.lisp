;;;; The agent's port to SBCL: time and memory that are used.

(in-package #:cl-mcp-agent)

(implement clock-readings ()
  ;; GET-INTERNAL-REAL-TIME ticks every few milliseconds only.
  (multiple-value-bind (seconds nanoseconds) (sb-unix::clock-gettime +monotonic-clock+)
    (values (+ (* 1000000 seconds) (floor nanoseconds 1000))
            (get-internal-run-time)
            sb-ext:*gc-run-time*
            (sb-ext:get-bytes-consed))))

(implement processor-time ()
  ;; In a place that is written anyway: the stack for foreign data would be a page more to be copied after each copy.
  (let ((message *message*))
    (with-writable-vectors (message)
      (let ((time (sb-sys:sap+ (sb-sys:vector-sap message) +time+)))
        (c-call "clock_gettime" sb-alien:int sb-alien:int +process-clock+ sb-sys:system-area-pointer time)
        (+ (* 1000000 (sb-sys:sap-ref-64 time 0))
           (floor (sb-sys:sap-ref-64 time 8) 1000))))))

(implement quick-readings ()
  (multiple-value-bind (seconds nanoseconds) (sb-unix::clock-gettime +monotonic-clock+)
    (declare (type (unsigned-byte 30) seconds nanoseconds))
    (values (+ (* 1000000000 seconds) nanoseconds)
            (the (unsigned-byte 62) (sb-ext:get-bytes-consed)))))

;;; Memory

(implement heap-readings ()
  (values (sb-kernel:dynamic-usage) (sb-ext:dynamic-space-size)))

(implement collect-garbage ()
  (sb-ext:gc :full t))

(sb-ext:defglobal *consed-when-tidied* 0)
(declaim (type unsigned-byte *consed-when-tidied*))
(defconstant +huge-page+ (ash 1 21))
(defconstant +octets-in-small-pages+ (ash 1 22))

(defun use-huge-pages ()
  "Have the kernel use huge pages for what a session allocates beyond a few MiB: one has one entry in the page tables, which a
copy of the process gets copies of, in place of 512."
  (let ((start (* +huge-page+ (ceiling (+ sb-vm:dynamic-space-start
                                          (* sb-vm:gencgc-page-bytes (sb-alien:extern-alien "next_free_page" sb-alien:long))
                                          +octets-in-small-pages+)
                                       +huge-page+)))
        (end (+ sb-vm:dynamic-space-start (sb-ext:dynamic-space-size))))
    (when (< start end)
      (c-call "madvise" sb-alien:int sb-alien:unsigned-long start sb-alien:unsigned-long (- end start) sb-alien:int +use-huge-pages+))))

(implement tidy-heap (promote)
  (when (or promote
            ;; A collection takes longer in a larger heap.
            (> (- (sb-ext:get-bytes-consed) *consed-when-tidied*) (ash (sb-kernel:dynamic-usage) -6)))
    (symbol-macrolet ((limit (sb-alien:extern-alien "small_generation_limit" (sb-alien:signed 8))))
      ;; SBCL returns free pages to the kernel only after it has collected generations above this one.
      (setf limit 0)
      ;; GC would also run the user's finalizers and hooks, which must not run here.
      (sb-kernel::sub-gc (if promote 1 0))
      (setf limit 1))
    (use-huge-pages)
    (setf *consed-when-tidied* (sb-ext:get-bytes-consed))))

(implement generation-readings ()
  (append (loop for generation from 0 below sb-vm:+pseudo-static-generation+
                for octets = (sb-ext:generation-bytes-allocated generation)
                when (plusp octets)
                  collect (list (format nil "generation ~d" generation) octets))
          (list (list "from the start"
                      (sb-ext:generation-bytes-allocated sb-vm:+pseudo-static-generation+)))))

;;; Objects are counted by their layout: to ask for their class might run code of the user's, and nothing
;;; else can run while the heap is walked.
(defun type-of-layout (layout)
  (let ((name (sb-kernel:classoid-name (layout-classoid layout))))
    (if (or (not (symbolp name)) (eq name 'sb-kernel::random-class)) nil name)))

(implement count-heap (image time-us)
  (let ((counts (make-hash-table :test #'eq))
        (types (make-hash-table :test #'eq))
        (end (+ (clock-readings) time-us))
        (seen 0)
        (complete t))
    (declare (type fixnum seen end))
    (sb-vm:map-allocated-objects
     (lambda (object widetag size)
       (declare (ignore widetag) (type fixnum size))
       (when (and (zerop (logand (incf seen) 4095)) (> (the fixnum (clock-readings)) end))
         (setf complete nil))
       (when (and complete
                  (or image (< (the fixnum (sb-kernel:generation-of object))
                               sb-vm:+pseudo-static-generation+)))
         (let* ((layout (object-layout object))
                (count (or (gethash layout counts)
                           (setf (gethash layout counts) (cons 0 0)))))
           (incf (the fixnum (car count)) size)
           (incf (the fixnum (cdr count))))))
     :dynamic)
    ;; A class that was defined anew has several layouts.
    (maphash (lambda (layout count)
               (let* ((name (type-of-layout layout))
                      (entry (or (gethash name types)
                                 (setf (gethash name types) (list name 0 0)))))
                 (incf (second entry) (car count))
                 (incf (third entry) (cdr count))))
             counts)
    (values (loop for entry being the hash-values of types
                  collect entry)
            complete)))

(implement walk-heap ()
  (sb-ext:gc))

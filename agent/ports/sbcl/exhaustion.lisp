;;;; The agent's port to SBCL: the condition that comes before the heap is exhausted, and what is left of a stack that was.

(in-package #:cl-mcp-agent)

;;; A collection copies live objects, and the process ends if there is no room for that. So it would end
;;; when half of the heap is full of small objects, although there seems to be plenty left. Before that
;;; point, the agent signals a condition in the evaluation.

(define-condition heap-nearly-full (sb-kernel::heap-exhausted-error)
  ((used :initarg :used :reader heap-used))
  (:report (lambda (condition stream)
             (format stream "Heap exhausted: ~:d of ~:d MiB are in use after a garbage collection, ~
                             which leaves too little room for the next ones."
                     (ash (heap-used condition) -20) (ash (sb-ext:dynamic-space-size) -20)))))

(declaim (type sb-ext:word *heap-told*))
(sb-ext:defglobal *heap-told* 0)
(defconstant +single-object+ 16
  "The flag of a page of a large object; these are not copied.")

(defun movable-octets ()
  "Return how many octets of the heap a full collection would copy."
  (let ((pages 0)
        (end (sb-alien:extern-alien "next_free_page" sb-alien:long)))
    (declare (type fixnum pages end) (optimize speed))
    (loop for number of-type fixnum below end
          do (symbol-macrolet ((page (sb-alien:deref sb-vm::page-table number)))
               (let ((flags (sb-alien:slot page 'sb-vm::flags)))
                 (when (and (plusp flags)
                            (not (logtest +single-object+ flags))
                            (< (sb-alien:slot page 'sb-vm::gen)
                               sb-vm:+pseudo-static-generation+))
                   (incf pages)))))
    (* pages sb-vm:gencgc-page-bytes)))

(implement free-full-heap ()
  ;; What filled the heap is in old generations, which SBCL collects only when it must.
  (when (< (+ (sb-kernel:dynamic-usage) (movable-octets)) (sb-ext:dynamic-space-size))
    (sb-ext:gc :full t)))

(defun check-heap ()
  "Signal HEAP-NEARLY-FULL if the next collections may not have enough room; once for each growth."
  (let ((size (sb-ext:dynamic-space-size))
        (used (sb-kernel:dynamic-usage))
        (batch (sb-ext:bytes-consed-between-gcs)))
    (cond ((< (* 3 used) size)
           (setf *heap-told* 0))
          ((and (> used (+ *heap-told* (ash batch -1)))
                (> (+ used (movable-octets) (* 4 batch)) size))
           (setf *heap-told* used)
           (restart-case (error 'heap-nearly-full :used used)
             (continue ()
               :report "Go on, at the risk that the process ends."))))))

;;; The page before the end of a stack is read-only. Whoever comes there gets a condition, the page becomes writable, and the
;;; page before it read-only, until something is written there on the way back. A non-local exit writes nothing.

(defun call-guarding-stack (function)
  "Call FUNCTION, which is all that this thread does; then write there. SBCL gives the stack to a later thread as it is, and
would end the process when that thread comes there: up to 2.5.2 at least."
  (unwind-protect (funcall function)
    ;; The stack grows downwards on x86-64, and upwards elsewhere; the last page before its end is never writable.
    #+x86-64
    (setf (sb-sys:sap-ref-8 (sb-sys:int-sap (sb-thread::thread-control-stack-start sb-thread:*current-thread*))
                            (* 2 sb-c::+backend-page-bytes+))
          0)
    #-x86-64
    (setf (sb-sys:sap-ref-8 (sb-sys:int-sap (sb-thread::thread-control-stack-end sb-thread:*current-thread*))
                            (* -3 sb-c::+backend-page-bytes+))
          0)))

;;; When the allocator reaches that page, SBCL ends the process. Recording a call allocates in many places, so its caller reaches
;;; for the page first. Elsewhere than on x86-64 the allocator, which is in C, has a stack of its own.

(defconstant +stack-for-records+ 16384)

(implement meet-stack-end ()
  #+x86-64
  (let* ((end (sb-sys:int-sap (sb-thread::thread-control-stack-start sb-thread:*current-thread*)))
         (left (- (sb-sys:sap-int (sb-kernel:current-sp)) (sb-sys:sap-int end) +stack-for-records+)))
    ;; Only in that page: the one after it must not be written, and the one before it only on the way back.
    (when (< sb-c::+backend-page-bytes+ left (* 2 sb-c::+backend-page-bytes+))
      (setf (sb-sys:sap-ref-8 end left) 0)))
  nil)

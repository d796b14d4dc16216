;;;; The agent's port to SBCL: the pages of SBCL's heap.

(in-package #:cl-mcp-agent)

(defun heap-end ()
  "Return where the used part of the heap ends."
  (+ sb-vm:dynamic-space-start
     (* sb-vm:gencgc-page-bytes
        (sb-alien:extern-alien "next_free_page" sb-alien:long))))

(defun heap-limit ()
  (+ sb-vm:dynamic-space-start (sb-ext:dynamic-space-size)))

(defun heap-end-in-huge-pages ()
  (min (heap-limit) (* +huge-page+ (ceiling (heap-end) +huge-page+))))

(sb-ext:defglobal *image-end* 0
  "The address where the image's part of the heap ends, at a huge page's border. What the session allocates lies behind it.")

(defun heap-address (object)
  (logandc2 (sb-kernel:get-lisp-obj-address object) sb-vm:lowtag-mask))

(defun page-number (address)
  "Return the number of the heap's page at ADDRESS."
  (floor (- address sb-vm:dynamic-space-start) sb-vm:gencgc-page-bytes))

(declaim (inline page-state free-page-p))
(defun page-state (number)
  "Return the flags of the heap's page NUMBER."
  (declare (type (unsigned-byte 40) number))
  (the (unsigned-byte 8) (sb-alien:slot (sb-alien:deref sb-vm::page-table number) 'sb-vm::flags)))

(defun page-generation (number)
  (declare (type (unsigned-byte 40) number))
  (the (signed-byte 8) (sb-alien:slot (sb-alien:deref sb-vm::page-table number) 'sb-vm::gen)))

(defun free-page-p (number)
  "True if the collector's page NUMBER has no type."
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

(defun settled-huge-page-p (start)
  "True if everything in the huge page at START has survived a collection and none of it is free."
  (loop with first = (page-number start)
        for number from first below (+ first (floor +huge-page+ sb-vm:gencgc-page-bytes))
        always (and (not (free-page-p number))
                    (plusp (page-generation number)))))

(defun settled-huge-pages ()
  "List (START . END) of the huge pages of the session's part of the heap in which nothing new will be allocated."
  (loop for page from *image-end* below (* +huge-page+ (floor (heap-end) +huge-page+)) by +huge-page+
        when (settled-huge-page-p page)
          collect (cons page (+ page +huge-page+))))

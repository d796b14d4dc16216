;;;; The agent's port to SBCL: the space of symbols, cells of definitions, and layouts.

(in-package #:cl-mcp-agent)

;;; After each collection SBCL forbids to write those pages of this space on which nothing refers to anything younger. A
;;; page that may be written among those that may not is a mapping of its own, and so is what lies to either side, and
;;; each mapping costs each copy of the process something. So what is forbidden is allowed again where it is not much; the
;;; collector looks through it each time. And a mapping of a file of which no page was ever written costs a copy next to
;;; nothing: what never was is mapped anew.

(defconstant +least-pages-renewed+ 64)

(sb-ext:defglobal *renewed-fixed-objects* #*
  "A bit for each page: whether it lies where the core file was mapped anew.")
(declaim (type simple-bit-vector *renewed-fixed-objects*))

;;; Eight octets for each page: where it is free, and then the flags, of which this one says that it may not be written.
(defconstant +kept-from-writing+ #x80)

(defmacro fixed-object-flags (number)
  `(sb-sys:sap-ref-8 (sb-alien:extern-alien "fixedobj_pages" sb-sys:system-area-pointer) (+ 4 (* 8 ,number))))

(defun fixed-object-page (number)
  (+ sb-vm:fixedobj-space-start (* +page+ number)))

(defun fixed-object-page-number (address)
  (floor (- address sb-vm:fixedobj-space-start) +page+))

(defun fixed-object-page-count ()
  (ceiling (- (sb-sys:sap-int sb-vm:*fixedobj-space-free-pointer*) sb-vm:fixedobj-space-start) +page+))

(defun kept-from-writing-p (number)
  "True if the collector keeps the page from being written, and it was not mapped anew."
  (declare (type (unsigned-byte 24) number))
  (and (logtest +kept-from-writing+ (fixed-object-flags number))
       (or (>= number (length *renewed-fixed-objects*))
           (zerop (sbit *renewed-fixed-objects* number)))))

(defun call-with-kept-runs (function)
  "Call FUNCTION with the first number and the end of each run of pages that are kept from being written."
  (declare (type function function))
  (loop with first = nil
        with count = (fixed-object-page-count)
        for number from 0 to count
        do (if (and (< number count) (kept-from-writing-p number))
               (setf first (or first number))
               (when first
                 (funcall function (shiftf first nil) number)))))

(defun open-fixed-objects (first end)
  "Let the pages from number FIRST to END be written, and the collector know it."
  ;; PROT_READ, PROT_WRITE, PROT_EXEC.
  (when (protect (fixed-object-page first) (fixed-object-page end) 7)
    (loop for number from first below end
          do (setf (fixed-object-flags number)
                   (logandc2 (fixed-object-flags number) +kept-from-writing+)))))

(defun join-fixed-objects ()
  "Open what is kept from being written in short runs."
  ;; A collection by another thread between the two steps of opening would have the collector believe what is not so.
  (sb-sys:without-gcing
    (call-with-kept-runs (lambda (first end)
                           (when (< (- end first) +least-pages-renewed+)
                             (open-fixed-objects first end))))))

(defun renew-unwritten (start end offset core flags)
  "Map anew what nobody has written between START and END, at OFFSET of the file CORE; FLAGS are those of pages."
  (do-page-runs (from to) (unwritten-page-p start end flags)
    (when (>= (- to from) (* +page+ +least-pages-renewed+))
      ;; PROT_READ and PROT_EXEC; MAP_PRIVATE, MAP_FIXED, and MAP_NORESERVE, which the mappings around it do not
      ;; have, so that the kernel does not make one of them all.
      (map-memory from (- to from) 5 #x4012 core (+ offset (- from start)))
      (fill *renewed-fixed-objects* 1 :start (fixed-object-page-number from) :end (fixed-object-page-number to)))))

(defun renew-fixed-objects-between (start end offset core flags)
  "Make the space anew from START to END, which is at OFFSET of the file CORE; FLAGS are those of pages."
  ;; All may be written; MAP_PRIVATE.
  (let ((scratch (map-memory 0 (- end start) 7 2 core offset)))
    (unless (= scratch +no-memory+)
      (replace-where-different start (- end start) scratch)
      (call-with-kept-runs
       (lambda (first after)
         (let ((from (fixed-object-page first))
               (to (fixed-object-page after)))
           ;; PROT_READ and PROT_EXEC.
           (protect from to 5)
           (renew-unwritten from (min end to) (+ offset (- from start)) core flags))))
      (join-fixed-objects))))

(defun renew-fixed-objects (mappings)
  "Make the space anew with as few mappings as can be; MAPPINGS are those of the core file."
  (let ((here (remove-if-not (lambda (mapping)
                               (< -1 (- (mapping-start mapping) sb-vm:fixedobj-space-start) sb-vm:fixedobj-space-size))
                             mappings)))
    (setf *renewed-fixed-objects* (make-array (fixed-object-page-count) :element-type 'bit :initial-element 0))
    (when here
      (call-with-file
       (sb-ext:native-namestring sb-ext:*core-pathname*)
       (lambda (core)
         (call-with-file
          "/proc/self/pagemap"
          (lambda (flags)
            (sb-sys:without-gcing
              (renew-fixed-objects-between (mapping-start (first here)) (mapping-end (first (last here)))
                                           (mapping-offset (first here)) core flags)))))))))

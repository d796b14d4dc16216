;;;; The agent's port to SBCL: pages that a call writes, copied before it comes.

(in-package #:cl-mcp-agent)

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

;;;; The agent's port to SBCL: moving the image into huge pages, and keeping new objects out of its part of the heap.

(in-package #:cl-mcp-agent)

;;; Forking is expensive mainly because the kernel copies page tables. Most pages of the image are never written, but a
;;; mapping of the core file that is written somewhere has an entry for each page, which fork copies one by one. A huge page
;;; has one entry until something in it is written; then it has 512. docs/design.md, section 3, says why the huge pages are not
;;; those of a file.

(defconstant +moved-at-once+ (* 32 +huge-page+))

(defun image-ranges (heap-end)
  "List (START . END), in whole huge pages, of the memory to move: the heap up to HEAP-END, writable mappings of the core
file, and for a compressed core file the spaces that it was read into."
  (let ((ranges (list (cons (* +huge-page+ (ceiling sb-vm:dynamic-space-start +huge-page+))
                            (* +huge-page+ (ceiling heap-end +huge-page+))))))
    (loop for (this next) on (memory-map)
          do (let ((start (mapping-start this))
                   (end (mapping-end this)))
               ;; The other spaces of SBCL lie below the heap; parts of them are not used yet.
               (when (and (mapping-writable this)
                          (< start sb-vm:dynamic-space-start)
                          (> (- end start) (* 2 +huge-page+))
                          (or (mapping-core this)
                              (> (mapping-resident this) (* 3/4 (- end start)))))
                 (let ((from (* +huge-page+ (ceiling start +huge-page+)))
                       (to (* +huge-page+ (ceiling end +huge-page+))))
                   ;; What follows is the free part of the same space, so rounding up stays inside it.
                   (unless (and next (= (mapping-start next) end) (mapping-writable next)
                                (>= (mapping-end next) to))
                     (decf to +huge-page+))
                   (when (< from to)
                     (push (cons from to) ranges))))))
    ranges))

(sb-ext:defglobal *image-ranges* '()
  "The parts of memory that hold the image in huge pages, as (START . END).")

(defun move-to-huge-pages (start end)
  "Move the memory from START to END into huge pages. A kernel without huge pages gives ordinary pages instead."
  (let* ((length (- end start))
         (scratch (map-scratch length)))
    (when scratch
      ;; MADV_HUGEPAGE.
      (advise scratch (+ scratch length) 14)
      (replace-memory start length scratch)
      (push (cons start end) *image-ranges*))))

;;; A huge page that holds an object that every call writes is split after every copy, and then costs more than all others
;;; together. So new objects lie behind the image: everything that is free in the image's part of the heap is filled for good
;;; with vectors that the collector does not move.

(sb-ext:defglobal *filling* '()
  "The objects that fill the free parts of the image.")

(defconstant +least-large-object+ (* 4 sb-vm:gencgc-page-bytes)
  "Objects of this size have pages of their own, on which they stay.")

(defun make-filling (pages)
  "Return a vector that fills PAGES pages of the heap."
  (make-array (- (* pages sb-vm:gencgc-page-bytes) (* 2 sb-vm:n-word-bytes))
              :element-type '(unsigned-byte 8)))

(defun drop-filling ()
  "Drop the objects that fill the image. One that is saved is packed anew, and nothing in it is free."
  (setf *filling* '()))

(defun call-pinning (objects function)
  "Call FUNCTION while none of OBJECTS is moved."
  (if (endp objects)
      (funcall (the function function))
      (sb-sys:with-pinned-objects ((first objects))
        (call-pinning (rest objects) function))))

(defun fill-small-holes ()
  "Allocate until new objects lie behind the image; return the first object on each page that this filled."
  (let ((objects '())
        (page nil))
    (dolist (make (list (lambda () (make-filling 1))
                        (lambda () (make-array 2))
                        (lambda () (cons nil nil)))
                  objects)
      (loop for object = (funcall (the function make))
            do (unless (eql page (page-number (heap-address object)))
                 (setf page (page-number (heap-address object)))
                 (push object objects))
            until (>= (heap-address object) *image-end*)))))

(defun fill-image ()
  "Collect garbage and fill the image, so that everything new lies behind it; return the address where the image's objects end."
  ;; The garbage of this process leaves a hole, which must be large enough for a large object.
  (push (make-filling 4) *filling*)
  (pop *filling*)
  (let ((end (heap-end)))
    (setf *image-end* (* +huge-page+ (ceiling (+ end +least-large-object+) +huge-page+)))
    (push (make-filling (floor (- *image-end* end) sb-vm:gencgc-page-bytes)) *filling*)
    (sb-ext:gc)
    (loop for (nil . count) in (free-runs sb-vm:dynamic-space-start *image-end*)
          when (>= (* count sb-vm:gencgc-page-bytes) +least-large-object+)
            do (push (make-filling count) *filling*))
    ;; A pinned object is promoted where it lies; garbage beside it leaves other holes.
    (loop repeat 3
          do (let ((objects (fill-small-holes)))
               (push objects *filling*)
               (call-pinning objects (lambda ()
                                       (sb-ext:gc)
                                       (sb-ext:gc))))
          while (free-runs sb-vm:dynamic-space-start *image-end*))
    end))

(defun move-image-to-huge-pages ()
  "Fill the image's part of the heap, and move the image into huge pages."
  (setf *image-ranges* '())
  (loop for (start . end) in (image-ranges (fill-image))
        do (loop for from from start below end by +moved-at-once+
                 do (move-to-huge-pages from (min end (+ from +moved-at-once+))))))

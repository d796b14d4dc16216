;;;; The agent's port to SBCL: what the image holds is moved to where a copy of the process costs least.

(in-package #:cl-mcp-agent)

;;; A copy of the process costs what its page tables cost. Most pages of the image are never written, but a mapping of the
;;; core file that is written somewhere has an entry for each, which fork copies one by one. A huge page has one, until
;;; something is written in it; then it has 512. docs/design.md, section 3, says why these are not a file's.

(defconstant +gathered-at-once+ (* 32 +huge-page+))

(defun image-ranges (heap-end)
  "List (START . END) of what is worth it, in whole huge pages: the heap up to HEAP-END, writable mappings of
the core file, and where that was compressed the spaces it was read into."
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

(sb-ext:defglobal *gathered-ranges* '()
  "Where the image is, in huge pages, as (START . END).")

(defun gather-range (start end)
  "Put what is between START and END into huge pages; a kernel without them is none the worse for the copy."
  (let* ((length (- end start))
         (scratch (map-scratch length)))
    (when scratch
      ;; MADV_HUGEPAGE.
      (advise scratch (+ scratch length) 14)
      (replace-memory start length scratch)
      (push (cons start end) *gathered-ranges*))))

;;; A huge page that holds something that every call writes is split by every copy, and then costs more than
;;; all others together. So what is written lies behind the image: whatever is free in the image's part of the
;;; heap is taken, for good, by vectors that the collector does not move.

(sb-ext:defglobal *filling* '()
  "What takes the place that is free in the image.")

(defconstant +least-large-object+ (* 4 sb-vm:gencgc-page-bytes)
  "Objects of this size have pages of their own, on which they stay.")

(defun make-filling (pages)
  "Return a vector that fills so many pages of the heap."
  (make-array (- (* pages sb-vm:gencgc-page-bytes) (* 2 sb-vm:n-word-bytes))
              :element-type '(unsigned-byte 8)))

(defun drop-filling ()
  "An image that is saved is packed anew, and nothing in it is free."
  (setf *filling* '()))

(defun call-pinning (objects function)
  "Call FUNCTION while none of OBJECTS is moved."
  (if (endp objects)
      (funcall (the function function))
      (sb-sys:with-pinned-objects ((first objects))
        (call-pinning (rest objects) function))))

(defun fill-small-holes ()
  "Allocate until new objects lie behind the image; return the first object of each page that took."
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
  "Collect garbage, and have everything that is allocated from now on lie behind the image; return where that
ends but for what fills its last huge page."
  ;; What this process has allocated so far leaves a hole, and that is to be large enough for a large object.
  (push (make-filling 4) *filling*)
  (pop *filling*)
  (let ((end (heap-end)))
    (setf *image-end* (* +huge-page+ (ceiling (+ end +least-large-object+) +huge-page+)))
    (push (make-filling (floor (- *image-end* end) sb-vm:gencgc-page-bytes)) *filling*)
    (sb-ext:gc)
    (loop for (nil . count) in (free-runs sb-vm:dynamic-space-start *image-end*)
          when (>= (* count sb-vm:gencgc-page-bytes) +least-large-object+)
            do (push (make-filling count) *filling*))
    ;; What is pinned in collections is promoted where it is; what was beside it leaves other holes.
    (loop repeat 3
          do (let ((objects (fill-small-holes)))
               (push objects *filling*)
               (call-pinning objects (lambda ()
                                       (sb-ext:gc)
                                       (sb-ext:gc))))
          while (free-runs sb-vm:dynamic-space-start *image-end*))
    end))

(defun gather-image ()
  "Move the image to where a copy of the process costs least."
  (setf *gathered-ranges* '())
  (loop for (start . end) in (image-ranges (fill-image))
        do (loop for from from start below end by +gathered-at-once+
                 do (gather-range from (min end (+ from +gathered-at-once+))))))

;;;; The agent's port to SBCL, continued: what the image holds is moved to where a copy of the process costs least.

(in-package #:cl-mcp-agent)

;;; A copy of the process costs what its page tables cost. Most pages of the image are never written, but a mapping of the
;;; core file that is written somewhere has an entry for each, which fork copies one by one. A huge page of a file that nobody
;;; has written has none, and one of memory has one; once something is written in it, it has 512.

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

(defun replace-memory (start length scratch mapping)
  "Copy what is at START to SCRATCH and put MAPPING, which shows what is there, in its place; nothing may write to it
between."
  (declare (optimize (speed 3) (safety 0))
           (type (unsigned-byte 62) start length scratch mapping))
  (sb-sys:without-interrupts
    (sb-alien:alien-funcall
     (sb-alien:extern-alien "memcpy" (function sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:unsigned-long sb-alien:unsigned-long))
     scratch start length)
    ;; MREMAP_MAYMOVE and MREMAP_FIXED: one system call takes the old mapping away and moves the new
    ;; one there, this code included.
    (sb-alien:alien-funcall
     (sb-alien:extern-alien "mremap" (function sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:unsigned-long sb-alien:unsigned-long
                                               sb-alien:int sb-alien:unsigned-long))
     mapping length length 3 start))
  nil)

(defun use-huge-pages-of-file (start end)
  "Have all of a file's empty memory from START to END be in huge pages; false if the kernel has none for files."
  ;; The kernel puts pages together and makes those that are missing, but not all of them.
  (loop for page from start below end by +huge-page+
        do (setf (sb-sys:sap-ref-8 (sb-sys:int-sap page) 0) 0))
  ;; MADV_COLLAPSE.
  (zerop (advise start end 25)))

(defun largest-file ()
  "Return how many octets a file may get; one that gets more is a signal that ends the process."
  (let ((limits (make-array 2 :element-type '(unsigned-byte 64) :initial-element 0)))
    (sb-sys:with-pinned-objects (limits)
      ;; RLIMIT_FSIZE.
      (c-call "getrlimit" sb-alien:int sb-alien:int 1 sb-sys:system-area-pointer (sb-sys:vector-sap limits)))
    (aref limits 0)))

(defun note-file-of-heap (end)
  "Tell the collector that the heap up to END is a file's, so that pages that get free there are filled with zeros: giving them
back to the kernel would bring back what the file has. False if this SBCL does not know of such."
  (when (sb-sys:find-foreign-symbol-address "anon_dynamic_space_start")
    (setf (sb-alien:extern-alien "anon_dynamic_space_start" sb-alien:unsigned-long)
          (max end (sb-alien:extern-alien "anon_dynamic_space_start" sb-alien:unsigned-long)))))

(defun gather-in-file (start end)
  "Put what is between START and END into huge pages of a file that only this mapping knows: what nobody has written of a
file costs a copy nothing at all. False if there are no such pages for files."
  (let* ((length (- end start))
         (descriptor (if (and (<= length (largest-file))
                              (or (< end sb-vm:dynamic-space-start)
                                  (note-file-of-heap end)))
                         ;; MFD_CLOEXEC, MFD_ALLOW_SEALING.
                         (c-call "memfd_create" sb-alien:int sb-alien:c-string "lisp-image" sb-alien:unsigned 3)
                         -1))
         (scratch (and (not (minusp descriptor))
                       (zerop (c-call "ftruncate" sb-alien:int sb-alien:int descriptor sb-alien:long length))
                       (map-scratch length)))
         (mapping nil))
    (when scratch
      ;; MAP_SHARED, MAP_FIXED; MAP_PRIVATE.
      (when (and (map-memory scratch length 3 #x11 descriptor)
                 (use-huge-pages-of-file scratch (+ scratch length))
                 (setf mapping (map-memory 0 length 7 #x2 descriptor)))
        (replace-memory start length scratch mapping))
      (unmap-memory scratch length))
    (when mapping
      ;; F_ADD_SEALS: all sessions share it, so nobody may ever write to it, cut it short or make it longer.
      (c-call "fcntl" sb-alien:int sb-alien:int descriptor sb-alien:int 1033 sb-alien:int 15))
    (unless (minusp descriptor)
      (close-descriptors (list descriptor)))
    (and mapping t)))

(sb-ext:defglobal *file-ranges* '()
  "All mappings of files, the core's too, as (START . END).")

(sb-ext:defglobal *ranges-in-files* '()
  "What was gathered in files, as (START . END).")

(sb-ext:defglobal *ranges-in-memory* '()
  "What was gathered in memory that is no file's, as (START . END).")

(defun gather-in-memory (start end)
  "Put what is between START and END into huge pages; a kernel without them is none the worse for the copy."
  (let* ((length (- end start))
         (scratch (map-scratch length)))
    (when scratch
      ;; MADV_HUGEPAGE.
      (advise scratch (+ scratch length) 14)
      (replace-memory start length scratch scratch))))

(defun gather-range (start end)
  (if (gather-in-file start end)
      (push (cons start end) *ranges-in-files*)
      (progn
        (gather-in-memory start end)
        (push (cons start end) *ranges-in-memory*))))

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
  (setf *ranges-in-files* '()
        *ranges-in-memory* '())
  (loop for (start . end) in (image-ranges (fill-image))
        do (loop for from from start below end by +gathered-at-once+
                 do (gather-range from (min end (+ from +gathered-at-once+))))))

(defun written-huge-pages ()
  "List (START . END) of the runs of huge pages of the image, where it is in files, in which something was written since it came
there."
  (let ((runs '()))
    (call-with-file "/proc/self/pagemap"
                    (lambda (descriptor)
                      (loop for (start . end) in *ranges-in-files*
                            do (do-page-runs (from to) (written-page-p start end descriptor)
                                 (let* ((first (- from (mod from +huge-page+)))
                                        (end (+ first +huge-page+)))
                                   (if (and runs (<= (car (first runs)) first (cdr (first runs))))
                                       (setf (cdr (first runs)) end)
                                       (push (cons first end) runs)))))))
    runs))

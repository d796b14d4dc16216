;;;; The agent's port to SBCL: the optional layer that makes copies of the process cheap: its parts, and their self-checks.

(in-package #:cl-mcp-agent)

;;; Everything works without this layer; copies then take one to three times as long. Its parts rely on how SBCL's collector
;;; lays out the heap. Before the first copy, a forked child does to its own memory what each part does, and checks that it
;;; can continue, because a mistake there may end the process. A part whose check fails is off, and so are the parts after it.
;;;
;;; CL_MCP_MEMORY_LAYER=off in the environment turns all of it off.

(sb-ext:defglobal *parts-on* '()
  "The names of the parts that are on, in order.")
(sb-ext:defglobal *why-parts-off* nil
  "A sentence that names the first part that is off, and why; or NIL.")

(defparameter *parts* '((:huge-pages "huge pages" start-huge-pages check-huge-pages)
                        (:collection "collection between calls" start-collection check-collection)
                        (:one-page "one page" start-one-page check-one-page))
  "The parts in order, each of which needs those before it: its name, the name for people, what starts it, and a function that
signals an error unless it works. Both functions get the variables that every request writes.")

(defun part-title (name)
  (second (assoc name *parts*)))

(defun part-on-p (name)
  (and (member name *parts-on* :test #'eq) t))

;;; Child processes of this one, unlike the copies that CLONE-PROCESS makes.

(defconstant +check-limit-s+ 5)

(defun fork-child ()
  "Fork; return the child's process id, 0 in the child, or a negative number."
  (system-call (56 220) 17 0 0 0 0)) ; clone, with SIGCHLD only.

(defun wait-for-child (process &optional (status 0))
  "Wait for the child PROCESS to end and put its status at the address STATUS unless that is 0."
  (loop while (and (minusp (c-call "waitpid" sb-alien:int sb-alien:int process
                                   sb-alien:unsigned-long status sb-alien:int 0))
                   (= +interrupted-call+ (sb-alien:get-errno)))))

(defun limit-lifetime ()
  "Have the kernel end this process soon: SIGALRM does what it does by default."
  (c-call "signal" sb-alien:unsigned-long sb-alien:int 14 sb-alien:unsigned-long 0)
  (c-call "alarm" sb-alien:unsigned-int sb-alien:unsigned-int +check-limit-s+))

(defun call-beside-copy (function)
  "Call FUNCTION while an idle copy of this process exists, which shares all memory that is not written."
  (let ((copy (fork-child)))
    (cond ((zerop copy)
           (limit-lifetime)
           (loop (c-call "pause" sb-alien:int)))
          (t
           (assert (plusp copy) () "the kernel made no process")
           (unwind-protect (funcall (the function function))
             (c-call "kill" sb-alien:int sb-alien:int copy sb-alien:int 9)
             (wait-for-child copy))))))

;;; The parts

(defun start-huge-pages (variables)
  (declare (ignore variables))
  (move-image-to-huge-pages)
  ;; A session that allocates little stays small; what one allocates beyond that is in huge pages at once.
  (use-huge-pages-from (+ (heap-end-in-huge-pages) +octets-in-small-pages+)))

(defun check-huge-pages (variables)
  (declare (ignore variables))
  (let* ((object (list 0))
         (page (page-number (heap-address object))))
    (assert (> (heap-address object) *image-end*) ()
            "a new object lies in the image's part of the heap")
    (assert (and (not (free-page-p page)) (zerop (page-generation page))) ()
            "the page of a new object is not marked as used and young")
    (assert (free-page-p (page-number (heap-end))) ()
            "the first page behind the heap is not marked as free")))

(defun start-collection (variables)
  (declare (ignore variables))
  (note-collected)
  (setf *consed-when-compacted* *consed-when-collected*
        *old-when-collected* (sb-ext:generation-bytes-allocated 1)))

(defconstant +most-pages-written-by-collections+ 256)

(defun check-collection (variables)
  "Also note in *WRITTEN-BY-COLLECTION* how many pages of the image a collection writes that moves nothing it refers to."
  (declare (ignore variables))
  (let ((list (make-list 1000 :initial-element 1)))
    (flet ((generation ()
             (page-generation (page-number (heap-address list))))
           (collect-and-count ()
             (collect-generation 0 +never-promoted+)
             (count-written-of-image)))
      (dotimes (collection 2)
        (setf *written-by-collection* (call-beside-copy #'collect-and-count))
        (assert (zerop (generation)) ()
                "an object was promoted by a collection that was to promote nothing"))
      (collect-generation 0 0)
      (assert (plusp (generation)) ()
              "an object was not promoted by a collection that was to promote it")
      (give-back-free-pages)
      (assert (= 1000 (reduce #'+ list)) ()
              "a list was not intact after a collection")))
  (assert (<= 0 *written-by-collection* +most-pages-written-by-collections+) ()
          "a collection writes ~d pages of the image" *written-by-collection*))

(defun start-one-page (variables)
  (move-to-one-page variables)
  (note-collected))

(defun check-one-page (variables)
  (declare (ignore variables))
  (assert (on-one-page-p *objects-on-one-page*) ()
          "the objects do not lie on one page")
  (collect-generation 0 +never-promoted+)
  (assert (on-one-page-p *objects-on-one-page*) ()
          "the objects did not stay on one page")
  (assert (= 3 (eval (read-from-string "(+ 1 2)"))) ()
          "the reader or the compiler does not work"))

;;; The self-check

(defconstant +why-octets+ 200)

;;; Child and parent share a page. Words: the number of parts that passed; what the check of collections found; the status
;;; of the child; the length of the message, which follows.
(defmacro shared-word (page number)
  `(sb-sys:signed-sap-ref-64 (sb-sys:int-sap ,page) (* 8 ,number)))

(defconstant +message+ 32)

(defun leave-message (page text)
  (let ((length (min +why-octets+ (length text))))
    (setf (shared-word page 3) length)
    (dotimes (index length)
      (setf (sb-sys:sap-ref-8 (sb-sys:int-sap page) (+ +message+ index))
            (min 126 (max 32 (char-code (char text index))))))))

(defun left-message (page)
  (let ((text (make-string (shared-word page 3))))
    (dotimes (index (length text) text)
      (setf (char text index)
            (code-char (sb-sys:sap-ref-8 (sb-sys:int-sap page) (+ +message+ index)))))))

(defun check-parts (page variables)
  "In a forked child: start and check one part after the other, and note in the shared PAGE how far that went. Never returns."
  (die-with-parent)
  ;; A child that fails leaves no core file (PR_SET_DUMPABLE) and prints nothing.
  (system-call (157 167) 4 0)
  (let ((nowhere (c-call "open" sb-alien:int sb-alien:c-string "/dev/null" sb-alien:int 1)))
    (c-call "dup2" sb-alien:int sb-alien:int nowhere sb-alien:int 1)
    (c-call "dup2" sb-alien:int sb-alien:int nowhere sb-alien:int 2))
  (limit-lifetime)
  (handler-case (loop for (nil nil start check) in *parts*
                      do (funcall start variables)
                         (funcall check variables)
                         (incf (shared-word page 0)))
    (serious-condition (condition)
      (leave-message page (princ-to-string condition))
      (end-process 1)))
  (setf (shared-word page 1) *written-by-collection*)
  (end-process 0))

(defun why-check-failed (page)
  (let ((signal (logand 127 (shared-word page 2))))
    (cond ((= signal 14) (format nil "took longer than ~d s" +check-limit-s+))
          ((plusp signal) (format nil "ended with signal ~d" signal))
          (t (format nil "failed: ~a" (string-right-trim "." (left-message page)))))))

(defun find-working-parts (variables)
  "Return the names of the parts that work in this process, and which one does not, with the reason, as a sentence or NIL."
  (let ((page (map-memory 0 +page+ 3 #x21))) ; PROT_READ, PROT_WRITE; MAP_SHARED, MAP_ANONYMOUS.
    (if (= page +no-memory+)
        (values '() "The memory layer is off: the kernel gave no memory for its self-check.")
        (let ((process (fork-child)))
          (cond ((zerop process)
                 (check-parts page variables))
                ((minusp process)
                 (values '() "The memory layer is off: the kernel made no process for its self-check."))
                (t
                 (wait-for-child process (+ page 16))
                 (let ((passed (shared-word page 0)))
                   (setf *written-by-collection* (shared-word page 1))
                   (multiple-value-prog1
                       (values (mapcar #'first (subseq *parts* 0 passed))
                               (if (= passed (length *parts*))
                                   nil
                                   (format nil "The memory layer is off from its part \"~a\" on: the self-check ~a."
                                           (second (elt *parts* passed)) (why-check-failed page))))
                     (c-call "munmap" sb-alien:int sb-alien:unsigned-long page
                             sb-alien:unsigned-long +page+)))))))))

;;; The operations

(implement compact-memory (variables)
  (setf *parts-on* '()
        *why-parts-off* nil)
  (if (equal "off" (sb-ext:posix-getenv "CL_MCP_MEMORY_LAYER"))
      (setf *why-parts-off* "The memory layer is off: CL_MCP_MEMORY_LAYER is \"off\".")
      (multiple-value-bind (names why) (find-working-parts variables)
        (setf *why-parts-off* why)
        (handler-case (dolist (name names)
                        (funcall (third (assoc name *parts*)) variables)
                        (setf *parts-on* (append *parts-on* (list name))))
          (serious-condition (condition)
            (setf *why-parts-off*
                  (format nil "The memory layer is off from its part \"~a\" on, which failed after its self-check: ~a"
                          (part-title (elt names (length *parts-on*))) condition))))))
  *why-parts-off*)

(implement memory-layer ()
  (append (mapcar #'part-title *parts-on*)
          (and *why-parts-off* (list *why-parts-off*))))

(implement compact-again ()
  (when (part-on-p :collection)
    (when (and (collect-again)
               (> (- (sb-ext:get-bytes-consed) *consed-when-compacted*) +octets-until-compacted+))
      (collect-old)
      (plan-compaction))
    (compact-some)))

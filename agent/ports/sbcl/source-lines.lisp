;;;; The agent's port to SBCL: the lines of a source file.

(in-package #:cl-mcp-agent)

;;; The line of a position in a file. SBCL keeps positions in octets, so lines are counted in octets;
;;; of each file it is remembered how many lines there are before each of its blocks.

(defconstant +source-block+ 16384)
(defconstant +source-limit+ (* 16 1024 1024))
(defconstant +source-files-kept+ 8)
(defconstant +places-kept+ 50)
(defconstant +comment-limit+ (* 8 +source-block+)
  "So many octets of blanks and comments are passed over to find where a form begins.")

(defstruct (source-file (:copier nil) (:predicate nil))
  "What was found out about a file: KEY is its true name; LINES counts the newlines before each block, as far as read;
PLACES are the last positions asked for with their lines."
  (namestring "" :type string)
  (native "" :type string)
  (key "" :type string)
  (size 0 :type fixnum)
  (written 0 :type integer)             ; in nanoseconds
  (lines (make-array 8 :adjustable t :fill-pointer 0))
  (places '() :type list)
  (syntax :unknown))                    ; :STANDARD unless the file sets how it is read

(declaim (type octets *source-block*))
(sb-ext:defglobal *source-block*
    (make-array +source-block+ :element-type '(unsigned-byte 8) :initial-element 0))
(sb-ext:defglobal *source-files* '())

(defun file-stamp (native)
  "Return the size of the file NATIVE in octets and its modification time in nanoseconds since 1970.
Returns NIL if it is not a regular file. FILE-WRITE-DATE counts in seconds, and an agent can edit and load twice
within one."
  (let ((stat (make-array 256 :element-type '(unsigned-byte 8) :initial-element 0)))
    (sb-sys:with-pinned-objects (stat)
      (let ((memory (sb-sys:vector-sap stat)))
        ;; statx, whose structure is the same everywhere.
        (if (zerop (c-call "statx" sb-alien:int
                           sb-alien:int -100 sb-alien:c-string native sb-alien:int 0
                           sb-alien:unsigned-int #x7ff
                           sb-sys:system-area-pointer memory))
            (values (if (= #o100000 (logand (sb-sys:sap-ref-32 memory 28) #o170000))
                        (sb-sys:sap-ref-64 memory 40)
                        nil)
                    (+ (* 1000000000 (sb-sys:signed-sap-ref-64 memory 112))
                       (sb-sys:sap-ref-32 memory 120)))
            nil)))))

(defun renew-source-file (file)
  "Forget what is known of FILE if it has changed. Returns true if the file can be read."
  (multiple-value-bind (size written) (file-stamp (source-file-native file))
    (let ((readable (and size (<= size +source-limit+))))
      (unless (and readable
                   (= size (source-file-size file)) (= written (source-file-written file)))
        (setf (fill-pointer (source-file-lines file)) 0
              (source-file-places file) '()
              (source-file-syntax file) :unknown
              (source-file-size file) (if readable size 0)
              (source-file-written file) (if readable written 0)))
      readable)))

(defun date-of-source-file (file)
  "Return when FILE was written as FILE-WRITE-DATE does."
  (+ (floor (source-file-written file) 1000000000) sb-impl::unix-to-universal-time))

;;; Whether a file is still what was loaded. With code SBCL keeps the second in which its file was written. Of files
;;; that come in by ASDF or a request of the server's we remember more.

(defconstant +loaded-files-kept+ 20000)
(sb-ext:defglobal *loaded-files* (make-hash-table :test #'equal :synchronized t)
  "The size and the date of each file when it was loaded, under its true name.")

(defun file-key (native)
  (let ((true (ignore-errors (probe-file (sb-ext:parse-native-namestring native)))))
    (if true (sb-ext:native-namestring true) native)))

(implement note-loaded-file (path)
  (let* ((native (sb-ext:native-namestring (translate-logical-pathname path)))
         (stamp (multiple-value-list (file-stamp native))))
    (when (first stamp)
      (when (>= (hash-table-count *loaded-files*) +loaded-files-kept+)
        (clrhash *loaded-files*))
      (setf (gethash (file-key native) *loaded-files*) stamp))))

(defun source-file-changed-p (file created)
  "True if FILE, which was renewed, is not what code was loaded from whose file was written at CREATED or NIL."
  (let ((loaded (gethash (source-file-key file) *loaded-files*)))
    (or (and loaded
             (not (equal loaded (list (source-file-size file) (source-file-written file)))))
        (and created
             (> (date-of-source-file file) created)))))

(implement edited-since-built-p (source built)
  (flet ((written (path)
           (nth-value 1 (file-stamp (sb-ext:native-namestring path)))))
    (let ((source (written source))
          (built (written built)))
      (and source built (> source built)))))

(defun source-file (namestring)
  "Return the known facts about the file NAMESTRING."
  (let ((file (find namestring *source-files* :key #'source-file-namestring :test #'string=)))
    (cond ((null file)
           (let ((native (sb-ext:native-namestring
                          (translate-logical-pathname (parse-namestring namestring)))))
             (setf file (make-source-file :namestring namestring
                                          :native native
                                          :key (file-key native))))
           (when (nthcdr (1- +source-files-kept+) *source-files*)
             (setf *source-files* (butlast *source-files*))))
          (t
           (setf *source-files* (delete file *source-files*))))
    (push file *source-files*)
    file))

(defun read-source-block (descriptor number)
  "Read block NUMBER into *SOURCE-BLOCK*. Returns how many octets of it there are."
  (let ((block *source-block*))
    (sb-sys:with-pinned-objects (block)
      (max 0 (c-call "pread" sb-alien:long
                     sb-alien:int descriptor
                     sb-sys:system-area-pointer (sb-sys:vector-sap block)
                     sb-alien:unsigned-long +source-block+
                     sb-alien:long (* number +source-block+))))))

(defun newlines-in-block (end)
  (declare (type (integer 0 #.+source-block+) end))
  (let ((block *source-block*)
        (count 0))
    (declare (type index count))
    (fast
      (loop for position of-type index below end
            when (= 10 (aref block position))
              do (incf count)))
    count))

(defun newlines-before-block (descriptor file number)
  "Return how many newlines there are in FILE before block NUMBER; the counts are remembered."
  (let ((known (source-file-lines file)))
    (when (zerop (fill-pointer known))
      (vector-push-extend 0 known))
    (loop for before = (1- (fill-pointer known))
          while (< before number)
          do (vector-push-extend (+ (aref known before)
                                    (newlines-in-block (read-source-block descriptor before)))
                                 known))
    (aref known number)))

(defun line-of-octet (descriptor file position)
  "Return the line in which POSITION is, and leave its block in *SOURCE-BLOCK*; second, the size of that block."
  (declare (type index position))
  (multiple-value-bind (number offset) (floor position +source-block+)
    (let* ((before (newlines-before-block descriptor file number))
           (count (read-source-block descriptor number)))
      (declare (type index before count))
      (values (+ 1 before (newlines-in-block (min count offset))) count))))

(defun line-of-position (descriptor file position)
  "Return the line of the form that is read from POSITION on, after blanks and comments."
  (declare (type index position))
  (let ((number (floor position +source-block+))
        (line 0)
        (count 0)
        (at position)
        (next 0))
    (declare (type index number count line at next))
    (setf (values line count) (line-of-octet descriptor file position)
          next (min count (mod position +source-block+)))
    (flet ((look ()
             (when (and (= next count) (= count +source-block+))
               (setf count (read-source-block descriptor (incf number))
                     next 0))
             (if (< next count) (aref *source-block* next) nil))
           (advance ()
             (when (= 10 (aref *source-block* next))
               (incf line))
             (incf next)
             (incf at)))
      (loop for octet = (look)
            for start = line
            while (and octet (< (- at position) +comment-limit+))
            do (case octet
                 ((32 9 10 12 13) (advance))
                 (59 (loop for octet = (look)
                           while (and octet (/= octet 10))
                           do (advance)))
                 (35 (advance)
                  (unless (eql 124 (look))
                    (return start))
                  (let ((depth 1)
                        (before 0))
                    (advance)
                    (loop for octet = (look)
                          while (and octet (plusp depth))
                          do (cond ((and (= octet 35) (= before 124))
                                    (decf depth)
                                    (setf octet 0))
                                   ((and (= octet 124) (= before 35))
                                    (incf depth)
                                    (setf octet 0)))
                             (setf before octet)
                             (advance))))
                 (t (return start)))
            finally (return line)))))

(defun find-line (file position line-of)
  (declare (type function line-of))
  (let ((descriptor (c-call "open" sb-alien:int sb-alien:c-string (source-file-native file)
                            ;; O_NONBLOCK and O_CLOEXEC.
                            sb-alien:int #o2004000)))
    (unless (minusp descriptor)
      (unwind-protect (funcall line-of descriptor file position)
        (c-call "close" sb-alien:int sb-alien:int descriptor)))))

(defun line-at (file position)
  (let ((places (source-file-places file)))
    (or (cdr (assoc position places))
        (let ((line (find-line file position #'line-of-position)))
          (push (cons position line) places)
          (when (nthcdr +places-kept+ places)
            (setf places (butlast places)))
          (setf (source-file-places file) places)
          line))))

(defun line-where-text-begins (namestring position)
  "Return the line of the file NAMESTRING in which POSITION is, or NIL."
  (call-locked
   (lambda ()
     (sb-sys:without-interrupts
       (let ((file (source-file namestring)))
         (and (renew-source-file file)
              (<= position (source-file-size file))
              (find-line file position #'line-of-octet)))))))

(defun source-text (namestring position created)
  "Return file:line, or the file alone where the line is not known. CREATED is the date of the file that the code
there was made from, or NIL for what is read just now."
  (call-locked
   (lambda ()
     (sb-sys:without-interrupts
       (let* ((file (source-file namestring))
              (readable (renew-source-file file))
              (changed (and readable created (source-file-changed-p file created)))
              (line (and readable
                         position
                         (<= position (source-file-size file))
                         (not changed)
                         (line-at file position))))
         (cond (line
                (concatenate 'string (source-file-native file) ":" (decimal line)))
               (changed
                (concatenate 'string (source-file-native file) " (changed since it was loaded)"))
               (t
                (source-file-native file))))))))

(defun decimal (number)
  (let ((*print-base* 10) (*print-radix* nil))
    (princ-to-string number)))

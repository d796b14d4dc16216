;;;; The agent's port to SBCL: the lines of a source file.

(in-package #:cl-mcp-agent)

;;; The line of a position in a file. SBCL keeps positions in octets, so lines are counted in octets.

(defconstant +source-limit+ (* 16 1024 1024))
(defconstant +source-files-kept+ 8)
(defconstant +places-kept+ 50)
(defconstant +longest-form+ 30000
  "The most characters of a file that are read to find a form.")

(defstruct (source-file (:copier nil) (:predicate nil))
  "What was found out about a file: KEY is its true name; PLACES has for the last positions asked for what
LINES-AT returned."
  (namestring "" :type string)
  (native "" :type string)
  (key "" :type string)
  (size 0 :type fixnum)
  (written 0 :type integer)             ; in nanoseconds
  (places '() :type list)
  (syntax :unknown))                    ; :STANDARD unless the file sets how it is read

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
        (setf (source-file-places file) '()
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

(defun call-with-source-file (namestring function)
  "Call FUNCTION with what is known of the file NAMESTRING; return NIL if the file cannot be read."
  (declare (type function function))
  (call-locked
   (lambda ()
     (sb-sys:without-interrupts
       (let ((file (ignore-errors (source-file namestring))))
         (and file
              (renew-source-file file)
              (funcall function file)))))))

(defun text-of-file (native position &optional (limit +longest-form+))
  "Return the text of the file NATIVE from POSITION, in octets, on, as much as is worth reading."
  (with-open-file (stream (sb-ext:parse-native-namestring native)
                          :external-format '(:utf-8 :replacement #\ufffd))
    (file-position stream position)
    (let* ((text (make-string (max 0 (min limit (- (file-length stream) position)))))
           (end (read-sequence text stream)))
      (subseq text 0 end))))

(defun newlines-before (file position)
  (declare (type index position))
  (with-open-file (stream (sb-ext:parse-native-namestring (source-file-native file)) :element-type '(unsigned-byte 8))
    (let* ((octets (make-array position :element-type '(unsigned-byte 8)))
           (end (read-sequence octets stream))
           (count 0))
      (declare (type index count end))
      (fast
        (loop for place of-type index below end
              when (= 10 (aref octets place))
                do (incf count)))
      count)))

(defun lines-at (file position)
  "Return the line of FILE in which POSITION is, and that of the form that is read from there on, after blanks and comments;
or NIL."
  (let ((places (source-file-places file)))
    (values-list
     (or (cdr (assoc position places))
         (ignore-errors
          (assert (<= position (source-file-size file)))
          (let* ((line (1+ (newlines-before file position)))
                 (text (text-of-file (source-file-native file) position))
                 (lines (list line (+ line (count #\newline text :end (or (code-start text) 0))))))
            (setf (source-file-places file) (some-of (acons position lines places) 0 +places-kept+))
            lines))))))

(defun line-at (file position)
  (nth-value 1 (lines-at file position)))

(defun line-where-text-begins (namestring position)
  "Return the line of the file NAMESTRING in which POSITION is, or NIL."
  (call-with-source-file namestring (lambda (file)
                                      (values (lines-at file position)))))

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

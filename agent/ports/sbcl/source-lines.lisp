;;;; The agent's port to SBCL: the lines of a source file.

(in-package #:cl-mcp-agent)

;;; The line of a position in a file. SBCL keeps positions in octets, so lines are counted in octets.

(defconstant +source-limit+ (* 16 1024 1024))
(defconstant +longest-form+ 30000
  "The most characters of a file that are read to find a form.")

(defun file-stamp (native)
  "Return the size of the file NATIVE in octets and its modification time in nanoseconds since 1970.
Returns NIL if it is not a regular file. FILE-WRITE-DATE counts in seconds, and an agent can edit and load twice
within one."
  (let ((stat (make-array 256 :element-type '(unsigned-byte 8) :initial-element 0)))
    (with-writable-vectors (stat)
      (let ((memory (sb-sys:vector-sap stat)))
        ;; statx, whose structure is the same everywhere.
        (if (zerop (c-call "statx" sb-alien:int
                           sb-alien:int +working-directory+ sb-alien:c-string native sb-alien:int 0
                           sb-alien:unsigned-int +basic-status+
                           sb-sys:system-area-pointer memory))
            (values (if (= sb-posix:s-ifreg (logand (sb-sys:sap-ref-32 memory 28) sb-posix:s-ifmt))
                        (sb-sys:sap-ref-64 memory 40)
                        nil)
                    (+ (* 1000000000 (sb-sys:signed-sap-ref-64 memory 112))
                       (sb-sys:sap-ref-32 memory 120)))
            nil)))))

(implement file-octets (path limit)
  (ignore-errors
    (let* ((path (merge-pathnames (translate-logical-pathname path)))
           (size (file-stamp (sb-ext:native-namestring path))))
      (if (and size (<= size limit))
          (with-open-file (stream path :element-type '(unsigned-byte 8))
            (let ((octets (make-array size :element-type '(unsigned-byte 8))))
              (subseq octets 0 (read-sequence octets stream))))
          nil))))

;;; Whether a file is still what was loaded. With code SBCL keeps the second in which its file was written. Of files
;;; that come in by ASDF or a request of the server's we remember more.

(defconstant +loaded-files-kept+ 20000)
(defconstant +texts-kept+ (ash 32 20)
  "How many octets of the texts of loaded files are kept.")
(sb-ext:defglobal *loaded-files* (make-hash-table :test #'equal :synchronized t)
  "What was loaded of each file, under its true name: ((SIZE DATE) EVALUATION TEXT...), the newest text first.")

(defun file-key (native)
  (let ((true (ignore-errors (probe-file (sb-ext:parse-native-namestring native)))))
    (if true (sb-ext:native-namestring true) native)))

(implement note-loaded-file (path)
  (let* ((native (sb-ext:native-namestring (translate-logical-pathname path)))
         (stamp (multiple-value-list (file-stamp native))))
    (when (first stamp)
      (when (>= (hash-table-count *loaded-files*) +loaded-files-kept+)
        (clrhash *loaded-files*))
      (let ((key (file-key native)))
        (setf (gethash key *loaded-files*) (cons stamp (rest (gethash key *loaded-files*))))))))

(defun octets-kept ()
  (loop for (nil nil . texts) being the hash-values of *loaded-files*
        sum (reduce #'+ texts :key #'length)))

(implement note-loaded-text (path octets evaluation)
  (let* ((key (file-key (sb-ext:native-namestring (translate-logical-pathname path))))
         (entry (gethash key *loaded-files*)))
    (destructuring-bind (&optional stamp number &rest texts) entry
      (declare (ignore number))
      (setf (gethash key *loaded-files*)
            (list* stamp evaluation
                   (cond ((equalp octets (first texts)) texts)
                         ((> (+ (length octets) (octets-kept)) +texts-kept+) '())
                         (t (cons octets (some-of texts 0 19)))))))))

(implement loaded-texts (native)
  (destructuring-bind (&optional stamp number &rest texts) (gethash (file-key native) *loaded-files*)
    (values (or texts
                (if (and stamp (equal stamp (multiple-value-list (file-stamp native)))) '(t) '()))
            number)))

(implement keep-loaded-texts (native texts)
  (let ((entry (gethash (file-key native) *loaded-files*)))
    (when entry
      (setf (cddr entry) texts))))

(implement files-with-texts ()
  (loop for native being the hash-keys of *loaded-files* using (hash-value (nil nil . texts))
        when texts
          collect native))

(implement text-of-octets (octets)
  (handler-case (values (sb-ext:octets-to-string octets :external-format :utf-8) t)
    (error () (values (sb-ext:octets-to-string octets :external-format :latin-1) nil))))

(defun source-changed-p (native created)
  "True if the file NATIVE is not what code was loaded from whose file was written at CREATED or NIL."
  (multiple-value-bind (size written) (file-stamp native)
    (let ((loaded (gethash (file-key native) *loaded-files*)))
      (and size
           (or (and loaded
                    (not (equal (first loaded) (list size written))))
               (and created
                    (> (+ (floor written 1000000000) sb-impl::unix-to-universal-time) created)))))))

(implement edited-since-built-p (source built)
  (flet ((written (path)
           (nth-value 1 (file-stamp (sb-ext:native-namestring path)))))
    (let ((source (written source))
          (built (written built)))
      (and source built (> source built)))))

(defun native-source (namestring)
  "Return the name of the file NAMESTRING as the system writes it; second, whether the file can be read."
  (let* ((native (sb-ext:native-namestring (translate-logical-pathname (parse-namestring namestring))))
         (size (file-stamp native)))
    (values native (and size (<= size +source-limit+)))))

(defun readable-source (namestring)
  "Return the name of the file NAMESTRING as the system writes it, or NIL if the file cannot be read."
  (handler-case (multiple-value-bind (native readable) (native-source namestring)
                  (if readable native nil))
    (error () nil)))

(defun text-of-file (native position &optional (limit +longest-form+))
  "Return the text of the file NATIVE from POSITION, in octets, on, as much as is worth reading. What is not UTF-8 is read as
Latin-1, where each octet is a character."
  (flet ((text-in (encoding)
           (with-open-file (stream (sb-ext:parse-native-namestring native) :external-format encoding)
             (file-position stream position)
             (let* ((text (make-string (max 0 (min limit (- (file-length stream) position)))))
                    (end (read-sequence text stream)))
               (subseq text 0 end)))))
    (handler-case (text-in :utf-8)
      (sb-int:stream-decoding-error () (text-in :latin-1)))))

(defun newlines-before (native position)
  "Return how many lines of the file NATIVE end before POSITION, and how many characters of its line come before it. Signal an
error if the file is shorter."
  (declare (type index position))
  (with-open-file (stream (sb-ext:parse-native-namestring native) :element-type '(unsigned-byte 8))
    (let* ((octets (make-array position :element-type '(unsigned-byte 8)))
           (end (read-sequence octets stream))
           (count 0))
      (declare (type index count end))
      (assert (= end position))
      (fast
        (loop for place of-type index below end
              when (= 10 (aref octets place))
                do (incf count)))
      (values count
              (count-if (lambda (octet) (/= #x80 (logand #xc0 octet))) octets
                        :start (1+ (or (position 10 octets :from-end t) -1)))))))

(defconstant +found-kept+ 400)
(sb-ext:defglobal *found-in-files* '()
  "What was found in files lately: (KEY . VALUES), the newest first.")

(defun remembered (native what find)
  "Return the values of FIND, which looks at the file NATIVE. They are remembered under WHAT until the file changes."
  (let* ((key (list* what native (multiple-value-list (file-stamp native))))
         (known (assoc key *found-in-files* :test #'equal)))
    (unless known
      (setf known (cons key (multiple-value-list (funcall find)))
            *found-in-files* (some-of (cons known *found-in-files*) 0 +found-kept+)))
    (values-list (rest known))))

(defun lines-at (native position)
  "Return the line of the file NATIVE in which POSITION is, that of the form that is read from there on, after blanks and
comments, and how many characters of its line come before POSITION; or NIL."
  (flet ((find-lines ()
           (multiple-value-bind (newlines before) (newlines-before native position)
             (let ((line (1+ newlines))
                   (text (text-of-file native position)))
               (values line
                       (+ line (count #\newline text :end (or (code-start text) 0)))
                       before)))))
    (handler-case (remembered native position #'find-lines)
      (error () (values nil nil nil)))))

(defun line-at (native position)
  (nth-value 1 (lines-at native position)))

(defun source-text (namestring position)
  "Return file:line, or the file alone where the line is not known."
  (multiple-value-bind (native readable) (native-source namestring)
    (format nil "~a~@[:~d~]" native (and readable position (line-at native position)))))

(defun unchanged-source (place)
  "Return the name of PLACE's file as the system writes it; NIL if PLACE has no position, or if the file cannot be read or has
changed since it was loaded."
  (let ((native (and (getf place :position) (readable-source (getf place :file)))))
    (if (and native (not (source-changed-p native (getf place :created))))
        native
        nil)))

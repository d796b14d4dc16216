;;;; Which packages are the program's and which are libraries: by the folders of the files that define them.

(in-package #:cl-mcp-agent)

(defparameter *beginnings-of-libraries* '("SWANK" "SLYNK" "ASDF" "UIOP" "CL-MCP")
  "How the names of packages begin that are in each image that was joined.")

(defun library-folders ()
  "List the folders, as text, below which libraries are, and second those below them that are a person's own."
  (flet ((text-of (path)
           (let ((path (and path (ignore-errors (uiop:native-namestring path)))))
             (and path (list path)))))
    (let ((quicklisp (or (value-of "*QUICKLISP-HOME*" "QUICKLISP-CLIENT") (value-of "*QUICKLISP-HOME*" "QL"))))
      (values (append '("SYS:" "/usr/")
                      (text-of (ignore-errors (uiop:lisp-implementation-directory)))
                      (text-of quicklisp))
              (and quicklisp
                   (text-of (merge-pathnames "local-projects/" quicklisp)))))))

(defun library-file-p (file)
  (flet ((below-p (folder)
           (eql 0 (search folder file))))
    (multiple-value-bind (folders own) (library-folders)
      (and (some #'below-p folders)
           (notany #'below-p own)))))

(defconstant +symbols-asked+ 50)

(defun file-of-package (package)
  "Return the file that defines PACKAGE, or else a function of it, or NIL."
  (or (getf (place-of package) :file)
      (let ((left +symbols-asked+))
        (do-symbols (symbol package nil)
          (when (and (eq package (symbol-package symbol)) (fboundp symbol))
            (let ((file (getf (place-of (or (macro-function symbol) (fdefinition symbol))) :file)))
              (when (or file (minusp (decf left)))
                (return file))))))))

(defun program-package-p (package)
  "True if PACKAGE does not belong to the Lisp, to the agent, to the editor's server, or to a library."
  (let ((name (package-name package)))
    (or (eq package (find-package "COMMON-LISP-USER"))
        (not (or (null name)
                 (own-package-p package)
                 (some (lambda (beginning) (eql 0 (search beginning name))) *beginnings-of-libraries*)
                 (let ((file (ignore-errors (file-of-package package))))
                   (and (stringp file) (library-file-p file))))))))

(defun note-program ()
  "Record which packages are the program's when the session begins: all that they define is listed."
  (setf *library-packages* (remove-if #'program-package-p (list-all-packages))
        *snapshot-taken* t
        *known-packages* (list-all-packages)
        *known-systems* (asdf:already-loaded-systems)))

(defun library-packages-among (packages)
  (remove-if #'program-package-p packages))

;;; The heading of LIST-DEFINITIONS

(defconstant +files-named+ 12)
(defconstant +own-named+ 10)

(defun program-part (symbols counts)
  "Return the part of a reply that summarises the program: COUNTS is a list of (KIND . NUMBER), SYMBOLS is as NEW-SYMBOLS lists them."
  (let ((files (make-hash-table :test 'equal))
        (own '()))
    (when (every #'zerop (mapcar #'cdr (remove :systems counts :key #'car)))
      (return-from program-part '()))
    (loop for (symbol) in symbols
          do (loop for (nil nil place) in (ignore-errors (definitions-named symbol))
                   do (when (getf place :file)
                        (incf (gethash (getf place :file) files 0)))
                      (when (getf place :evaluation)
                        (push (list (symbol-text symbol) (getf place :evaluation)) own))))
    (list :program
          (format nil "The program: ~{~(~a~): ~d~^, ~}, in the packages ~{~a~^, ~}.~@[~%Files: ~{~a (~d)~^, ~}~]~@[~a~]~
                       ~@[~%Evaluated in this session: ~{~{~a (evaluation ~d)~}~^, ~}~]~@[~a~]"
                  (loop for (kind . number) in counts
                        when (and (plusp number) (not (member kind '(:systems :packages))))
                          append (list (substitute #\space #\- (string kind)) number))
                  (sort (mapcar #'package-name (user-packages)) #'string<)
                  (loop for (file . number) in (some-of (by-number files) 0 +files-named+)
                        append (list file number))
                  (and (> (hash-table-count files) +files-named+)
                       (format nil " and ~d more" (- (hash-table-count files) +files-named+)))
                  (some-of (remove-duplicates (nreverse own) :test #'equal) 0 +own-named+)
                  (and (> (length own) +own-named+) ", ...")))))

(defun by-number (table)
  "List (KEY . NUMBER) of TABLE, the greatest number first."
  (sort (loop for key being the hash-keys of table using (hash-value number)
              collect (cons key number))
        #'> :key #'cdr))

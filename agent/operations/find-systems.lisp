;;;; Finding systems: below the session's directory, pinned by qlot or ocicl, or where ASDF searches by
;;;; default; and similar names for one that does not exist.

(in-package #:cl-mcp-agent)

(define-session-variable *directory* nil
  "The session's directory.")

(defconstant +directories-searched+ 2000)

;;; Below the directory

(defun searched-directory-p (directory)
  "True unless DIRECTORY is hidden or is node_modules."
  (let ((name (first (last (pathname-directory directory)))))
    (not (and (stringp name)
              (or (char= #\. (char name 0))
                  (string= name "node_modules"))))))

(defconstant +systems-listed+ 5000)

(defun files-in (folder pattern)
  "List the files like PATTERN in the directory FOLDER; none if it cannot be read."
  (ignore-errors (directory (merge-pathnames pattern folder))))

(defun definition-files-below (root)
  "List the definitions below ROOT, a directory or NIL, the nearest first."
  (loop with queue = (and root (list root))
        for directory = (pop queue)
        repeat +directories-searched+
        while (and directory (<= (length files) +systems-listed+))
        append (files-in directory "*.asd") into files
        do (setf queue (append queue (remove-if-not #'searched-directory-p
                                                    (ignore-errors (uiop:subdirectories directory)))))
        finally (return files)))

(defun definition-among (files name)
  "Return the first of FILES that defines the system NAME and still exists, or NIL."
  (let ((file (find (asdf:primary-system-name name) files :key #'pathname-name :test #'equal)))
    (and file (probe-file file))))

(define-session-variable *definitions-below* '(nil)
  "The id of a request and the definitions below *DIRECTORY* as they were then. ASDF asks for each dependency, and walking
a large directory each time would take seconds.")

(defun definitions-below-directory ()
  (unless (and *id* (eql *id* (car *definitions-below*)))
    (setf *definitions-below* (cons *id* (definition-files-below *directory*))))
  (cdr *definitions-below*))

(defun search-directory (name)
  "Find the definition of the system NAME below *DIRECTORY*, for ASDF. It takes precedence over installed systems."
  (definition-among (definitions-below-directory) name))

(defun search-directory-anew (name)
  "Find, for ASDF, the definition of the system NAME below *DIRECTORY* that the current request has created."
  (definition-among (definition-files-below *directory*) name))

;;; Systems that a project has pinned take precedence over installed ones

(defun qlot-directory ()
  "Return the directory in which qlot keeps the project's pinned systems, or NIL."
  (and *directory* (uiop:directory-exists-p (merge-pathnames ".qlot/" *directory*))))

(defun lines-of-file (path)
  (ignore-errors (uiop:read-file-lines path :external-format '(:utf-8 :replacement #\?))))

(defun installed-file (home name)
  "Return the file of the system NAME in an installation like Quicklisp's at HOME, or NIL."
  (or (loop for index in (files-in home (format nil "dists/*/installed/systems/~a.txt" name))
            for path = (first (lines-of-file index))
              thereis (and path (probe-file (merge-pathnames (trimmed path) home))))
      (first (files-in home (format nil "dists/*/software/*/~a.asd" name)))
      (definition-among (local-files home) name)))

(defun local-files (home)
  "List the definitions of the local projects of an installation like Quicklisp's at HOME."
  (definition-files-below (uiop:directory-exists-p (merge-pathnames "local-projects/" home))))

(defun ocicl-entries ()
  "List (NAME . FILE) for what ocicl has pinned in the project. A line of its list holds the system, the
image it came in and the definition's file, which is below one of two directories."
  (when *directory*
    (loop for list in '("ocicl.csv" "systems.csv")
          for path = (probe-file (merge-pathnames list *directory*))
          when path
            return (loop for line in (lines-of-file path)
                         for (name nil file) = (mapcar #'trimmed (uiop:split-string line :separator ","))
                         for found = (and file
                                          (string/= file "")
                                          (loop for root in '("ocicl/" "systems/")
                                                for directory = (merge-pathnames root *directory*)
                                                  thereis (probe-file (merge-pathnames file directory))))
                         when found
                           collect (cons name found)))))

(defun search-pinned (name)
  "Find the definition of the system NAME among what the project has pinned, for ASDF."
  (when *directory*
    (let ((name (asdf:primary-system-name name))
          (qlot (qlot-directory)))
      (or (and qlot (installed-file qlot name))
          (cdr (assoc name (ocicl-entries) :test #'string-equal))))))

(defun search-also ()
  "Make ASDF search where projects keep systems. Pinned systems and those below the session's directory come after
ASDF:*CENTRAL-REGISTRY*, which contains that directory, and before installed ones."
  (setf asdf:*system-definition-search-functions*
        (append (loop for function in asdf:*system-definition-search-functions*
                      collect function
                      when (string= function "SYSDEF-CENTRAL-REGISTRY-SEARCH")
                        collect 'search-pinned
                        and collect 'search-directory)
                (list 'search-directory-anew))))

;;; Kinds of places

(defun home-directory (name)
  (merge-pathnames name (user-homedir-pathname)))

(defun quicklisp-home ()
  "Return the directory of the Quicklisp that this session uses or would use, or NIL."
  (let ((home (value-of "*QUICKLISP-HOME*" "QL-SETUP")))
    (if home
        (uiop:directory-exists-p home)
        (loop for name in '("quicklisp/" ".quicklisp/" ".local/share/quicklisp/")
              for directory = (home-directory name)
              when (probe-file (merge-pathnames "setup.lisp" directory))
                return directory))))

(defun places ()
  "List (KEYWORD . TEST) for the kinds of places at which definitions are, most specific first."
  (flet ((below (directory)
           (and directory (lambda (path) (uiop:subpathp path directory)))))
    (let ((pinned (mapcar #'cdr (ocicl-entries))))
      (remove nil
              (list (cons :qlot (below (qlot-directory)))
                    (cons :ocicl (and pinned (lambda (path) (member path pinned :test #'equal))))
                    (cons :project (below *directory*))
                    (cons :quicklisp (below (quicklisp-home)))
                    (cons :home (below (home-directory "common-lisp/")))
                    (cons :home (below (home-directory ".local/share/common-lisp/")))
                    (cons :machine (below #p"/usr/share/common-lisp/"))
                    (cons :lisp (below (ignore-errors
                                    (truename (uiop:lisp-implementation-directory))))))
              :key #'cdr))))

(defun place-of-file (path &optional (places (places)))
  "Return a keyword for the kind of place at which the definition PATH of a system is."
  (cond ((null path) :image)
        ((car (find-if (lambda (place) (funcall (cdr place) path)) places)))
        (t :registry)))

;;; All systems

(defun installed-files (home)
  (when home
    (append (files-in home "dists/*/software/*/*.asd") (local-files home))))

(defun central-files ()
  "List the definitions in the directories of ASDF's central registry."
  (loop for directory in asdf:*central-registry*
        append (files-in (ignore-errors (eval directory)) "*.asd")))

(defun known-definition-files ()
  "List (NAME . FILE) for each system that has a file of its name, with NIL for FILE if it is loaded and
has no file. If several have the same name, the first is the one that ASDF uses."
  (asdf:ensure-source-registry)
  (flet ((named (files)
           (loop for file in files collect (cons (pathname-name file) file))))
    (let ((all (append (loop for name in (asdf:registered-systems)
                             for system = (asdf::registered-system name)
                             when (and system (or (string= name (asdf:primary-system-name name))
                                                  (asdf:component-loaded-p system)))
                               collect (cons name (ignore-errors (asdf:system-source-file system))))
                       (named (central-files))
                       (ocicl-entries)
                       (named (installed-files (qlot-directory)))
                       (loop for name being the hash-keys of asdf/source-registry:*source-registry*
                               using (hash-value file)
                             collect (cons name file))
                       (named (definition-files-below *directory*))
                       (named (installed-files (quicklisp-home))))))
      (loop for previous = nil then (car entry)
            for entry in (stable-sort all #'string< :key #'car)
            unless (equal previous (car entry))
              collect entry))))

;;; Similar names for an unknown one

(defun systems-in-sight ()
  "List the names of the systems that ASDF finds without searching."
  (append
   (ignore-errors
    (loop for name being the hash-keys of asdf/source-registry:*source-registry*
          collect name))
   (mapcar #'pathname-name (central-files))))

(defun offer-systems (name)
  "Return a sentence with the systems whose names are similar to NAME, or NIL."
  (offer (near-strings name (append (asdf:registered-systems) (systems-in-sight))) "the system "))

(defun file-as-system-hint (name)
  "Return a sentence if NAME, which names no system, looks like the name of a file."
  (let ((type (pathname-type (uiop:parse-native-namestring name))))
    (cond ((equalp type "lisp")
           "This looks like the path of a file: load it with path in place of system.")
          ((or (equalp type "asd") (eql 0 (position #\/ name)))
           "ASDF takes the name of a system. The tool load-system also takes the path of an .asd file."))))

(defun system-hint (condition)
  "Return a correction, similar names or where to look if CONDITION reports an unknown system."
  (when (typep condition 'asdf:missing-component)
    (let ((name (princ-to-string (asdf/find-component:missing-requires condition))))
      (or (file-as-system-hint name)
          (offer-systems name)
          "list-systems lists the systems that are found here; load-system with quicklisp: true can download others."))))

(defun meant-system-name (name)
  "Return the system's actual name for NAME, which may be in upper case."
  (if (or (string= name (string-downcase name))
          (not (absent-system-p name))
          (absent-system-p (string-downcase name)))
      name
      (string-downcase name)))

(defun definition-path (name)
  "Return NAME as a pathname if it is the path of a definition, or NIL."
  (and (uiop:string-suffix-p name ".asd")
       (merge-pathnames (uiop:parse-native-namestring name))))

(defun designated-system-name (text path)
  "Return the name of the system that TEXT denotes, or refuse if there is none. PATH is its DEFINITION-PATH."
  (let ((name (if path (pathname-name path) (meant-system-name text))))
    (when (if path (null (probe-file path)) (absent-system-p name))
      (refuse-absent-system text))
    name))

(defun find-system-here (name)
  "Return the system NAME or NIL. Finding it loads its definition, unless nothing may run."
  (if (runs-nothing-p)
      (asdf::registered-system (asdf:coerce-name name))
      (asdf:find-system name nil)))

(defun absent-system-p (name)
  "True if ASDF has no system NAME, which may be a path. This does not cover a definition that cannot be loaded:
loading the system reports that."
  (let ((messages (make-string-output-stream)))
    (handler-case (or (eql 0 (position #\/ name))
                      (prog1 (handler-bind ((warning #'muffle-warning))
                               (let ((*error-output* messages))
                                 (null (find-system-here name))))
                        (write-string (get-output-stream-string messages) *error-output*)))
      ;; Loading the system prints them again.
      (error () nil))))

(defun refuse-absent-system (name)
  "Refuse because there is no system NAME."
  (refuse "There is no system ~a.~@[~%~a~]" name (or (file-as-system-hint name) (offer-systems name))))

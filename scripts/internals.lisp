;;;; Compares SBCL's internals that the agent names with the list in agent/ports/sbcl/internals.txt; scripts/internals runs it.
;;;;
;;;; A line of the list is a name, a description of what it names, and the releases in which that is so. Names are found in
;;;; the text of the agent's port: symbols with an SB- package, and in variants.lisp strings that some releases lack.

(require :sb-introspect)
(require :sb-posix)
(require :sb-sprof)

(defpackage #:internals (:use #:cl))
(in-package #:internals)

(defparameter *list* #p"agent/ports/sbcl/internals.txt")
(defparameter *sources* (directory "agent/ports/sbcl/*.lisp"))

(defun file-lines (path)
  (with-open-file (stream path :external-format :utf-8 :if-does-not-exist nil)
    (and stream
         (loop for line = (read-line stream nil)
               while line
               collect line))))

(defun code-part (line)
  "Return LINE without a comment."
  (subseq line 0 (position #\; line)))

(defun name-end (text start)
  (or (position-if (lambda (character) (find character " ()'`,\"#|")) text :start start)
      (length text)))

(defun qualified-names (text)
  "List (PACKAGE NAME) for the symbols in TEXT that are written with a package of SBCL's."
  (let ((names '()))
    (loop for start = (search "sb-" text) then (search "sb-" text :start2 (1+ start))
          while start
          do (let* ((end (name-end text start))
                    (colon (position #\: text :start start :end end)))
               (when (and colon (or (zerop start) (find (char text (1- start)) " ()'`,@")))
                 (pushnew (list (string-upcase (subseq text start colon))
                                (string-upcase (string-left-trim ":" (subseq text colon end))))
                          names :test #'equal))))
    names))

(defun quoted-names (text)
  "List (PACKAGE NAME) for two strings side by side in TEXT of which the second is a package of SBCL's."
  (let ((parts (loop with start = 0
                     for quote = (position #\" text :start start)
                     collect (subseq text start quote)
                     while quote
                     do (setf start (1+ quote)))))
    ;; Every second part is a string.
    (loop for (name between package) on (rest parts) by #'cddr
          when (and package (string= " " between) (eql 0 (search "SB-" package))
                    (not (eql 0 (search "SB-" name))))
            collect (list package name))))

(defun names-in-use ()
  (let ((names '()))
    (dolist (path *sources*)
      (dolist (line (file-lines path))
        (dolist (name (append (qualified-names (code-part line)) (quoted-names (code-part line))))
          (pushnew name names :test #'equal))))
    (sort names #'string< :key (lambda (name) (format nil "~{~a::~a~}" name)))))

(defun structure-name (symbol)
  "Return the class of the value of the variable SYMBOL as far as it is the same in every process."
  (let ((value (symbol-value symbol)))
    (typecase value
      (null nil)
      (hash-table 'hash-table)
      (simple-vector 'simple-vector)
      (structure-object (type-of value))
      (t nil))))

(defun description (package name)
  "Describe what the symbol NAME of PACKAGE names in this SBCL, on one line."
  (let ((symbol (and (find-package package) (find-symbol name package)))
        (*package* (find-package "KEYWORD"))
        (*print-pretty* nil))
    (if (null symbol)
        "missing"
        (format nil "~:[nothing known~;~:*~{~a~^, ~}~]"
                (append
                 (cond ((special-operator-p symbol) (list "special operator"))
                       ((macro-function symbol)
                        (list (format nil "macro ~:[()~;~:*~(~a~)~]" (sb-introspect:function-lambda-list symbol))))
                       ((fboundp symbol)
                        (list (format nil "function ~:[()~;~:*~(~a~)~]" (sb-introspect:function-lambda-list symbol)))))
                 (let ((kind (sb-int:info :variable :kind symbol)))
                   (cond ((eq kind :unknown) '())
                         ((eq kind :constant) (list "constant"))
                         (t (list (format nil "~(~a~) variable~@[ of type ~a~]" kind
                                          (and (boundp symbol) (structure-name symbol)))))))
                 (let ((class (find-class symbol nil)))
                   (when class
                     (list (format nil "~(~a~)~@[ with slots ~(~{~a~^ ~}~)~]" (class-name (class-of class))
                                   (and (typep class 'structure-class)
                                        (mapcar #'sb-mop:slot-definition-name (sb-mop:class-slots class))))))))))))

(defun release ()
  "Return the release of this SBCL without what a distribution has added to it."
  (let ((version (lisp-implementation-version)))
    (string-right-trim "." (subseq version 0 (position-if-not (lambda (character) (find character "0123456789."))
                                                              version)))))

(defun split (line)
  (loop with start = 0
        for bar = (search " | " line :start2 start)
        collect (subseq line start bar)
        while bar
        do (setf start (+ bar 3))))

(defun read-list ()
  "Return the list as ((NAME DESCRIPTION RELEASES) ...)."
  (loop for line in (file-lines *list*)
        unless (or (string= "" line) (char= #\; (char line 0)))
          collect (split line)))

(defun write-list (entries)
  (with-open-file (stream *list* :direction :output :if-exists :supersede :external-format :utf-8)
    (format stream ";;;; SBCL's internals that the agent names: name | what it is | in which releases. Written by scripts/internals --record.~%")
    (format stream "~{~{~a | ~a | ~a~}~%~}" (sort (copy-list entries) #'string< :key (lambda (entry) (format nil "~{~a ~}" entry))))))

(defun note-entry (entries name description)
  "Return ENTRIES with this release added to that of NAME and DESCRIPTION."
  (let ((entry (find-if (lambda (entry) (and (string= name (first entry)) (string= description (second entry)))) entries)))
    (cond ((null entry) (cons (list name description (release)) entries))
          ((search (release) (third entry)) entries)
          (t (setf (third entry) (format nil "~a ~a" (third entry) (release)))
             entries))))

(let* ((entries (read-list))
       (record (member "record" sb-ext:*posix-argv* :test #'string=))
       (used (loop for (package name) in (names-in-use)
                   collect (list (format nil "~a::~a" package name) (description package name))))
       (differences 0))
  (when record
    (setf entries (remove-if-not (lambda (entry) (find (first entry) used :key #'first :test #'string=)) entries))
    (loop for (name description) in used
          do (setf entries (note-entry entries name description)))
    (write-list entries))
  (loop for (name description) in used
        for known = (remove name entries :key #'first :test #'string/=)
        do (unless (find description known :key #'second :test #'string=)
             (incf differences)
             (format t "~a~%  here: ~a~%~:{  ~*~a: ~a~%~}~:[~;  not in the list~%~]" name description
                     (mapcar (lambda (entry) (list nil (third entry) (second entry))) known)
                     (null known))))
  (format t "SBCL ~a: ~d names, ~:[~d missing or different~;all as recorded~]~%" (lisp-implementation-version) (length used)
          (zerop differences) differences)
  (sb-ext:exit :code (if (zerop differences) 0 1)))

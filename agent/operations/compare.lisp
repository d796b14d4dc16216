;;;; How the image and the files differ. What was loaded of a file is known by its text at that time, what was evaluated by the
;;;; journal, which the server sends, and which of both the image has by the place that is recorded with each definition.

(in-package #:cl-mcp-agent)

(defconstant +file-octets+ (ash 4 20)
  "A larger file is not compared.")
(defconstant +forms-compared+ 40000)
(defconstant +comparing-seconds+ 3)
(defconstant +callers-named+ 3)
(defconstant +effects-named+ 5)

;;; The files that are the session's own

(defparameter *foreign-directories* '(".qlot" "ocicl" "systems" "quicklisp" "common-lisp" "node_modules")
  "Directories in that of the session which hold what others wrote.")

(defun own-source-p (file &optional system)
  "True if FILE, a source file or the definition of a system, is the session's own, and so is each of the system it loads by name."
  (and file
       (or (and system *loading*
                (equal (asdf:primary-system-name system) (asdf:primary-system-name *loading*)))
           (let ((below (and *directory* (uiop:subpathp file *directory*))))
             (and below
                  (null (intersection (rest (pathname-directory below)) *foreign-directories* :test #'equal)))))))

(defun shown-file (native)
  "Return NATIVE, the name of a file, relative to the session's directory if it is in there."
  (let ((root (and *directory* (uiop:native-namestring *directory*))))
    (if (and root (prefix-p root native))
        (subseq native (length root))
        native)))

(defun true-name (file)
  (or (ignore-errors (uiop:native-namestring (truename file)))
      (uiop:native-namestring file)))

(defun source-files (component)
  "List the Lisp files of COMPONENT, of a system, as the system writes their names."
  (cond ((typep component 'asdf:cl-source-file)
         (list (uiop:native-namestring (asdf:component-pathname component))))
        ((typep component 'asdf:parent-component)
         (loop for child in (asdf:component-children component)
               when (let ((feature (ignore-errors (asdf::component-if-feature child))))
                      (or (null feature) (uiop:featurep feature)))
                 append (source-files child)))))

(defun files-of-system (name)
  "List the files of the loaded system NAME, and of loaded ones that are defined with it."
  (loop for other in (asdf:already-loaded-systems)
        when (equal (asdf:primary-system-name other) (asdf:primary-system-name name))
          append (source-files (asdf::registered-system other))))

(defun files-to-compare (system path)
  (cond (path (list (uiop:native-namestring (merge-pathnames (uiop:parse-native-namestring path) (or *directory* (uiop:getcwd))))))
        (system
         (or (files-of-system (string-downcase system))
             (refuse-absent t "The system ~a is not loaded, or has no Lisp files, so there is nothing to compare.~@[~%~a~]" system
                            (offer (near-strings system (asdf:already-loaded-systems))))))
        (t
         (append (loop for name in (reverse (asdf:already-loaded-systems))
                       for loaded = (asdf::registered-system name)
                       when (and loaded (own-source-p (ignore-errors (asdf:system-source-file loaded))))
                         append (source-files loaded))
                 (sort (files-with-texts) #'string<)))))

;;; What the image has

(defun method-of-key (function qualifiers specializers)
  "Return the method of FUNCTION that is defined with these, as they are written."
  (flet ((fits-p (written actual)
           (cond ((symbolp actual) (eq written actual))
                 ((and (consp actual) (consp written))
                  (let ((form (second written)))
                    (cond ((and (consp form) (eq 'quote (first form))) (eql (second form) (second actual)))
                          ((constantp form) (or (symbolp form) (eql form (second actual))))
                          (t t)))))))
    (find-if (lambda (method)
               (multiple-value-bind (name its-qualifiers its-specializers) (method-signature method)
                 (declare (ignore name))
                 (and (equal qualifiers its-qualifiers)
                      (= (length specializers) (length its-specializers))
                      (every #'fits-p specializers its-specializers))))
             (if specializers
                 (let ((class (find-if (lambda (name) (and name (symbolp name) (not (eq t name)) (find-class name nil)))
                                       specializers)))
                   ;; A generic function may have thousands of methods, a class has few.
                   (if class
                       (remove function (all-methods-on-class (find-class class)) :test-not #'eq
                                       :key (lambda (method) (mop method-generic-function method)))
                       (methods-of-function function)))
                 (methods-of-function function)))))

(defun definition-of-key (key)
  "Return true if the image has a definition of KEY; then its place, and the object. A place is NIL if it is not known."
  (destructuring-bind (kind name &rest more) key
    (let* ((function (and (typep name '(or symbol cons)) (not (member kind '(:package :form))) (function-named name)))
           (object (case kind
                     ((:function :generic-function :macro) function)
                     (:method (and (typep function 'generic-function)
                                   (method-of-key function (first more) (second more))))
                     (:compiler-macro (compiler-macro-function name))
                     ((:class :structure :condition) (and (symbolp name) (find-class name nil)))
                     (:package (find-package name))))
           (found (or object
                      (and (symbolp name)
                           (case kind
                             ((:variable :constant :symbol-macro) (variable-kind name))
                             (:setf-expander (nth-value 1 (expanders name)))
                             (:structure (member :structure (special-definitions name)))
                             (:type (or (member :type (special-definitions name)) (find-class name nil)))
                             (:method-combination (member :method-combination (special-definitions name)))))))
           (place (and found
                       (place-as name (if (eq kind :generic-function) :generic-function kind) object))))
      (values (and found t) place object))))

(defun callers-text (key)
  "Return in words who refers to the definition of KEY, a function or macro, or NIL."
  (destructuring-bind (kind name &rest more) key
    (declare (ignore more))
    (when (member kind '(:function :generic-function :macro))
      (let ((texts (loop for (object caller) in (references-to (if (eq kind :macro) :macroexpands :calls) name)
                         unless (equal caller name)
                           collect (referrer-text object caller))))
        (and texts
             (format nil "called by ~a" (listed (sort (remove-duplicates texts :test #'string=) #'string<) +callers-named+)))))))

;;; Files

(defstruct (compared (:constructor make-compared (native)))
  "A file: what its text defines now, what it defined when it was loaded, both tables from keys to lists of WRITTEN structures; and the
number of the evaluation that loaded it, and the texts that it had when it was loaded."
  native
  (current (make-hash-table :test #'equal))
  (loaded nil)
  (evaluation 0)
  (order '())                           ; the current keys, in their order
  (problem nil))

(defun table-of (written)
  (let ((table (make-hash-table :test #'equal)))
    (dolist (one written table)
      (push one (gethash (written-key one) table)))))

(defun definitions-of-octets (octets)
  (definitions-of-text (text-of-octets octets) "COMMON-LISP-USER"))

(defun read-file-to-compare (native)
  "Return what there is to compare of the file NATIVE."
  (let* ((file (make-compared native))
         (octets (and (probe-file native) (file-octets native +file-octets+))))
    (multiple-value-bind (texts evaluation) (loaded-texts native)
      (setf (compared-evaluation file) (or evaluation 0))
      (cond ((null octets)
             (setf (compared-problem file)
                   (if (ignore-errors (probe-file native))
                       (format nil "not compared: it cannot be read, is not an ordinary file, or is larger than ~d MiB"
                               (ash +file-octets+ -20))
                       (if texts "the file is gone" "there is no such file"))))
            (t
             (multiple-value-bind (written unread complete) (definitions-of-octets octets)
               (setf (compared-current file) (table-of written)
                     (compared-order file) (remove-duplicates (mapcar #'written-key written) :test #'equal :from-end t)
                     (compared-problem file)
                     (cond ((not complete) "only its first part is compared: too many forms")
                           ;; In a text that was loaded it is behind a feature that only evaluation tells.
                           ((and unread (not (equalp octets (first texts))))
                            (format nil "~d form~:p cannot be read; the first, line ~d: ~a" (length unread)
                                    (car (first unread)) (cdr (first unread)))))))))
      (setf (compared-loaded file)
            (cond ((null texts) nil)
                  ((or (eq t (first texts)) (equalp octets (first texts))) (compared-current file))
                  ((eq t (first texts)) nil)
                  (t (table-of (definitions-of-octets (first texts))))))
      (when (and octets (null texts))
        (setf (compared-problem file) "what was loaded of it is not known: it was loaded by other means, or has changed since"
              (compared-loaded file) (compared-current file)))
      (values file (remove t (rest texts))))))

(defun earlier-keys (texts)
  "List the keys of what TEXTS, octets, define."
  (remove-duplicates (loop for octets in texts
                           append (mapcar #'written-key (definitions-of-octets octets)))
                     :test #'equal))

(defun placed-in-p (place native)
  (and (getf place :file)
       (string= native (true-name (getf place :file)))))

(defun gone-keys (native keys)
  "List those of KEYS, which the file NATIVE no longer defines, that the image still has from it."
  (loop for key in keys
        when (and (not (eq :form (first key)))
                  (multiple-value-bind (found place) (definition-of-key key)
                    (and found (placed-in-p place native))))
          collect key))

;;; What a load has done, told once

(define-session-variable *replaced* '()
  "(NAME EVALUATION) for the evaluated functions that a file has replaced, until they are told.")
(define-session-variable *told-gone* '()
  "(FILE . KEY) for what was told to be gone from its file.")

(defun call-loading-file (file system function)
  "Call FUNCTION, which loads FILE, of SYSTEM or NIL; remember its text if it is the session's own."
  (let ((octets (and file
                     (or (null system) (own-source-p file system))
                     (ignore-errors (file-octets (uiop:native-namestring file) +file-octets+)))))
    (multiple-value-prog1 (funcall function)
      (when octets
        (note-loaded-text file octets *evaluation*)
        (pushnew (true-name file) *files-loaded* :test #'string=)))))

(defun note-replaced (name)
  "The function NAME is about to be redefined: if it was evaluated and a file is being loaded, the file replaces it."
  (when (and *load-truename* *loading* (typep name '(or symbol cons)))
    (let* ((function (ignore-errors (function-named name)))
           (evaluation (and function (getf (place-of function) :evaluation))))
      (when evaluation
        (pushnew (list name evaluation) *replaced* :test #'equal)))))

(defun gone-since-load (native)
  "List the keys that the file NATIVE, which was just loaded, has defined before and defines no longer. Texts that tell of none are
forgotten."
  (let ((texts (loaded-texts native)))
    (when (rest texts)
      (let* ((newest (table-of (definitions-of-octets (first texts))))
             (gone (gone-keys native (remove-if (lambda (key) (gethash key newest)) (earlier-keys (rest texts))))))
        (unless gone
          (keep-loaded-texts native (list (first texts))))
        gone))))

(defun untold-gone (native)
  "Return what GONE-SINCE-LOAD does for the file NATIVE, without what was told when it was loaded before."
  (let ((gone (ignore-errors (gone-since-load native)))
        (told (loop for (file . key) in *told-gone*
                    when (string= file native)
                      collect key)))
    (setf *told-gone* (append (loop for key in gone
                                    collect (cons native key))
                              (remove native *told-gone* :key #'car :test #'string=)))
    (set-difference gone told :test #'equal)))

(defun load-effects-part ()
  "Return the part of a reply about what the load has done to the session: :REPLACED and :GONE, what was not told before."
  (let ((*forms-left* +forms-compared+)
        (readtable *readtable*))
    (with-agent-syntax ()
      (let* ((*readtable* readtable)
             (replaced (reverse (shiftf *replaced* '())))
             (gone (call-with-reading-packages
                    (lambda ()
                      (loop for native in (reverse *files-loaded*)
                            append (loop for key in (untold-gone native)
                                         collect (list native (key-title key) (callers-text key))))))))
        (append
         (if replaced
             (list :replaced (loop for (name evaluation) in (some-of replaced 0 +effects-named+)
                                   collect (list (name-text name) evaluation))
                   :more-replaced (max 0 (- (length replaced) +effects-named+)))
             '())
         (if gone
             (list :gone (loop for (native title callers) in (some-of gone 0 +effects-named+)
                               collect (given :file (shown-file native) :name title :callers callers))
                   :more-gone (max 0 (- (length gone) +effects-named+)))
             '()))))))

;;; The comparison

(defun name-in-key (name)
  (cond ((consp name) (format nil "(SETF ~a)" (name-in-key (second name))))
        ((symbolp name)
         (let* ((package (written-package-name name))
                (home (and package (find-package package))))
           (cond ((or (null package) (eq home *package*) (eq name (find-symbol (symbol-name name) *package*)))
                  (symbol-name name))
                 (t (format nil "~a~:[::~;:~]~a" package (and home (exported-from-p name home)) (symbol-name name))))))
        ((stringp name) name)
        (t (item-text name 40))))

(defun key-title (key)
  "Return what KEY stands for in words."
  (destructuring-bind (kind name &rest more) key
    (case kind
      (:method (format nil "method ~a~{ ~s~} (~{~a~^ ~})" (name-in-key name) (first more)
                       (loop for specializer in (second more)
                             collect (if (consp specializer)
                                         (item-text specializer 60)
                                         (name-in-key specializer)))))
      (:form (format nil "~(~a~) ~a" (if (symbolp (first more)) (symbol-name (first more)) (first more)) (name-in-key name)))
      (t (format nil "~(~a~) ~a" (substitute #\space #\- (symbol-name kind)) (name-in-key name))))))

(defun same-definitions-p (some others)
  (and (= (length some) (length others))
       (loop for one in some
             for other in others
             always (same-form-p (written-form one) (written-form other)))))

(defun session-table (definitions)
  "Return a table from keys to (EVALUATION . WRITTEN) for what DEFINITIONS, from the journal, define; the last counts."
  (let ((table (make-hash-table :test #'equal)))
    (loop for (code package evaluation start end) in definitions
          do (dolist (written (definitions-of-text code (string-left-trim "#:" (or package "COMMON-LISP-USER")) (or start 0) end))
               (setf (gethash (written-key written) table) (cons evaluation written))))
    table))

(defun stored-in-p (evaluated file)
  "True if EVALUATED, (EVALUATION . WRITTEN), was written into FILE."
  (and evaluated
       (loop for (evaluation start native end) in *stored-definitions*
               thereis (and (= evaluation (car evaluated))
                            (<= start (written-start (cdr evaluated)) end)
                            (string= native (compared-native file))))))

(defun lines-text (count)
  (format nil "~d line~:p" count))

(defun value-note (written)
  "Return in words how the value of the variable that WRITTEN defines differs from its initial form, a constant; or NIL."
  (let ((form (written-form written)))
    (when (and (eq :variable (first (written-key written))) (consp form) (consp (cddr form)))
      (let ((name (second form))
            (initial (third form)))
        (when (and (symbolp name) (boundp name) (typep initial '(or number string character keyword (member t)))
                   (not (equal initial (symbol-value name))))
          (format nil "its value is ~a, its initial form ~a"
                  (if (typep (symbol-value name) '(or number string character symbol))
                      (item-text (symbol-value name) 40)
                      "another")
                  (item-text initial 40)))))))

(defvar *differences*)

(defun differ (group key file &key line evaluation note)
  (push (given :name (key-title key) :file (and file (shown-file (compared-native file)))
               :line line :evaluation evaluation :note note)
        (getf *differences* group)))

(defun compare-written (key file files session)
  "Compare what the file FILE defines as KEY with what was loaded of it and with the image."
  (let* ((current (gethash key (compared-current file)))
         (first (first (last current)))
         (line (written-line first))
         (evaluated (gethash key session))
         (stored (stored-in-p evaluated file))
         (loaded (if stored
                     (list (cdr evaluated))
                     (and (compared-loaded file) (gethash key (compared-loaded file)))))
         (edited (not (same-definitions-p current loaded))))
    (multiple-value-bind (found place) (definition-of-key key)
      (flet ((tell (group &rest more)
               (apply #'differ group key file :line line more)))
        (cond
          ((and evaluated (not stored)
                (if (eq :form (first key))
                    (> (car evaluated) (compared-evaluation file))
                    (eql (car evaluated) (getf place :evaluation))))
           (unless (same-definitions-p current (list (cdr evaluated)))
             (tell :replaced :evaluation (car evaluated)
                             :note (format nil "~a here, ~a in the file~:[~;, which was edited too~]"
                                           (lines-text (written-lines (cdr evaluated)))
                                           (lines-text (written-lines first))
                                           (and loaded edited)))))
          ((and found (getf place :evaluation) (not stored))
           (tell :replaced :evaluation (getf place :evaluation) :note "the text of that evaluation is no longer kept"))
          (loaded
           (cond ((and edited (or (some (lambda (written) (unevaluated-p (written-form written))) current)
                                  (some (lambda (written) (unevaluated-p (written-form written))) loaded)))
                  (tell :uncomparable))
                 (edited (tell :changed))
                 ((and (not found) (member (first key) '(:function :macro :generic-function)))
                  (tell :unloaded :note "it was loaded, but is no longer defined here"))
                 ((value-note first)
                  (tell :values :note (value-note first)))))
          (t
           (let ((former (find-if (lambda (other)
                                    (and (not (eq other file))
                                         (compared-loaded other)
                                         (gethash key (compared-loaded other))
                                         (not (gethash key (compared-current other)))))
                                  files)))
             (cond (former
                    (tell :moved :note (format nil "loaded from ~a~:[~;, and changed~]" (shown-file (compared-native former))
                                               (not (same-definitions-p current (gethash key (compared-loaded former)))))))
                   ((and found (placed-in-p place (compared-native file))
                         (null (compared-loaded file))))
                   (t (tell :unloaded))))))))))

(defun compare-files (natives definitions every)
  "Compare the files NATIVES with the image and with DEFINITIONS, from the journal; only those in their packages unless EVERY is true.
Returns the differences, how many definitions of how many files were compared, and how many files were not."
  (let* ((*differences* '())
         (deadline (+ (get-internal-real-time) (* +comparing-seconds+ internal-time-units-per-second)))
         (earlier '())
         (left natives)
         (files (loop while (and left (plusp *forms-left*) (< (get-internal-real-time) deadline))
                      collect (multiple-value-bind (file texts) (read-file-to-compare (pop left))
                                (push (cons file texts) earlier)
                                file)))
         (session (session-table definitions))
         (somewhere (make-hash-table :test #'equal))
         (packages '()))
    (dolist (file files)
      (when (compared-problem file)
        (push (given :name (shown-file (compared-native file)) :note (compared-problem file)) (getf *differences* :problems)))
      (loop for key in (compared-order file)
            do (setf (gethash key somewhere) t)
               (pushnew (written-package (first (gethash key (compared-current file)))) packages :test #'equal)))
    (dolist (file files)
      (dolist (key (compared-order file))
        (compare-written key file files session)))
    (loop for (file . texts) in (reverse earlier)
          for native = (compared-native file)
          for lost = (remove-if (lambda (key) (gethash key somewhere))
                                (append (and (compared-loaded file)
                                             (loop for key being the hash-keys of (compared-loaded file) collect key))
                                        (earlier-keys texts)))
          do (dolist (key (remove-duplicates lost :test #'equal))
               (when (or (gone-keys native (list key))
                         (and (eq :form (first key)) (gethash key (compared-loaded file))
                              (null (gethash key session))))
                 (differ :gone key file :note (and (< (length (getf *differences* :gone)) 20) (callers-text key))))))
    (loop for key being the hash-keys of session using (hash-value (evaluation . written))
          unless (gethash key somewhere)
            do (when (and (or every (member (written-package written) packages :test #'equal))
                          (or (eq :form (first key))
                              (eql evaluation (getf (nth-value 1 (definition-of-key key)) :evaluation))))
                 (differ :session key nil :evaluation evaluation)))
    (values *differences* (hash-table-count somewhere) (length files) (length left))))

(define-operation :compare-with-files (&rest arguments &key system path definitions (from 0))
  (let ((readtable *readtable*)
        (*forms-left* +forms-compared+))
    (with-agent-syntax ()
      (let* ((*readtable* readtable)
             (natives (remove-duplicates (mapcar #'true-name (files-to-compare system path)) :test #'string= :from-end t)))
        (call-with-reading-packages
         (lambda ()
           (multiple-value-bind (differences definitions files left)
               (compare-files natives definitions (not (or system path)))
             (list* *id* :ok :definitions definitions :files files :left left
                    (loop for (group items) on differences by #'cddr
                          append (let ((shown (part-of-list (reverse items) arguments)))
                                   (list group (list :total (length items)
                                                     :more (max 0 (- (length items) from (length shown)))
                                                     :next (+ from (length shown))
                                                     :items shown))))))))))))

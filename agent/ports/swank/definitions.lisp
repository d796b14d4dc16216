;;;; The agent's port to the Lisps that Swank knows: what is known about definitions: what they are, where each is, who refers
;;;; to what, the parts of classes and generic functions.

(in-package #:cl-mcp-agent)

;;; Whose names are whose

(defparameter *own-packages*
  '("COMMON-LISP" "KEYWORD" "SYSTEM" "SI" "CLOS" "EXT" "MP" "GRAY" "FFI" "C" "COMPILER" "WALKER" "SERVE-EVENT" "PROFILE"
    "EXTENSIONS" "JVM" "PRECOMPILER" "MOP" "JAVA" "THREADS" "LOOP" "FORMAT" "XP" "PROFILER" "GRAY-STREAMS" "TOP-LEVEL"
    "INSPECT" "URL" "ANSI-LOOP" "SEQUENCE" "ABCL-INTROSPECT" "DISASSEMBLER" "ASDF-USER" "CCL" "CLISP")
  "Packages of Lisps. Names that two Lisps use for different packages are not here.")

(implement own-package-p (package)
  (let ((name (package-name package)))
    (or (null name)
        (not (null (member name *own-packages* :test #'string=)))
        (some (lambda (beginning) (eql 0 (search beginning name)))
              '("SWANK" "SLYNK" "SB-" "UIOP" "ASDF")))))

(implement public-symbol-p (symbol)
  (let ((package (symbol-package symbol)))
    (or (null package)
        (and (not (member (package-name package) *packages-of-agent* :test #'string=))
             (or (not (own-package-p package))
                 (and (not (eql 0 (search "S" (package-name package))))
                      (eq :external (nth-value 1 (find-symbol (symbol-name symbol) package)))))))))

;;; Places

(defun place-of-location (location)
  "Return the place, as PLACE-OF does, that LOCATION of the backend's means, or NIL."
  (let ((file (and (consp location)
                   (eq :location (first location))
                   (find-if (lambda (part) (and (consp part) (eq :file (first part)))) (rest location))))
        (position (and (consp location)
                       (find-if (lambda (part) (and (consp part) (eq :position (first part)))) (rest location)))))
    (if (and file (stringp (second file)) (not (eql 0 (search "jar:" (second file)))))
        (list :file (second file) :position (if (integerp (second position)) (max 0 (1- (second position))) nil))
        '())))

(implement place-of (object)
  (if (typep object '(or function method class))
      (ignore-errors (place-of-location (backend find-source-location object)))
      '()))

(implement file-text (namestring position limit)
  (with-open-file (stream namestring :if-does-not-exist nil)
    (when stream
      (let ((text (make-string limit)))
        ;; Swank counts characters.
        (loop repeat position while (read-char stream nil))
        (let ((end (read-sequence text stream)))
          (values (subseq text 0 end) (uiop:native-namestring namestring)))))))

(implement line-of-place (place)
  (let ((position (getf place :position)))
    (and (getf place :file)
         position
         (ignore-errors
          (with-open-file (stream (getf place :file))
            (1+ (loop repeat position
                      for character = (read-char stream nil)
                      while character
                      count (char= character #\newline))))))))

(implement edited-since-built-p (source built)
  (let ((edited (file-write-date source))
        (written (file-write-date built)))
    (and edited written (>= edited written))))

;;; Definitions

(defparameter *words-for-kinds*
  '(:generic-function "generic" :function "fun" :variable "var" :structure "class" :condition "class")
  "What the backend's descriptions of definitions contain, where it is not the kind itself.")

(implement place-as (name kind object)
  (or (place-of object)
      (loop with word = (getf *words-for-kinds* kind (string kind))
            for (description location) in (ignore-errors (backend find-definitions name))
            when (search word (princ-to-string description) :test #'char-equal)
              return (place-of-location location))))

(implement variable-kind (symbol)
  (cond ((keywordp symbol) nil)
        ((constantp symbol) :constant)
        ((special-variable-p symbol) :special)
        (t nil)))

(defun special-variable-p (symbol)
  (or #+ecl (si:specialp symbol)
      #+abcl (ext:special-variable-p symbol)
      #-(or ecl abcl) (boundp symbol)
      nil))

(defun name-of-function (function)
  "Return the symbol that FUNCTION is called by, LAMBDA for one without a name."
  (let ((name (ignore-errors (backend function-name function))))
    (loop while (consp name)
          do (setf name (first name)))
    (if (and name (symbolp name)) name 'lambda)))

(implement function-lambda-list (function)
  (flet ((parameters (designator)
           (let ((list (ignore-errors (backend arglist designator))))
             (if (listp list)
                 (return-from function-lambda-list list)
                 nil))))
    (when (typep function 'generic-function)
      (return-from function-lambda-list (mop generic-function-lambda-list function)))
    (unless (and (functionp function) (macro-function (name-of-function function)))
      (parameters function))
    (when (functionp function)
      (let ((name (name-of-function function))
            (expression (function-lambda-expression function)))
        (cond ((and (consp expression) (eq 'lambda (first expression)))
               (return-from function-lambda-list (second expression)))
              ((and (fboundp name) (eq function (fdefinition name)))
               (parameters name)))))
    :unknown))

;;; References

(defparameter *ways-to-ask*
  '((:calls . who-calls) (:references . who-references) (:binds . who-binds) (:sets . who-sets)
    (:macroexpands . who-macroexpands)))

(implement map-references (function kind name)
  (let ((ask (cdr (assoc kind *ways-to-ask*))))
    (flet ((tell (references)
             (unless (listp references)
               (lack "tell who refers to a name in this way"))
             (loop for (name) in references
                   ;; (DEFUN NAME), (:METHOD NAME SPECIALIZER)
                   do (let ((name (if (consp name) (second name) name)))
                        (when (and (symbolp name) (fboundp name))
                          (funcall function (or (macro-function name) (fdefinition name)) name 1))))))
      ;; A backend that lacks WHO-CALLS returns a keyword.
      (let ((references (if (and ask (implements-p ask)) (funcall (backend-name ask) name) :unknown)))
        (tell (if (and (eq kind :calls) (not (listp references)) (implements-p 'list-callers))
                  (backend list-callers name)
                  references))))))

;;; Generic functions

(implement method-code (method)
  (ignore-errors (mop method-function method)))

(implement effective-order (function methods)
  (values 'standard
          (if (typep function 'standard-generic-function)
              (standard-order methods)
              (order-of-other-kind methods))))

;;; Classes

(implement class-precedence (class)
  (if (ignore-errors (mop class-finalized-p class))
      (values (mop class-precedence-list class) t)
      (values (ignore-errors (mop class-precedence-list class)) nil)))

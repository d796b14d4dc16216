;;;; Classes, methods and slots, by the part of the metaobject protocol that the ports have in common: MOP calls it.

(in-package #:cl-mcp-agent)

;;; Classes

(defun class-kind (class)
  (cond ((typep class 'structure-class) :structure)
        ((subtypep class 'condition) :condition)
        (t :class)))

(defun class-ancestors (class)
  "List the classes in the precedence list of CLASS."
  (or (class-precedence class) (list class)))

(defun standard-ancestor (class)
  "Return the class of the standard's that CLASS, of a condition of the Lisp's own, implements; CLASS if there is none."
  (or (find-if (lambda (class)
                 (let ((name (class-name class)))
                   (and (eq (symbol-package name) (find-package "COMMON-LISP"))
                        (not (eql 0 (search "SIMPLE-" (symbol-name name)))))))
               (rest (class-ancestors class)))
      class))

(defun direct-superclasses (class)
  (mop class-direct-superclasses class))

(defun direct-subclasses (class)
  (mop class-direct-subclasses class))

(defun class-names (classes)
  "List the names of those of CLASSES that have one."
  (remove nil (mapcar #'class-name classes)))

(defun forward-reference-p (class)
  "True if CLASS is only known as a superclass of others and is not defined yet."
  (and (search "FORWARD-REFERENCED" (symbol-name (class-name (class-of class)))) t))

;;; Slots

(defun slot-name (slot)
  (mop slot-definition-name slot))

(defun direct-slot-names (class)
  (mapcar #'slot-name (ignore-errors (mop class-direct-slots class))))

(defun slot-names (object)
  "List the names of the slots of OBJECT, as SLOT-VALUE takes them, in the order of its class."
  (mapcar #'slot-name (ignore-errors (mop class-slots (class-of object)))))

(defparameter *dull-slots*
  '("FORMAT-CONTROL" "FORMAT-ARGUMENTS" "CONTEXT" "REFERENCES" "NOT-YET-LOADED" "PROBLEM" "COMPLAINT" "ARGS" "OFFSET"
    "SECOND-RELATIVE" "PRINT-BANNER" "REAL-FORMAT-CONTROL" "REAL-FORMAT-ARGUMENTS" "CAUSE" "MESSAGE" "REPORT-FUNCTION"
    "LAMBDA-LIST")
  "Slots of a Lisp's own conditions that repeat the message or are only meaningful to the Lisp.")

(defun condition-slots (condition)
  "List the slots of CONDITION as (NAME . VALUE), except dull ones."
  (loop for name in (slot-names condition)
        unless (or (and (member (symbol-name name) *dull-slots* :test #'string=)
                        (not (public-symbol-p name)))
                   (not (slot-boundp condition name)))
          collect (cons name (slot-value condition name))))

(defun direct-slots (class)
  "List the direct slots of CLASS as property lists: :NAME :INITARGS :INITFORM, a list of the form, or NIL,
:READERS :WRITERS :TYPE :ALLOCATION :DOCUMENTATION."
  (loop for slot in (ignore-errors (mop class-direct-slots class))
        collect (list :name (slot-name slot)
                      :initargs (mop slot-definition-initargs slot)
                      :initform (if (mop slot-definition-initfunction slot)
                                    (list (mop slot-definition-initform slot))
                                    '())
                      :readers (slot-readers slot)
                      :writers (ignore-errors (mop slot-definition-writers slot))
                      :type (ignore-errors (mop slot-definition-type slot))
                      :allocation (ignore-errors (mop slot-definition-allocation slot))
                      :documentation (if (typep class 'standard-class) (ignore-errors (documentation slot t)) nil))))

(defun direct-default-initargs (class)
  "List the default initargs that CLASS itself gives, as (INITARG FORM)."
  (loop for (initarg form) in (ignore-errors (mop class-direct-default-initargs class))
        collect (list initarg form)))

;;; Methods

(defun methods-of-function (function)
  (mop generic-function-methods function))

(defun methods-on-class (class)
  (mop specializer-direct-methods class))

(defun eql-specializer-p (specializer)
  (typep specializer (mop-name 'eql-specializer)))

(defun specializer-name (specializer)
  (cond ((eql-specializer-p specializer)
         `(eql ,(mop eql-specializer-object specializer)))
        ((typep specializer 'class) (class-name specializer))
        (t specializer)))

(defun specializer-fits-p (method number object)
  "True if OBJECT fits the specializer of the required argument NUMBER, from 0, of METHOD."
  (let ((specializer (nth number (mop method-specializers method))))
    (cond ((eql-specializer-p specializer) (eql object (mop eql-specializer-object specializer)))
          ((typep specializer 'class) (typep object specializer))
          (t t))))

(defun method-signature (method)
  "Return the name of the function METHOD belongs to, its qualifiers, its specializers as names or (EQL object),
its lambda list, and what it does by itself: :READS or :WRITES a slot, or NIL."
  (let ((function (mop method-generic-function method)))
    (values (and function (mop generic-function-name function))
            (method-qualifiers method)
            (mapcar #'specializer-name (mop method-specializers method))
            (mop method-lambda-list method)
            (slot-of-method method))))

(defun methods-with (qualifiers role methods)
  "List those of METHODS that have QUALIFIERS, as (METHOD ROLE)."
  (loop for method in methods
        when (equal (method-qualifiers method) qualifiers)
          collect (list method role)))

(defun standard-order (methods)
  "Arrange METHODS as the standard method combination does, as EFFECTIVE-ORDER lists them."
  (append (methods-with '(:around) :around methods)
          (methods-with '(:before) :before methods)
          (loop for (method) in (methods-with '() :primary methods)
                for role = :primary then :next
                collect (list method role))
          (reverse (methods-with '(:after) :after methods))))

(defun order-of-other-kind (methods)
  "Arrange METHODS where it is not known how they are combined."
  (mapcar (lambda (method) (list method :combined)) methods))

;;; Names

(defun function-named (name)
  "Return the function or macro function of NAME, or NIL."
  (or (and (symbolp name) (macro-function name))
      (and (fboundp name)
           (not (and (symbolp name) (special-operator-p name)))
           (fdefinition name))))

(defun definitions-named (name)
  "List what NAME, a symbol or (SETF symbol), is defined as: (KIND OBJECT PLACE), KIND being a keyword such as
:FUNCTION, and OBJECT the function, method, class or package that is defined, and NIL for other kinds."
  (flet ((entry (kind object)
           (list kind object (place-as name kind object))))
    (let ((function (function-named name))
          (compiler-macro (compiler-macro-function name)))
      (append
       (cond ((and (symbolp name) (special-operator-p name)) (list (list :special-operator nil '())))
             ((null function) '())
             ((and (symbolp name) (macro-function name)) (list (entry :macro function)))
             ((typep function 'generic-function)
              (cons (entry :generic-function function)
                    (loop for method in (methods-of-function function)
                          collect (entry :method method))))
             (t (list (entry :function function))))
       (if compiler-macro (list (entry :compiler-macro compiler-macro)) '())
       (if (symbolp name)
           (let ((class (find-class name nil))
                 (kind (variable-kind name))
                 (package (find-package (symbol-name name))))
             (append
              (if kind (list (entry (if (member kind '(:constant :symbol-macro)) kind :variable) nil)) '())
              (if (and class (eq (class-name class) name)) (list (entry (class-kind class) class)) '())
              (loop for kind in (special-definitions name)
                    collect (entry kind nil))
              (if (nth-value 1 (expanders name)) (list (entry :setf-expander nil)) '())
              (if package (list (entry :package package)) '())))
           '())))))

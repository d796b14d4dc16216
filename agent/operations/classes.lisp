;;;; Classes and methods: the slots and relatives of a class, and the methods of classes and functions.

(in-package #:cl-mcp-agent)

(defconstant +form-characters+ 300)

(defun class-name-text (class)
  (let ((name (class-name class)))
    (if (symbolp name) (name-text name) (item-text name 100))))

(defun slot-entry (slot origin)
  "Return the wire form of SLOT, a list from DIRECT-SLOTS, which the class ORIGIN defines."
  (flet ((names (key)
           (mapcar #'name-text (getf slot key))))
    (list* (name-text (getf slot :name))
           :origin (class-name-text origin)
           :initargs (names :initargs)
           :initform (and (getf slot :initform) (item-text (first (getf slot :initform)) +form-characters+))
           :readers (names :readers)
           :writers (names :writers)
           :type (if (eq t (getf slot :type)) nil (item-text (getf slot :type) +form-characters+))
           :allocation (if (eq :instance (getf slot :allocation)) nil (item-text (getf slot :allocation) 60))
           (if (stringp (getf slot :documentation))
               (list :documentation (item-text (getf slot :documentation) 1000 :escape nil))
               '()))))

(defun inherited-slots (class)
  "List the wire forms of the slots of CLASS, inherited ones included: (NAME . ENTRIES). Several classes may define
the same slot; each has an entry, the most specific first."
  (let ((slots (loop for ancestor in (class-ancestors class)
                     append (loop for slot in (direct-slots ancestor)
                                  collect (cons (getf slot :name) (slot-entry slot ancestor))))))
    (loop for name in (remove-duplicates (mapcar #'car slots) :from-end t)
          collect (cons (name-text name) (mapcar #'cdr (remove name slots :key #'car :test-not #'eq))))))

(defun class-kind-text (class)
  (if (typep class 'built-in-class) "built-in class" (string-downcase (class-kind class))))

(defun class-meant (symbol)
  "Return the class that SYMBOL names, or refuse, with similar names."
  (or (find-class symbol nil)
      (refuse-other-meaning symbol "the name of a class" (lambda (other) (find-class other nil)))))

(define-operation :class-info (&rest arguments)
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (class-reply (class-meant symbol) arguments))))

(defun class-reply (class arguments)
  (multiple-value-bind (precedence final) (class-precedence class)
    (let ((slots (inherited-slots class))
          (subclasses (class-names (direct-subclasses class)))
          (documentation (documentation class t)))
      (list* *id* :ok
             :name (class-name-text class)
             :kind (class-kind-text class)
             :metaclass (class-name-text (class-of class))
             :supers (mapcar #'name-text (class-names (direct-superclasses class)))
             :subclasses (mapcar #'name-text (some-of subclasses 0 50))
             :subclass-count (length subclasses)
             :precedence (mapcar #'class-name-text precedence)
             :final (and final t)
             :slots (part-of-list slots arguments)
             :total (length slots)
             :initargs (loop for ancestor in (class-ancestors class)
                             append (loop for (initarg form) in (direct-default-initargs ancestor)
                                          collect (list (name-text initarg)
                                                        (item-text form +form-characters+)
                                                        (class-name-text ancestor))))
             :methods (length (all-methods-on-class class))
             :place (with-line (place-of class) (class-name class) (class-kind class))
             (if (stringp documentation)
                 (list :documentation (item-text documentation 4000 :escape nil))
                 '())))))

;;; Methods

(defun method-entry-with-place (method)
  "Return the wire form of METHOD: title, lambda list, whether it reads or writes a slot, and place."
  (multiple-value-bind (name qualifiers specializers lambda-list slot) (method-signature method)
    (declare (ignore name qualifiers specializers))
    (list* (method-text method)
           (lambda-list-words lambda-list)
           :slot (case slot
                   (:reads "reads a slot")
                   (:writes "writes a slot")
                   (t nil))
           (method-place-part method))))

(defun methods-reply (subject methods arguments &rest more)
  (list* *id* :ok
         :name subject
         :total (length methods)
         :methods (mapcar #'method-entry-with-place
                          (part-of-list (sorted-by #'method-text methods) arguments))
         more))

(defun inherited-methods (class)
  "List the methods on the ancestors of CLASS, without those on the Lisp's own classes."
  (loop for ancestor in (rest (class-precedence class))
        for package = (and (symbolp (class-name ancestor)) (symbol-package (class-name ancestor)))
        unless (and package (own-package-p package))
          append (all-methods-on-class ancestor)))

(define-operation :find-methods (&rest arguments &key inherited)
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (let* ((name (function-called symbol arguments))
            (function (function-named name))
            (generic (typep function 'generic-function))
            (class (and (symbolp name) (find-class name nil))))
       (unless (or generic class)
         (refuse-other-meaning symbol "a generic function or a class"))
       (apply #'methods-reply (name-text name)
              (remove-duplicates (append (and generic (methods-of-function function))
                                         (and class (all-methods-on-class class))
                                         (and class inherited (inherited-methods class))))
              arguments
              (and generic
                   (list :arguments (lambda-list-text function)
                         :combination (name-text (effective-order function '())))))))))

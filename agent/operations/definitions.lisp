;;;; What the session has defined: the definitions in its packages that the zygote did not have and that no
;;;; system has loaded.

(in-package #:cl-mcp-agent)

(define-session-variable *snapshot* (make-hash-table :test #'eq)
  "What the symbols of the user's packages meant in the zygote: lists of objects.")
(define-session-variable *known-packages* '())
(define-session-variable *known-systems* '())

(defun meaning (symbol)
  "List the objects that SYMBOL names, for comparison with EQ."
  (list* (if (fboundp symbol) (fdefinition symbol) nil)
         (or (macro-function symbol) nil)
         (if (fboundp `(setf ,symbol)) (fdefinition `(setf ,symbol)) nil)
         (if (boundp symbol) t nil)
         (variable-kind symbol)
         (find-class symbol nil)
         (compiler-macro-function symbol)
         (multiple-value-list (expanders symbol))))

(defun note-library-packages ()
  "Record every existing package, except the user's, as a library's."
  (setf *library-packages* (remove (find-package "COMMON-LISP-USER") (list-all-packages))))

(defun user-packages ()
  (remove-if #'library-package-p (list-all-packages)))

(defun take-snapshot ()
  "Record the existing definitions, so that only what a session adds is listed."
  (clrhash *snapshot*)
  (setf *snapshot-taken* t
        *known-packages* (list-all-packages)
        *known-systems* (asdf:already-loaded-systems))
  (dolist (package (user-packages))
    (do-symbols (symbol package)
      (when (eq (symbol-package symbol) package)
        (setf (gethash symbol *snapshot*) (meaning symbol))))))

(defparameter *places-in-meaning*
  '((:function 0) (:generic-function 0) (:macro 1) (:variable 3 4) (:constant 3 4) (:symbol-macro 3 4)
    (:class 5) (:structure 5) (:condition 5) (:compiler-macro 6) (:type 7) (:setf-expander 8))
  "Where in what MEANING returns the kinds of DEFINITIONS-NAMED are.")

(defun meaning-before (symbol)
  "Return what SYMBOL, of a library's package, means without what evaluations have defined; NIL if they have defined
nothing."
  (let ((places (append (loop for (kind nil place) in (definitions-named symbol)
                              when (getf place :evaluation)
                                append (rest (assoc kind *places-in-meaning*)))
                        (loop for (nil nil place) in (definitions-named `(setf ,symbol))
                              when (getf place :evaluation)
                                collect 2))))
    (when places
      (loop for part in (meaning symbol)
            for place from 0
            collect (if (member place places) nil part)))))

(defun new-symbols ()
  "List (SYMBOL OLD NEW) for the symbols of the user's packages whose meaning has changed."
  (let ((found '()))
    (dolist (package (user-packages))
      (do-symbols (symbol package)
        (when (eq (symbol-package symbol) package)
          (let ((old (gethash symbol *snapshot*))
                (new (meaning symbol)))
            (when (mismatch old new :test #'eq)
              (push (list symbol old new) found))))))
    (dolist (package (set-difference (list-all-packages) *known-packages*))
      (when (library-package-p package)
        (do-present-symbols (symbol package)
          (when (eq (symbol-package symbol) package)
            (let ((old (meaning-before symbol)))
              (when old
                (push (list symbol old (meaning symbol)) found)))))))
    (sort found #'string< :key #'first)))

(defconstant +elements-copied+ 100)
(defconstant +levels-copied+ 10)
(defconstant +conses-copied+ 2000)

(defun without-packages (tree)
  "Copy TREE, a lambda list, with uninterned symbols, so that it prints without package prefixes. What is too long or too deep
to be shown is not copied: a default value can be any object, a circular list too."
  (let ((left +conses-copied+))
    (declare (type fixnum left))
    (labels ((copy (tree levels)
               (declare (type fixnum levels))
               (cond ((and (consp tree) (zerop levels))
                      '())
                     ((consp tree)
                      (loop for rest = tree then (cdr rest)
                            repeat +elements-copied+
                            while (and (consp rest) (not (minusp (decf left))))
                            collect (copy (car rest) (1- levels)) into parts
                            finally (return (nconc parts (if (consp rest) '() (copy rest levels))))))
                     ((or (null tree) (not (symbolp tree)) (keywordp tree)
                          (eq (symbol-package tree) #.(find-package "COMMON-LISP")))
                      tree)
                     (t
                      (make-symbol (symbol-name tree))))))
      (copy tree +levels-copied+))))

(defun lambda-list-text (function)
  (lambda-list-words (function-lambda-list function)))

(defun lambda-list-words (list)
  "Return LIST, a lambda list or :UNKNOWN, as text without package prefixes."
  (cond ((eq list :unknown) "(...)")
        ((null list) "()")
        (t
         (let ((*print-gensym* nil) (*print-length* 30) (*print-level* 5))
           (item-text (without-packages list) 300)))))

(defun new-part (entry place)
  "Return the object at PLACE of the meaning of the symbol of ENTRY, as NEW-SYMBOLS lists it, if it is new, or NIL."
  (let ((old (nth place (second entry)))
        (new (nth place (third entry))))
    (if (eq old new) nil new)))

(defun entries-at (place symbols meaning text)
  "List those of SYMBOLS that have something new at PLACE, each with what TEXT returns for what MEANING returns for it."
  (loop for entry in symbols
        when (new-part entry place)
          collect (list (symbol-text (first entry)) (funcall text (funcall meaning (first entry))))))

(defun function-entries (symbols)
  (loop for entry in symbols
        for (symbol) = entry
        for function = (new-part entry 0)
        for setter = (new-part entry 2)
        when (and function (not (macro-function symbol)) (not (structure-function-p symbol)))
          collect (list (symbol-text symbol) (lambda-list-text function))
        when (and setter (not (structure-function-p `(setf ,symbol))))
          collect (list (item-text `(setf ,symbol) 200) (lambda-list-text setter))))

(defun variable-entries (symbols)
  (loop for (symbol old (nil nil nil bound kind)) in symbols
        when (and (or kind bound)
                  (not (and (fourth old) (eq kind (fifth old)))))
          collect (list (symbol-text symbol)
                        (cond ((eq kind :symbol-macro)
                               (format nil "~a (a symbol macro)" (item-text (macroexpand-1 symbol) 80)))
                              (bound (item-text (symbol-value symbol) 80))
                              (t "unbound")))))

(defun new-classes (symbols)
  "List (SYMBOL CLASS) for the classes that the session has defined, or has given a name."
  (loop for entry in symbols
        for class = (new-part entry 5)
        when (and class (not (forward-reference-p class)))
          collect (list (first entry) class)))

(defun other-name-p (symbol class)
  (and (class-name class) (not (eq symbol (class-name class)))))

(defun accessors-text (class)
  "Return the words for the accessors of CLASS, if it is a structure, of which FUNCTION-ENTRIES omits them."
  (let ((accessors (remove-if-not #'structure-function-p
                                  (mapcan (lambda (slot) (copy-list (getf slot :readers))) (direct-slots class)))))
    (format nil "~@[, accessors: ~a~]~:[~;, ...~]"
            (if accessors (symbol-text (first accessors)) nil) (rest accessors))))

(defun class-entries (symbols)
  (loop for (symbol class) in (new-classes symbols)
        for slots = (direct-slot-names class)
        collect (list (symbol-text symbol)
                      (cond ((other-name-p symbol class)
                             (format nil "(another name of ~a)" (item-text (class-name class) 100)))
                            (slots (format nil "~a~a" (item-text slots 300) (accessors-text class)))
                            (t "()")))))

(defun method-entries (symbols)
  (let ((methods (append (loop for (symbol) in symbols
                               append (loop for name in (list symbol `(setf ,symbol))
                                            for function = (and (fboundp name) (fdefinition name))
                                            when (typep function 'generic-function)
                                              append (methods-of-function function)))
                         (loop for (symbol class) in (new-classes symbols)
                               unless (other-name-p symbol class)
                                 append (methods-on-class class)))))
    ;; The newest method of a function is its first.
    (stable-sort (reverse (remove nil (mapcar #'method-entry (remove-duplicates methods :from-end t))))
                 #'string< :key #'first)))

(defun method-entry (method)
  "Return the name and the lambda list of METHOD with its specializers, or NIL for accessors."
  (multiple-value-bind (name qualifiers specializers lambda-list slot) (method-signature method)
    (when (and name (null slot))
      (list (format nil "~s~{ ~s~}" name qualifiers)
            (let ((*print-length* 30) (*print-level* 5))
              (if lambda-list
                  (item-text (loop for parameter in lambda-list
                                   for specializer = (pop specializers)
                                   collect (if (member specializer '(nil t)) parameter (list parameter specializer)))
                             300)
                  "()"))))))

(defun package-entries ()
  (sort (mapcar #'package-name (set-difference (user-packages) *known-packages*)) #'string<))

(defun system-entries ()
  (sort (set-difference (asdf:already-loaded-systems) *known-systems* :test #'string=)
        #'string<))

(define-operation :list-definitions (&rest arguments &key type (from 0))
  (let ((type (or type "all")))
    (with-agent-syntax ()
      (let ((symbols (new-symbols))
            (parts '())
            (counts '())
            (left-out '()))
        (flet ((part (kind function)
                 (when (or (string-equal type "all") (string-equal type kind))
                   (let* ((entries (funcall function))
                          (shown (part-of-list entries arguments))
                          (next (+ from (length shown))))
                     (setf parts (append parts (list kind shown)))
                   (push (cons kind (length entries)) counts)
                     (when (and shown (< next (length entries)))
                       (push (list (string-downcase kind) (- (length entries) next) next) left-out))))))
          (part :functions (lambda () (function-entries symbols)))
          (part :variables (lambda () (variable-entries symbols)))
          (part :macros (lambda () (entries-at 1 symbols #'macro-function #'lambda-list-text)))
          (part :compiler-macros (lambda () (entries-at 6 symbols #'compiler-macro-function #'lambda-list-text)))
          (part :setf-expanders (lambda () (mapcar #'first (entries-at 8 symbols #'identity (constantly nil)))))
          (part :types (lambda () (entries-at 7 symbols #'type-lambda-list #'lambda-list-words)))
          (part :classes (lambda () (class-entries symbols)))
          (part :methods (lambda () (method-entries symbols)))
          (part :tools #'cl-mcp:list-tools)
          (part :packages #'package-entries)
          (part :systems #'system-entries))
        (list* *id* :ok :left-out left-out
               (append (program-part symbols (reverse counts)) parts))))))

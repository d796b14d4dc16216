;;;; Describing a name and the session. Neither changes the session: no symbol is interned, no variable is set.

(in-package #:cl-mcp-agent)

(defun colon-outside-bars (name)
  "Return the position of the first colon in NAME that is not between bars, or NIL."
  (let ((inside nil))
    (loop for character across name
          for position from 0
          do (case character
               (#\| (setf inside (not inside)))
               (#\: (unless inside
                      (return position)))))))

(defun bare-name (text)
  "Return TEXT without blanks and quotes around it, and without a #' before it; of a form that defines or calls something,
its name."
  (let ((text (string-trim '(#\space #\newline #\tab #\' #\" #\`) text)))
    (cond ((eql 0 (search "#'" text)) (subseq text 2))
          ((eql 0 (search "(" text))
           (multiple-value-bind (word end) (token-at text 1)
             (let ((next (code-start text end)))
               (cond ((or (null next) (string-equal word "setf")) text)
                     ((or (prefix-p "def" (plain-token word)) (string-equal word "method"))
                      (bare-name (form-text-at text next)))
                     (t word)))))
          (t text))))

(defun split-at-colon (text)
  "Return the name of the package in TEXT, the beginning of a name, or NIL; the rest; and whether internal symbols are meant."
  (let ((colon (colon-outside-bars text)))
    (cond ((null colon) (values nil text t))
          ((zerop colon) (values "KEYWORD" (subseq text 1) t))
          (t (values (subseq text 0 colon)
                     (string-left-trim ":" (subseq text colon))
                     (prefix-p "::" (subseq text colon)))))))

(defun split-name (name)
  "Split NAME as the reader would. Return the package's name or NIL, and the symbol's name."
  (let* ((name (bare-name name))
         ;; For (SETF NAME), everything about NAME is described.
         (name (if (setf-name-p name)
                   (string-trim " )" (subseq name 6))
                   name)))
    (flet ((cased (part)
             (let ((length (length part)))
               (if (and (> length 1)
                        (char= #\| (char part 0))
                        (char= #\| (char part (1- length))))
                   (subseq part 1 (1- length))
                   (string-upcase part)))))
      (multiple-value-bind (package symbol) (split-at-colon name)
        (values (and package (cased package)) (cased symbol))))))

(defun find-named-symbol (name package)
  "Return the symbol that NAME denotes in PACKAGE, and whether it exists."
  (multiple-value-bind (package-name symbol-name) (split-name name)
    (let ((package (if package-name (find-package package-name) package)))
      (and package (find-symbol symbol-name package)))))

(defun describe-place (symbol stream)
  (let ((package (symbol-package symbol)))
    (if package
        (format stream "~s is a symbol of the package ~a, ~a.~%" symbol (package-name package)
                (if (exported-from-p symbol package) "exported" "not exported"))
        (format stream "~s is an uninterned symbol.~%" symbol))
    (let ((others (loop for other in (remove package (list-all-packages))
                        when (and (eq symbol (find-symbol (symbol-name symbol) other)) (exported-from-p symbol other))
                          collect (package-name other))))
      (when others
        (format stream "It is exported from ~{~a~^, ~} too.~%" (sort others #'string<))))))

(defconstant +documentation-characters+ 100000)

(defun put-documentation-and-place (text name kinds stream)
  "Write TEXT, the documentation of NAME or NIL, and where NAME is defined as the first of KINDS that applies."
  (when text
    (format stream "  Documentation:~%")
    (with-input-from-string (lines text :end (min (length text) +documentation-characters+))
      (loop for line = (read-line lines nil)
            while line
            do (format stream "    ~a~%" line))))
  (loop for (kind nil place) in (definitions-named name)
        when (member kind kinds)
          do (format stream "~@[  Source: ~a~%~]" (place-text (with-line place name kind)))
          and return nil))

(defun describe-function (name stream)
  (let* ((macro (and (symbolp name) (macro-function name)))
         (special (and (symbolp name) (special-operator-p name)))
         (function (or macro (and (fboundp name) (fdefinition name)))))
    (when function
      (format stream "~%~s names a ~a~%" name
              (cond (special "special operator")
                    (macro "macro")
                    ((typep function 'generic-function) "generic function")
                    ((compiled-function-p function) "compiled function")
                    (t "function")))
      (unless special
        (format stream "  Arguments: ~a~%" (lambda-list-text function)))
      (unless (or macro special)
        (let ((type (ignore-errors (function-type name))))
          (when type
            (format stream "  Type: ~a~%" (item-text type 300)))))
      (when (typep function 'generic-function)
        (let* ((all (methods-of-function function))
               (methods (remove nil (mapcar #'method-entry all)))
               (accessors (- (length all) (length methods))))
          (format stream "  Methods: ~d~@[, of which ~d read~:*~[~;s~:;~] or write~:*~[~;s~:;~] a slot~]~%" (length all)
                  (and (plusp accessors) accessors))
          (loop for (name lambda-list) in methods
                repeat 20
                do (format stream "    ~a ~a~%" name lambda-list))))
      (put-documentation-and-place (documentation name 'function) name '(:function :generic-function :macro) stream))
    (when (compiler-macro-function name)
      (format stream "  It has a compiler macro.~%"))))

(defun describe-variable (symbol stream)
  (let ((kind (variable-kind symbol)))
    (when (or kind (boundp symbol))
      (format stream "~%~s names a ~a~%" symbol
              (case kind
                (:constant "constant")
                (:special "special variable")
                (:global "global variable")
                (:symbol-macro "symbol macro")
                (t "variable that was set without being defined")))
      (unless (eq kind :symbol-macro)
        (format stream "  Value: ~a~%"
                (if (boundp symbol) (item-text (symbol-value symbol) 1000) "unbound")))
      (let ((type (ignore-errors (variable-type symbol))))
        (when (and type (not (eq type t)))
          (format stream "  Declared type: ~a~%" (item-text type 300))))
      (put-documentation-and-place (documentation symbol 'variable) symbol '(:variable :constant :symbol-macro) stream))))

(defun describe-class-named (symbol stream)
  (let ((class (find-class symbol nil)))
    (when class
      (format stream "~%~s names a ~a~%" symbol (class-kind-text class))
      (format stream "~@[  Superclasses: ~{~s~^ ~}~%~]~@[  Subclasses: ~{~s~^ ~}~%~]~
                      ~@[  Direct slots: ~{~s~^ ~}~%~]"
              (class-names (direct-superclasses class))
              (some-of (class-names (direct-subclasses class)) 0 20)
              (direct-slot-names class))
      (put-documentation-and-place (documentation symbol 'type) symbol '(:class :structure :condition) stream))))

(defun describe-package-named (name stream)
  (let ((package (find-package name)))
    (when package
      (format stream "~%~s names a package~%" name)
      (format stream "~@[  Nicknames: ~{~a~^ ~}~%~]~@[  Uses: ~{~a~^ ~}~%~]~
                      ~2tExported symbols: ~d~%"
              (package-nicknames package)
              (mapcar #'package-name (package-use-list package))
              (length (exported-symbols package)))
      (put-documentation-and-place (documentation package t) (make-symbol (package-name package)) '(:package) stream))))

(defun describe-meanings (symbol stream)
  (describe-place symbol stream)
  (describe-function symbol stream)
  (describe-function `(setf ,symbol) stream)
  (describe-variable symbol stream)
  (describe-class-named symbol stream)
  (let ((type (type-definition symbol)))
    (when type
      (format stream "~%~s names a type~%  ~a~%" symbol type)
      (put-documentation-and-place (documentation symbol 'type) symbol '(:type) stream)))
  (describe-package-named (symbol-name symbol) stream)
  (let ((setf-text (documentation symbol 'setf))
        (kinds (mapcar #'first (definitions-named symbol))))
    (when (or setf-text (member :setf-expander kinds))
      (format stream "~%SETF of ~s has an expansion of its own~%" symbol)
      (put-documentation-and-place setf-text symbol '(:setf-expander) stream))
    (when (member :method-combination kinds)
      (format stream "~%~s names a method combination~%" symbol)
      (put-documentation-and-place (documentation symbol 'method-combination) symbol '(:method-combination) stream))))

(defun symbols-meant (name package)
  "List the symbols that the user may have meant by NAME and perhaps PACKAGE: similar names that PACKAGE exports, the
same name in other packages and similar names here; if there are none, similar names that other packages export."
  (or (append (and package (near-exports name package))
              (near-symbols name #'symbol-meanings))
      (loop for package in (list-all-packages)
            unless (own-package-p package)
              append (remove-if #'agent-symbol-p (near-exports name package)))))

(defun elsewhere-text (name)
  "Return a text that reports that there is no symbol or package NAME, with similar ones."
  (multiple-value-bind (package-name symbol-name) (split-name name)
    (let* ((package (and package-name (find-package package-name)))
           (package-missing (and package-name (null package))))
      (format nil "~a~@[~%~a~]~@[~%~a~]"
              (if package-missing
                  (format nil "There is no package ~a." package-name)
                  (format nil "There is no symbol ~a in the package ~a." symbol-name
                          (if package (package-name package) (session-package-name))))
              (and package-missing (offer-packages package-name))
              (offer-symbols (remove-duplicates (symbols-meant symbol-name package)
                                                :from-end t))))))

(define-operation :describe-symbol (&rest arguments &key name)
  (call-in-named-package
   arguments
   (lambda (package)
     (multiple-value-bind (symbol found) (find-named-symbol name package)
       (let ((named (find-package (nth-value 1 (split-name name)))))
         (unless (or found named)
           (refuse-unknown-name name))
         (list *id* :ok
               :text (string-trim '(#\newline)
                                  (with-output-to-string (stream)
                                    (if found
                                        (describe-meanings symbol stream)
                                        (describe-package-named (package-name named) stream))))
               :standard (and found
                              (eq (symbol-package symbol) #.(find-package "COMMON-LISP"))
                              (string-downcase symbol))
               :found t))))))

(define-operation :session-info ()
  (multiple-value-bind (used limit) (heap-readings)
    (list *id* :ok
          :package (session-package-name)
          :threads (folded-thread-names)
          :heap-bytes used
          :heap-limit-bytes limit
          :features (port-features)
          :systems (sort (copy-list (asdf:already-loaded-systems)) #'string<)
          :inbox '())))

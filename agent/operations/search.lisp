;;;; Searching for symbols by a part of the name, and completing names.

(in-package #:cl-mcp-agent)

(defun meanings (symbol)
  "List as keywords what SYMBOL names."
  (append
   (cond ((special-operator-p symbol) '(:special-operator))
         ((macro-function symbol) '(:macro))
         ((not (fboundp symbol)) '())
         ((typep (fdefinition symbol) 'generic-function) '(:generic-function))
         (t '(:function)))
   (case (variable-kind symbol)
     (:constant '(:constant))
     (:symbol-macro '(:symbol-macro))
     ((nil) (if (and (boundp symbol) (not (keywordp symbol))) '(:variable) '()))
     (t '(:variable)))
   (let ((class (find-class symbol nil)))
     (and class (list (class-kind class))))
   (if (type-definition symbol) '(:type) '())))

(defun kinds-of-type (type)
  "List the kinds that TYPE means, which is one of them, or a wider word: a generic function is a function, and structures
and conditions are classes."
  (case type
    (:function '(:function :generic-function))
    (:class '(:class :structure :condition))
    (:variable '(:variable :constant))
    (t (list type))))

(defun exported-from-p (symbol package)
  "True if PACKAGE exports SYMBOL, which is accessible in it, or another one of this name."
  (eq :external (nth-value 1 (find-symbol (symbol-name symbol) package))))

(defun sorted-by (key list)
  "Return the elements of LIST in the order of the texts that KEY returns for them."
  (mapcar #'cdr (sort (mapcar (lambda (element) (cons (funcall key element) element)) list) #'string< :key #'car)))

(defun symbol-entry (symbol &optional (package (symbol-package symbol)))
  "Return the wire form of SYMBOL in PACKAGE: package, name, whether it is exported, and what it names."
  (list (package-name package) (symbol-name symbol) (exported-from-p symbol package) (meanings symbol)))

(defun matching-symbols (words packages external type)
  "List the symbols of PACKAGES with all of WORDS in their names, and the number of the Lisp's own
internal symbols that were omitted because they were not requested."
  (let ((found '())
        (left-out 0)
        (all (rest packages)))
    (dolist (package packages)
      (let ((own (and all (own-package-p package))))
        ;; Asked for one package, what it has from others counts, but not what it merely uses.
        (do-present-symbols (symbol package)
          (when (and (if all
                         (eq (symbol-package symbol) package)
                         (symbol-package symbol))
                     (loop for word in words
                           always (search word (symbol-name symbol) :test #'char-equal))
                     (or (not external)
                         (exported-from-p symbol package))
                     (or (null type) (intersection (meanings symbol) (kinds-of-type type))))
            (cond ((agent-symbol-p symbol))
                  ((and own (not (public-symbol-p symbol)))
                   (incf left-out))
                  (t
                   (push symbol found)))))))
    (values (sorted-by (lambda (symbol)
                         (concatenate 'string (package-name (symbol-package symbol)) "::" (symbol-name symbol)))
                       found)
            left-out)))

(define-operation :find-symbols (&rest arguments &key pattern type external)
  (multiple-value-bind (package-name text) (split-at-colon pattern)
    (call-in-named-package
     (if package-name (list* :package package-name arguments) arguments)
     (lambda (package)
       (multiple-value-bind (symbols left-out)
           (matching-symbols (words text)
                             (if (or package-name (getf arguments :package)) (list package) (list-all-packages))
                             external
                             (and type (intern-keyword type)))
         (list *id* :ok
               :total (length symbols)
               :left-out left-out
               :symbols (mapcar #'symbol-entry (part-of-list symbols arguments))))))))

(defun intern-keyword (name)
  "Return the existing keyword called NAME, or NIL; intern nothing."
  (or (find-symbol (string-upcase name) "KEYWORD") :unknown))

;;; Completion

(defconstant +completions+ 20000)

(defun prefix-p (part name)
  "True if NAME begins with PART; case is ignored."
  (declare (type string part name))
  (and (<= (length part) (length name))
       (string-equal part name :end2 (length part))))

(defun parts (name)
  "List the parts of NAME between hyphens."
  (uiop:split-string name :separator "-"))

(defun begins-parts-p (parts name)
  "True if PARTS begin parts of NAME, in order, the first the first: m-v-b is multiple-value-bind."
  (let ((others (parts name)))
    (and (prefix-p (first parts) (first others))
         (loop for part in (rest parts)
               always (setf others (member-if (lambda (other) (prefix-p part other))
                                              (rest others)))))))

(defun subsequence-p (letters name)
  "True if NAME contains LETTERS in this order."
  (declare (type simple-string letters name))
  (let ((next 0))
    (declare (type fixnum next))
    (loop for character across name
          when (and (< next (length letters)) (char-equal character (schar letters next)))
            do (incf next))
    (= next (length letters))))

(defun completion-rank (text parts name)
  "Return the rank of NAME as a completion of TEXT, which has these PARTS: lower is better, NIL: it does not match."
  (cond ((prefix-p text name) 0)
        ((begins-parts-p parts name) 1)
        ((search text name :test #'char-equal) 2)
        ((and (> (length text) 2) (subsequence-p text name)) 3)
        (t nil)))

(defun completions (text package externals-only)
  "List (RANK . SYMBOL) for the symbols of PACKAGE that complete TEXT."
  (let ((found '())
        (count 0)
        (parts (parts text)))
    (flet ((note (symbol)
             (let ((rank (and (not (agent-symbol-p symbol))
                              (completion-rank text parts (symbol-name symbol)))))
               ;; A symbol that names nothing is less likely.
               (when (and rank (or (< rank 3) (meanings symbol)) (< count +completions+))
                 (incf count)
                 (push (cons (+ (* 2 rank) (if (or (keywordp symbol) (meanings symbol)) 0 1)) symbol)
                       found)))))
      (if externals-only
          (do-external-symbols (symbol package)
            (note symbol))
          (do-symbols (symbol package)
            (note symbol))))
    ;; Matching letters in order is the last resort.
    (let ((better (remove-if (lambda (entry) (>= (car entry) 6)) found)))
      (remove-duplicates (or better found) :key #'cdr))))

(defun shorter-name-p (one two)
  "True if the name ONE comes before TWO: the shortest comes first, as what was typed may be all of it."
  (or (< (length one) (length two))
      (and (= (length one) (length two)) (string< one two))))

(defun better-completion-p (one two)
  (or (< (car one) (car two))
      (and (= (car one) (car two)) (shorter-name-p (symbol-name (cdr one)) (symbol-name (cdr two))))))

(defun package-completions (text)
  (sort (loop for name in (package-names)
              when (and (plusp (length text))
                        (prefix-p text name)
                        (or (string= name "CL-MCP")
                            (not (member name *packages-of-agent* :test #'string=))))
                collect name)
        #'string<))

(define-operation :complete-symbol (&rest arguments &key pattern)
  (call-in-named-package
   arguments
   (lambda (package)
     (multiple-value-bind (package-name text internal) (split-at-colon (string-left-trim "#'`,(" pattern))
       (let* ((named (if package-name (package-meant package-name) package))
              (text (common-string text))
              (found (sort (completions text named (not internal)) #'better-completion-p)))
         (list *id* :ok
               :total (length found)
               :package (if package-name (package-name named) nil)
               :symbols (mapcar (lambda (entry) (symbol-entry (cdr entry) named))
                                (part-of-list found arguments))
               :packages (if package-name '() (package-completions text))
               :elsewhere (if (or package-name (and found (< (car (first found)) 6)))
                              '()
                              (exported-completions text))))))))

(defun exported-completions (text)
  "List the symbols that begin like TEXT and that packages beside the Lisp's own export."
  (let ((found '()))
    (dolist (package (list-all-packages))
      (unless (or (own-package-p package) (eq package #.(find-package "CL-MCP-AGENT")))
        (do-external-symbols (symbol package)
          (when (and (prefix-p text (symbol-name symbol)) (eq package (symbol-package symbol)))
            (push symbol found)))))
    (loop for symbol in (sort found #'string< :key #'symbol-name)
          repeat 20
          collect (symbol-entry symbol))))

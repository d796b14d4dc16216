;;;; Cross-references: what refers to a name, and what a function refers to.

(in-package #:cl-mcp-agent)

(defun function-called (symbol arguments)
  "Return SYMBOL, or (SETF SYMBOL) if the argument :NAME has that form."
  (if (setf-name-p (getf arguments :name))
      `(setf ,symbol)
      symbol))

(defun referrer-text (object name)
  "Return the name of OBJECT, a method or a function called NAME, as a reader would call it."
  (cond ((typep object 'method)
         (concatenate 'string "method " (method-text object)))
        ((and (consp name) (symbolp (first name))
              (member (symbol-name (first name)) '("MACRO-FUNCTION" "COMPILER-MACRO")
                      :test #'string=))
         (format nil "~:[compiler macro~;macro~] ~a" (eq (first name) 'macro-function)
                 (name-text (second name))))
        (t (name-text name))))

(defun references-to (kind name)
  "List what MAP-REFERENCES finds: (OBJECT NAME COUNT)."
  (let ((found '()))
    (map-references (lambda (&rest reference) (push reference found)) kind name)
    found))

(defun referrers (kind name)
  "List (TEXT COUNT PLACE NAME KIND) for the referrers of NAME; the last two are of the definition that each is in."
  (loop for (object name count) in (references-to kind name)
        collect (list* (referrer-text object name) count (place-of object)
                       (multiple-value-list (if (typep object 'method)
                                                (values (method-signature object) :method)
                                                (name-and-kind name))))))

(defun class-referrers (kind symbol)
  "List (TEXT 1 PLACE) for the methods that specialize on the class SYMBOL names, or for its direct subclasses."
  (let ((class (find-class symbol nil)))
    (cond ((null class) '())
          ((eq kind :specializes)
           (loop for method in (all-methods-on-class class)
                 collect (list* (referrer-text method nil) 1 (place-of method)
                                (multiple-value-list (defining-form :method (method-signature method) method)))))
          (t (loop for subclass in (direct-subclasses class)
                   collect (list (class-name-text subclass) 1 (place-of subclass)
                                 (class-name subclass) (class-kind subclass)))))))

(defun referrer-key (referrer)
  "Return the text by which REFERRER is sorted: those of the session come first, then other code, then the Lisp."
  (destructuring-bind (text count place &rest definition) referrer
    (declare (ignore count definition))
    (concatenate 'string
                 (cond ((getf place :evaluation) "0")
                       ((prefix-p "SYS:" (or (getf place :file) "")) "2")
                       (t "1"))
                 text)))

(defun fold-referrers (referrers)
  "Sort REFERRERS, merging those with the same text and place."
  (let ((folded '()))
    (dolist (referrer (sorted-by #'referrer-key referrers) (nreverse folded))
      (let ((last (first folded)))
        (if (and last
                 (string= (first referrer) (first last))
                 (equal (third referrer) (third last)))
            (incf (second last) (second referrer))
            (push (copy-list referrer) folded))))))

(defparameter *relations*
  '(("callers" :calls :function :generic-function)
    ("callees" :callees :function :generic-function :macro)
    ("readers" :references :variable :constant)
    ("binders" :binds :variable)
    ("setters" :sets :variable)
    ("users" :macroexpands :macro)
    ("methods" :specializes :class :structure :condition)
    ("subclasses" :subclasses :class :structure :condition))
  "For each relation to a name: its kind, and the meanings that a name with this relation has.")

(defun kinds-meant (relation meanings)
  "List the kinds of RELATION, or of all relations that a name with MEANINGS can have. One without any may be called all the
same."
  (let ((meanings (or meanings '(:function))))
    (loop for (name kind . suited) in *relations*
          when (if relation
                   (string-equal name relation)
                   (intersection suited meanings))
            collect kind)))

(defun referrer-group (kind symbol name arguments)
  "Return the wire form of what refers to NAME, which is SYMBOL or (SETF SYMBOL), by KIND."
  (let ((found (fold-referrers (if (member kind '(:specializes :subclasses))
                                   (class-referrers kind symbol)
                                   (referrers kind name)))))
    (list :kind kind
          :total (length found)
          :count (reduce #'+ found :key #'second)
          :references (loop for (text count place name kind) in (part-of-list found arguments)
                            collect (list* text count (if name (with-line place name kind) (place-part place)))))))

(defun reference-group (kind symbol name arguments)
  (if (eq kind :callees)
      (callee-group symbol name arguments)
      (referrer-group kind symbol name arguments)))

(defun meanings-of-name (name)
  "List what NAME, a symbol or (SETF SYMBOL), names."
  (cond ((symbolp name) (meanings name))
        ((fboundp name) '(:function))
        (t '())))

(define-operation :find-references (&rest arguments &key relation)
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (let* ((name (function-called symbol arguments))
            (meanings (meanings-of-name name))
            (kinds (kinds-meant relation meanings))
            (groups (if relation
                        (list (reference-group (first kinds) symbol name arguments))
                        (loop for kind in kinds
                              ;; A Lisp that is joined may not know all of them.
                              for group = (handler-case (reference-group kind symbol name arguments)
                                            (refusal ()))
                              when group
                                collect group))))
       (list *id* :ok
             :name (name-text name)
             :meanings meanings
             :own (and (symbol-package symbol) (own-package-p (symbol-package symbol)) t)
             :near (or (and (null meanings)
                            (loop for group in groups
                                  always (zerop (getf group :total)))
                            (offer-symbols (remove symbol (near-symbols (symbol-name symbol) #'symbol-meanings))))
                       '())
             :groups groups)))))

(defun callee-entry (name count)
  "Return the wire form of NAME, which is called COUNT times, with its kind and its place."
  (let* ((defined (and (or (symbolp name) (consp name)) (ignore-errors (fboundp name))))
         (object (and defined (function-named name)))
         (package (let ((symbol (if (consp name) (second name) name)))
                    (and (symbolp symbol) (symbol-package symbol)))))
    (list* (name-text name) count
           :undefined (not defined)
           :own (and package (own-package-p package) t)
           (and object
                (not (and package (own-package-p package)))
                (object-place-part object name (if (and (symbolp name) (macro-function name)) :macro :function))))))

(defun callees-of (objects kinds arguments)
  "List the names OBJECTS refer to by one of KINDS, folded, for the wire; second, how many there are."
  (let ((found '()))
    (loop for (kind name count) in (loop for object in objects append (references-from object))
          for entry = (assoc name found :test #'equal)
          when (member kind kinds)
            do (if entry
                   (incf (cdr entry) count)
                   (push (cons name count) found)))
    (values (loop for (name . count) in (part-of-list (sorted-by (lambda (entry) (name-text (car entry))) found) arguments)
                  collect (callee-entry name count))
            (length found))))

(defun call-with-named-function (arguments function)
  "Call FUNCTION, which returns the reply, with the name that the argument :NAME means and the function of this name."
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (let ((name (function-called symbol arguments)))
       (funcall function name (or (function-named name)
                                  (refuse-other-meaning symbol "a function")))))))

(defun callee-group (symbol name arguments)
  "Return the wire form of what the function called NAME refers to. If there is none, refuse."
  (let* ((function (or (function-named name)
                       (refuse-other-meaning symbol "a function")))
         (objects (if (typep function 'generic-function)
                      (methods-of-function function)
                      (list function))))
    (multiple-value-bind (calls total) (callees-of objects '(:calls) arguments)
      (list :kind :callees
            :function (cond ((and (symbolp name) (macro-function name)) "macro")
                            ((typep function 'generic-function) "generic function")
                            (t "function"))
            :methods (length objects)
            :calls calls
            :total total
            :macroexpands (callees-of objects '(:macroexpands) arguments)
            :references (callees-of objects '(:references :sets) arguments)))))

;;; The listing

(defconstant +listing-characters+ 2000000)

(defun listing (name print objects &optional methods)
  "Reply with what PRINT prints for OBJECTS: the machine code of what is called NAME, or of METHODS."
  (multiple-value-bind (text outcome)
      (guarded (stream +listing-characters+)
        (let ((*standard-output* stream))
          (mapc print objects)))
    (list *id* :ok
          :name (name-text name)
          :methods (mapcar #'method-text methods)
          :text text
          :cut (eq outcome :stopped))))

(defun frame-listing (number)
  "Reply with the machine code of the function of frame NUMBER of the error that stands here."
  (let* ((frame (or (frame-number number)
                    (refuse "The last frame stands for the form that was evaluated, which has no code of its own.")))
         (reply (listing (frame-call frame) #'frame-disassembly (list frame))))
    (if (string= "" (getf (cddr reply) :text))
        (refuse "No Lisp code runs in this frame.")
        reply)))

(defun function-listing (name function)
  "Reply with the machine code of FUNCTION, called NAME, or of its methods."
  (let ((methods (and (typep function 'generic-function) (methods-of-function function))))
    (if methods
        (listing name #'disassemble (remove nil (mapcar #'method-code methods)) methods)
        (listing name #'disassemble (list function)))))

(define-operation :disassemble (&rest arguments &key frame)
  (if (and frame *error-frame*)
      (frame-listing frame)
      (call-with-named-function arguments #'function-listing)))

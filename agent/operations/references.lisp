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

(defun specializing-methods (symbol)
  "List (TEXT 1 PLACE) for the methods that specialize on the class SYMBOL names."
  (let ((class (find-class symbol nil)))
    (loop for method in (and class (all-methods-on-class class))
          collect (list (referrer-text method nil) 1 (place-of method)))))

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

(define-operation :find-references (&rest arguments &key kind)
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (let* ((kind (intern-keyword kind))
            (name (function-called symbol arguments))
            (found (fold-referrers (if (eq kind :specializes)
                                       (specializing-methods symbol)
                                       (referrers kind name)))))
       (list *id* :ok
             :name (name-text name)
             :meanings (if (symbolp name)
                           (meanings symbol)
                           (if (fboundp name) '(:function) '()))
             :own (and (symbol-package symbol) (own-package-p (symbol-package symbol)) t)
             :near (or (and (null found) (null (meanings symbol)) (not (fboundp name))
                            (offer-symbols (remove symbol (near-symbols (symbol-name symbol)
                                                                        #'symbol-meanings))))
                       '())
             :total (length found)
             :count (reduce #'+ found :key #'second)
             :references (loop for (text count place name kind) in (part-of-list found arguments)
                               collect (list* text count (if name (with-line place name kind) (place-part place)))))))))

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
                (place-part (place-of object))))))

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

(define-operation :list-callees (&rest arguments)
  (call-with-named-function
   arguments
   (lambda (name function)
     (let ((objects (if (typep function 'generic-function)
                        (methods-of-function function)
                        (list function))))
       (multiple-value-bind (calls total) (callees-of objects '(:calls) arguments)
         (list *id* :ok
               :name (name-text name)
               :kind (cond ((and (symbolp name) (macro-function name)) "macro")
                           ((typep function 'generic-function) "generic function")
                           (t "function"))
               :methods (length objects)
               :calls calls
               :total total
               :macroexpands (callees-of objects '(:macroexpands) arguments)
               :references (callees-of objects '(:references :sets) arguments)))))))

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

;;;; The parts of an object: for each kind of object, facts about it, the number of its parts, and access
;;;; to them by number or by name. Only the requested parts are read.

(in-package #:cl-mcp-agent)

(defconstant +conses-walked+ 10000000)
(defconstant +conses-counted+ 100000
  "The longest circle that is counted.")
(defconstant +parts-searched+ 20000
  "The most parts compared with a name that cannot be looked up.")

(defstruct (part (:copier nil) (:predicate nil))
  "STATE is :BOUND, :UNBOUND, or a text that explains why there is no VALUE. SETTER is a function of the new
value, or NIL if the part cannot be set. KEY is a list of the key of a hash table entry."
  (label "" :type string)
  (value nil)
  (state :bound)
  (setter nil)
  (key '()))

(defun call-for-part (label read setter)
  "Return the part called LABEL with what READ returns."
  (handler-case (handler-bind ((error #'note-where-signalled))
                  (make-part :label label :value (funcall read) :setter setter))
    (error (condition)
      (make-part :label label :setter setter
                 :state (format nil "#<error reading it: ~a>" (failure-text condition))))))

(defmacro part (label value &key set)
  "Return the part called LABEL with the value of the form VALUE; SET is a function that sets it."
  `(call-for-part ,label (lambda () ,value) ,set))

(defun settable-part (label bound read setter)
  "Return the part called LABEL of a place that has a value if BOUND is true; otherwise as CALL-FOR-PART."
  (if bound
      (call-for-part label read setter)
      (make-part :label label :state :unbound :setter setter)))

(defun numbered-parts (values)
  (loop for value in values
        for number from 0
        collect (make-part :label (format nil "[~d]" number) :value value)))

(defmacro facts (&rest entries)
  "Return a list of (LABEL TEXT) for ENTRIES of a label and a form, omitting those whose form is false or
signals an error."
  `(remove nil (list ,@(loop for (label form) in entries
                             collect `(let ((text (ignore-errors ,form)))
                                        (if text (list ,label (fact-text text)) nil))))))

(defconstant +fact-characters+ 1000)

(defun fact-text (value)
  (if (stringp value)
      (cut-text value +fact-characters+)
      (item-text value 300)))

;;; Kinds. An object has the first kind whose test is true for it.

(defvar *kinds* '())

(defstruct (kind (:copier nil) (:predicate nil))
  "FACTS, COUNT, PARTS, ELEMENT and FIND are functions of the object. COUNT returns the number of listed
parts. PARTS gets the first part's number and how many to return. ELEMENT gets a list of subscripts, FIND a
name; both return a part or NIL. If ELEMENT or FIND is NIL, PARTS is used instead."
  (name "" :type string)
  (test #'identity :type function)
  (facts (constantly '()) :type function)
  (count (constantly 0) :type function)
  (parts (constantly '()) :type function)
  (element nil)
  (find nil))

(defmacro define-kind (name (object test) &key (facts ''()) (count 0) parts fixed element find)
  "Define the kind NAME: objects for which the form TEST is true. FACTS and COUNT are forms; PARTS,
ELEMENT and FIND are a lambda list and a body. FIXED is a form that returns all parts, for objects that
never have many."
  (flet ((function-of (more)
           (if more `(lambda (,object ,@(first more)) (declare (ignorable ,object)) ,@(rest more))
               nil)))
    `(setf *kinds*
           (append (remove ,name *kinds* :key #'kind-name :test #'string=)
                   (list (make-kind
                          :name ,name
                          :test (lambda (,object) (declare (ignorable ,object)) ,test)
                          :facts (lambda (,object) (declare (ignorable ,object)) ,facts)
                          ,@(if fixed
                                `(:count (lambda (,object) (length ,fixed))
                                  :parts (lambda (,object from limit)
                                           (some-of ,fixed from limit)))
                                `(:count (lambda (,object) (declare (ignorable ,object)) ,count)
                                  :parts ,(or (function-of parts) '(constantly '()))))
                          :element ,(function-of element)
                          :find ,(function-of find)))))))

(defun some-of (list from limit)
  (loop for element in (nthcdr from list)
        repeat limit
        collect element))

(defun listed (texts count)
  "Return the first COUNT of TEXTS, and how many more there are, for use in a sentence."
  (format nil "~{~a~^, ~}~@[ and ~d more~]" (some-of texts 0 count)
          (and (nthcdr count texts) (- (length texts) count))))

(defun enumerated (texts)
  "Join TEXTS with commas; return NIL if there are none."
  (and texts (format nil "~{~a~^, ~}" texts)))

(defun kind-of (object)
  (find-if (lambda (kind) (funcall (kind-test kind) object)) *kinds*))

(defun element-of (object subscripts)
  "Return the part of OBJECT at SUBSCRIPTS, a list of integers, or NIL."
  (let* ((kind (kind-of object))
         (element (kind-element kind)))
    (cond (element
           (funcall element object subscripts))
          ((and (= 1 (length subscripts)) (<= 0 (first subscripts) most-positive-fixnum))
           (first (funcall (kind-parts kind) object (first subscripts) 1)))
          (t nil))))

(defun near-labels (name labels)
  "List those of LABELS that are similar to NAME, whatever stands around a key, the most similar first."
  (flet ((bare (text) (string-left-trim "#:'" (string-trim "\"" text))))
    (loop for text in (near-strings (bare name) (mapcar #'bare labels))
          append (remove text labels :key #'bare :test-not #'string=))))

(defun part-called (object name)
  "Return the part of OBJECT called NAME, or NIL; second, similar names of parts; third, names of some parts."
  (let* ((kind (kind-of object))
         (part (and (kind-find kind) (funcall (kind-find kind) object name))))
    (if part
        part
        (let ((parts (funcall (kind-parts kind) object 0 +parts-searched+)))
          (or (find name parts :key #'part-label :test #'string=)
              (find name parts :key #'part-label :test #'string-equal)
              ;; A package prefix in a slot's name does not matter.
              (let ((bare (string-left-trim ":" (subseq name (or (position #\: name) 0)))))
                (and (string/= bare name)
                     (find bare parts :key #'part-label :test #'string-equal)))
              (let ((labels (mapcar #'part-label parts)))
                (values nil (near-labels name labels)
                        (append (some-of labels 0 10) (if (nthcdr 10 labels) '("...") '())))))))))

;;; Lists

(defun list-shape (list)
  "Return how many conses LIST has, what follows the last one, and whether it is circular. The count is NIL if that would take
too long."
  (handler-case (let ((length (list-length list)))
                  (if length
                      (values length nil nil)
                      (values (count-circular list) nil t)))
    (type-error ()
      (loop for cell = list then (cdr cell)
            while (consp cell)
            count t into length
            finally (return (values length cell nil))))))

(defun count-circular (list)
  "Return how many conses LIST, a circular list, has; NIL for a very long one."
  (loop with seen = (make-hash-table :test #'eq)
        for cell = list then (cdr cell)
        for count from 0 to +conses-counted+
        do (when (gethash cell seen)
             (return count))
           (setf (gethash cell seen) t)))

(defun cons-at (list number)
  (loop repeat number
        while (consp list)
        do (setf list (cdr list)))
  (if (consp list) list nil))

(defun cons-part (cell number)
  (part (format nil "[~d]" number) (car cell) :set (lambda (value) (setf (car cell) value))))

(defun tail-part (list count)
  (let ((last (cons-at list (1- count))))
    (part "tail" (cdr last) :set (lambda (value) (setf (cdr last) value)))))

(defun list-parts (list from limit)
  (multiple-value-bind (count tail) (list-shape list)
    (append (loop for cell on (if (and count (>= from count)) nil (cons-at list from))
                  for number from from
                  repeat (if count (max 0 (min limit (- count from))) limit)
                  collect (cons-part cell number))
            (if (and count tail (< (- count from) limit) (<= from count))
                (list (tail-part list count))
                '()))))

(define-kind "list" (list (consp list))
  :facts (multiple-value-bind (count tail circular) (list-shape list)
           (facts ("Length" (cond (circular
                                   (format nil "circular, ~:[more than ~;~]~:d cons~:[es~;~]" count
                                           (or count +conses-counted+) (eql count 1)))
                                  (tail (format nil "~:d, then a tail that is not a list" count))
                                  (t (format nil "~:d" count))))))
  :count (multiple-value-bind (count tail) (list-shape list)
           (cond ((null count) nil) (tail (1+ count)) (t count)))
  :parts ((from limit) (list-parts list from limit))
  :element ((subscripts)
            (let ((cell (and (= 1 (length subscripts)) (<= 0 (first subscripts) +conses-walked+)
                             (cons-at list (first subscripts)))))
              (and cell (cons-part cell (first subscripts)))))
  :find ((name)
         (cond ((member name '("car" "first") :test #'string-equal)
                (part "CAR" (car list) :set (lambda (value) (setf (car list) value))))
               ((member name '("cdr" "rest") :test #'string-equal)
                (part "CDR" (cdr list) :set (lambda (value) (setf (cdr list) value)))))))

;;; Arrays

(defun array-part (array index)
  (part (format nil "[~{~d~^ ~}]" (subscripts-of array index)) (row-major-aref array index)
    :set (lambda (value) (setf (row-major-aref array index) value))))

(defun subscripts-of (array index)
  (let ((subscripts '()))
    (loop for dimension in (reverse (array-dimensions array))
          do (multiple-value-bind (rest subscript) (floor index (max 1 dimension))
               (push subscript subscripts)
               (setf index rest)))
    subscripts))

(defun elements-of (array)
  (if (vectorp array) (length array) (array-total-size array)))

(defun array-element (array subscripts)
  (cond ((/= (length subscripts) (array-rank array)) nil)
        ((vectorp array)
         ;; Elements beyond the fill pointer are not parts.
         (and (< -1 (first subscripts) (length array))
              (array-part array (first subscripts))))
        ((apply #'array-in-bounds-p array subscripts)
         (array-part array (apply #'array-row-major-index array subscripts)))))

(defun array-facts (array)
  (facts ("Dimensions" (and (not (vectorp array))
                            (format nil "~{~:d~^ x ~}" (array-dimensions array))))
         ("Length" (and (vectorp array) (format nil "~:d" (length array))))
         ("Element type" (array-element-type array))
         ("Fill pointer" (and (array-has-fill-pointer-p array)
                              (format nil "~:d of ~:d" (fill-pointer array)
                                      (array-total-size array))))
         ("Adjustable" (and (adjustable-array-p array) "yes"))
         ("Displaced" (multiple-value-bind (to offset) (array-displacement array)
                        (and to (format nil "to an array of ~:d elements, from ~:d"
                                        (array-total-size to) offset))))))

;; The characters of a string can be named and set; they are not listed.
(define-kind "string" (string (stringp string))
  :facts (array-facts string)
  :element ((subscripts) (array-element string subscripts)))

(defun array-parts (array from limit)
  (loop for index from from below (min (elements-of array) (+ from limit))
        collect (array-part array index)))

(define-kind "vector" (vector (vectorp vector))
  :facts (array-facts vector)
  :count (length vector)
  :parts ((from limit) (array-parts vector from limit))
  :element ((subscripts) (array-element vector subscripts)))

(define-kind "array" (array (arrayp array))
  :facts (array-facts array)
  :count (elements-of array)
  :parts ((from limit) (array-parts array from limit))
  :element ((subscripts) (array-element array subscripts)))

;;; Hash tables

(defun entry-part (table key value)
  (make-part :label (one-line (item-text key 200)) :value value :key (list key)
             :setter (lambda (value) (setf (gethash key table) value))))

(defun table-parts (table from limit)
  (loop for key being the hash-keys of table using (hash-value value)
        for number from 0 below (+ from limit)
        when (>= number from)
          collect (entry-part table key value)))

(defun key-named (name)
  "Return a list of the string, character, integer or symbol that NAME denotes, or NIL. No symbol is made."
  (cond ((or (eql 0 (search "\"" name)) (eql 0 (search "#\\" name)))
         (ignore-errors (list (with-agent-syntax () (read-from-string name)))))
        ((ignore-errors (list (parse-integer name))))
        ((plusp (length name))
         (multiple-value-bind (symbol found) (find-named-symbol name (session-package))
           (and found (list symbol))))))

(defun table-entry (table name)
  (loop for key in (key-named name)
        do (multiple-value-bind (value found) (gethash key table)
             (when found
               (return (entry-part table key value))))))

(define-kind "hash table" (table (hash-table-p table))
  :facts (facts ("Test" (hash-table-test table))
                ("Count" (format nil "~:d" (hash-table-count table)))
                ("Size" (format nil "~:d" (hash-table-size table)))
                ("Weakness" (hash-table-weak table)))
  :count (hash-table-count table)
  :parts ((from limit) (table-parts table from limit))
  :find ((name) (table-entry table name)))

;;; Symbols and packages

(define-kind "symbol" (symbol (symbolp symbol))
  :facts (facts ("Package" (let ((package (symbol-package symbol)))
                             (cond ((null package) "none")
                                   ((exported-from-p symbol package)
                                    (format nil "~a, exported" (package-name package)))
                                   (t (package-name package)))))
                ("Names" (enumerated (symbol-meanings symbol))))
  :fixed (list* (part "NAME" (symbol-name symbol))
                (settable-part "VALUE" (boundp symbol)
                               (lambda () (symbol-value symbol))
                               (lambda (value) (setf (symbol-value symbol) value)))
                (append
                 (if (fboundp symbol)
                     (list (part "FUNCTION" (or (macro-function symbol) (fdefinition symbol))))
                     '())
                 (if (find-class symbol nil)
                     (list (part "CLASS" (find-class symbol)))
                     '())
                 (list (part "PLIST" (symbol-plist symbol)
                         :set (lambda (value) (setf (symbol-plist symbol) value)))
                       (part "PACKAGE" (symbol-package symbol))))))

(defun exported-symbols (package)
  (let ((symbols '()))
    (when (package-name package)
      (do-external-symbols (symbol package)
        (push symbol symbols)))
    (sort symbols #'string< :key #'symbol-name)))

(define-kind "package" (package (packagep package))
  :facts (facts ("Name" (or (package-name package) "none: it was deleted"))
                ("Nicknames" (enumerated (package-nicknames package)))
                ("Uses" (enumerated (mapcar #'package-name (package-use-list package))))
                ("Used by" (enumerated (mapcar #'package-name (some-of (package-used-by-list package) 0 20))))
                ("Exports" (format nil "~:d symbols, which are its parts"
                                   (length (exported-symbols package)))))
  :count (length (exported-symbols package))
  :parts ((from limit)
          (loop for symbol in (some-of (exported-symbols package) from limit)
                collect (make-part :label (symbol-name symbol) :value symbol)))
  :find ((name)
         (multiple-value-bind (symbol status)
             (if (package-name package) (find-symbol (string-upcase name) package) nil)
           (if status (part (symbol-name symbol) symbol) nil))))

;;; Functions and classes

(defmacro define-kind-with-slots (name (object test) &key (facts ''()))
  `(define-kind ,name (,object ,test)
     :facts ,facts
     :count (length (slot-names ,object))
     :parts ((from limit) (slot-parts ,object from limit))
     :find ((name) (slot-called ,object name))))

(define-kind-with-slots "funcallable instance"
    (object (and (typep object '(and function standard-object)) (not (typep object 'generic-function))))
  :facts (facts ("Arguments" (lambda-list-text object))))

(define-kind "generic function" (function (typep function 'generic-function))
  :facts (facts ("Arguments" (lambda-list-text function))
                ("Methods" (format nil "~:d" (length (methods-of-function function))))
                ("Documentation" (documentation function t))
                ("Source" (source-text-of function)))
  :fixed (numbered-parts (methods-of-function function)))

(define-kind "function" (function (functionp function))
  :facts (facts ("Name" (function-name-text function))
                ("Arguments" (lambda-list-text function))
                ("Documentation" (documentation function t))
                ("Source" (source-text-of function))
                ("Closes over" (let ((values (closed-over-values function)))
                                 (and values (format nil "~:d value~:p, which ~:*~[~;is its part~:;~
                                                          are its parts~]"
                                                     (length values))))))
  :fixed (numbered-parts (closed-over-values function)))

(define-kind "class" (class (typep class 'class))
  :facts (facts ("Name" (class-name class))
                ("Metaclass" (class-name (class-of class)))
                ("Slots" (enumerated (mapcar #'symbol-text (some-of (direct-slot-names class) 0 50))))
                ("Documentation" (documentation class t))
                ("Source" (source-text-of class)))
  :fixed (list (part "DIRECT-SUPERCLASSES" (direct-superclasses class))
               (part "DIRECT-SUBCLASSES" (direct-subclasses class))
               (part "PRECEDENCE-LIST" (class-ancestors class))
               (part "DIRECT-METHODS" (methods-on-class class))))

(defun function-name-text (function)
  (let ((name (nth-value 2 (function-lambda-expression function))))
    (and name (item-text name 200))))

;;; Numbers and the like

(define-kind "integer" (integer (integerp integer))
  :facts (facts ("Bits" (format nil "~:d" (integer-length integer)))
                ("Hexadecimal" (and (< (integer-length integer) 1000)
                                    (format nil "#x~x" integer)))
                ("Size" (and (> (integer-length integer) 100)
                             (format nil "about ~:d decimal digits"
                                     (ceiling (* (integer-length integer) 0.30103d0)))))))

(define-kind "ratio" (ratio (typep ratio 'ratio))
  :fixed (list (part "NUMERATOR" (numerator ratio))
               (part "DENOMINATOR" (denominator ratio))))

(define-kind "float" (float (floatp float))
  :facts (facts ("Exactly" (item-text (rational float) 100))
                ("Precision" (format nil "~d bits" (float-digits float)))))

(define-kind "complex number" (number (complexp number))
  :fixed (list (part "REALPART" (realpart number))
               (part "IMAGPART" (imagpart number))))

(define-kind "character" (character (characterp character))
  :facts (facts ("Code" (format nil "~:d (#x~:*~x)" (char-code character)))
                ("Name" (char-name character))))

(define-kind "pathname" (pathname (pathnamep pathname))
  :facts (facts ("File" (namestring pathname)))
  :fixed (list (part "HOST" (pathname-host pathname))
               (part "DEVICE" (pathname-device pathname))
               (part "DIRECTORY" (pathname-directory pathname))
               (part "NAME" (pathname-name pathname))
               (part "TYPE" (pathname-type pathname))
               (part "VERSION" (pathname-version pathname))))

;;; Objects with slots

(defun slot-part (object name)
  (settable-part (symbol-name name)
                 (handler-case (slot-boundp object name)
                   (error () t))
                 (lambda () (slot-value object name))
                 (lambda (value) (setf (slot-value object name) value))))

(defun slot-parts (object from limit)
  (loop for name in (some-of (slot-names object) from limit)
        collect (slot-part object name)))

(defun slot-called (object name)
  (let ((symbol (find name (slot-names object) :test #'string-equal :key #'symbol-name)))
    (if symbol (slot-part object symbol) nil)))

(define-kind-with-slots "stream" (stream (streamp stream))
  :facts (facts ("Direction" (cond ((and (input-stream-p stream) (output-stream-p stream))
                                    "input and output")
                                   ((input-stream-p stream) "input")
                                   ((output-stream-p stream) "output")))
                ("State" (if (open-stream-p stream) "open" "closed"))
                ("Element type" (stream-element-type stream))
                ("External format" (stream-external-format stream))
                ("File" (and (typep stream 'file-stream)
                             (namestring (pathname stream))))))

(define-kind-with-slots "condition" (condition (typep condition 'condition))
  :facts (facts ("Message" (message-text condition 300))))

(define-kind-with-slots "method" (method (typep method 'method)))

(define-kind-with-slots "structure" (structure (typep structure 'structure-object)))

(define-kind-with-slots "instance" (instance (typep instance 'standard-object)))

(define-kind "object" (object t)
  :fixed (loop for (label . value) in (inner-objects object)
               collect (make-part :label label :value value)))

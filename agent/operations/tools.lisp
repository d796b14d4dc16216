;;;; User-defined tools: CL-MCP:DEFINE-TOOL and the other functions that sessions use, and the operation
;;;; that calls a tool. The set of tools is a variable of the image, so a roll-back restores it like
;;;; everything else. Each hello reports the set to the server, and so does a reply after it has
;;;; changed.

(in-package #:cl-mcp-agent)

(defconstant +most-tools+ 64)
(defconstant +most-parameters+ 10)
(defconstant +most-choices+ 32)
(defconstant +longest-name+ 40)
(defconstant +longest-documentation+ 1000)
(defconstant +longest-description+ 300)

(defstruct (tool (:copier nil))
  "PARAMETERS is a list of PARAMETER, the required ones first; FUNCTION takes them as keywords."
  (name "" :type simple-string)
  (documentation "" :type simple-string)
  (parameters '() :type list)
  (function #'identity :type function))

(defstruct (parameter (:copier nil))
  "ENTRY is what the server is told. CHOICES is a list of (TEXT . VALUE): what the client sends and what the function
receives."
  (key :none :type symbol)
  (choices '() :type list)
  (entry '() :type list))

(defun parameter-name (parameter)
  (first (parameter-entry parameter)))

(define-session-variable *tools* '()
  "The tools of this image, in the order in which they were first defined. Never changed in place.")
(define-session-variable *tools-told* t
  "False if the server does not know the current *TOOLS*.")

(define-condition tool-definition-error (error)
  ((text :initarg :text :reader tool-definition-error-text))
  (:report (lambda (condition stream)
             (write-string (tool-definition-error-text condition) stream))))

(defun refuse-tool (control &rest arguments)
  (error 'tool-definition-error :text (with-agent-syntax ()
                                        (apply #'format nil control arguments))))

(defun full-name (name)
  "Return the name that clients use for the tool NAME."
  (concatenate 'string "user-" name))

(defun outer-name (designator what)
  "Return the lower-case name that clients use for DESIGNATOR."
  (let ((name (typecase designator
                (string (common-string designator))
                ((and symbol (not null)) (string-downcase (symbol-name designator)))
                (t (refuse-tool "The name of ~a must be a symbol, not ~s." what designator)))))
    (unless (and (<= 1 (length name) +longest-name+)
                 (alpha-char-p (char name 0))
                 (every (lambda (character)
                          (find character "abcdefghijklmnopqrstuvwxyz0123456789-"))
                        name))
      (refuse-tool "The name of ~a must be a letter and up to ~d more of a-z, 0-9 and -, not ~s."
                   what (1- +longest-name+) designator))
    name))

(defun text-of (text longest what)
  (unless (typep text '(or string null))
    (refuse-tool "~a must be a string, not ~s." what text))
  (let ((text (common-string (or text ""))))
    (when (> (length text) longest)
      (refuse-tool "~a has ~:d characters; ~:d are allowed." what (length text) longest))
    text))

;;; Types of parameters

(defun choice (member)
  (let ((text (typecase member
                (string (common-string member))
                (symbol (string-downcase (symbol-name member)))
                (t (refuse-tool "A choice must be a string or a symbol, not ~s." member)))))
    (unless (and (<= 1 (length text) +longest-name+) (every #'graphic-char-p text))
      (refuse-tool "A choice must have 1 to ~d printing characters, not ~s." +longest-name+ member))
    (cons text member)))

(defun choices (type)
  (let ((members (rest type)))
    (unless (and members (ignore-errors (<= (list-length members) +most-choices+)))
      (refuse-tool "A type (member ...) must have 1 to ~d choices." +most-choices+))
    (mapcar #'choice members)))

(defun finite-double (number)
  "Return NUMBER as a double float, or NIL if it is infinite or too large for one."
  (ignore-errors
   (let ((double (coerce number 'double-float)))
     (and (<= (abs double) most-positive-double-float)
          double))))

(defun number-parts (type minimum maximum)
  "Return the part of a parameter's entry about the bounds of TYPE. The server takes a missing one for -2^53 or 2^53."
  (flet ((double-of (bound missing)
           (or (finite-double (if (member bound '(* nil)) missing bound))
               (refuse-tool "A bound must be * or a number that is a finite double float, not ~s." bound)))
         (part (key bound)
           (let ((*read-default-float-format* 'double-float))
             (cond ((integerp bound) (list key (format nil "~d" bound)))
                   ((realp bound) (list key (format nil "~f" (finite-double bound))))
                   (t '())))))
    (unless (< (double-of minimum (- (expt 2 53))) (double-of maximum (expt 2 53)))
      (refuse-tool "The bounds of ~s are in the wrong order. A missing one is -2^53 or 2^53." type))
    (append (part :minimum minimum) (part :maximum maximum))))

(defun type-parts (type)
  "Return the kind of TYPE, as a session writes it, the part of a parameter's entry about it, and its choices."
  (let* ((name (if (consp type) (first type) type))
         (name (if (symbolp name) (symbol-name name) ""))
         (kind (cdr (assoc name '(("STRING" . :string) ("INTEGER" . :integer) ("NUMBER" . :number)
                                  ("REAL" . :number) ("FLOAT" . :number) ("BOOLEAN" . :boolean)
                                  ("LIST" . :strings) ("MEMBER" . :choice))
                           :test #'string=))))
    (cond ((and (eq kind :choice) (consp type))
           (let ((choices (choices type)))
             (values :string (list :choices (mapcar #'car choices)) choices)))
          ((and (member kind '(:string :boolean :strings :integer :number)) (atom type))
           (values kind '() '()))
          ((and (member kind '(:integer :number)) (ignore-errors (<= 2 (list-length type) 3)))
           (values kind (number-parts type (second type) (third type)) '()))
          (t
           (refuse-tool "~s is not a type of a parameter. The types are string, integer, (integer 1 10), ~
                         number, (number 0 1), boolean, (member \"a\" \"b\") and list, a list ~
                         of strings."
                        type)))))

(defun parse-parameters (lambda-list)
  "Return a list of (VARIABLE DEFAULT TYPE DESCRIPTION REQUIRED) for a typed LAMBDA-LIST."
  (unless (and (ignore-errors (list-length lambda-list)) ; NIL if it is circular
               (<= (count '&key lambda-list :test-not #'eq) +most-parameters+))
    (refuse-tool "A tool has a list of at most ~d parameters." +most-parameters+))
  (let ((required t)
        (parameters '()))
    (dolist (item lambda-list (nreverse parameters))
      (cond ((eq item '&key)
             (unless required
               (refuse-tool "&key may appear only once."))
             (setf required nil))
            ((and (consp item) (ignore-errors (<= 2 (list-length item) (if required 3 4))))
             (destructuring-bind (variable type &optional description default) item
               (unless (and variable (symbolp variable) (not (constantp variable)))
                 (refuse-tool "~s cannot be a parameter." variable))
               (when (find variable parameters :key #'first :test #'string=)
                 (refuse-tool "The parameter ~a appears twice." variable))
               (when (string= variable "SESSION")
                 (refuse-tool "Every tool has a parameter session; choose another name."))
               (push (list variable default type description required) parameters)))
            (t
             (refuse-tool "A parameter is written (name type [\"description\"]), behind &key ~
                           (name type [\"description\" [default]]), and not ~s." item))))))

(defun make-typed-parameter (variable type description required)
  (let ((name (outer-name variable "a parameter"))
        (text (text-of description +longest-description+ "A description")))
    (multiple-value-bind (kind parts choices) (type-parts type)
      (make-parameter :key (intern (symbol-name variable) "KEYWORD")
                      :choices choices
                      :entry (append (list name kind)
                                     (if required (list :required t) '())
                                     parts
                                     (list :description text))))))

;;; The interface for sessions

(defmacro cl-mcp:define-tool (name parameters &body body)
  "Make a tool that MCP clients can call as user-NAME:

    (define-tool NAME (PARAMETER*) \"What it does\" FORM*)

A PARAMETER is (VARIABLE TYPE [DESCRIPTION]), behind &key (VARIABLE TYPE [DESCRIPTION [DEFAULT]]);
those before &key must be given. TYPE is string, integer, (integer 1 10), number, (number 0 1),
boolean, (member \"a\" \"b\") or list, a list of strings. A string that the body returns is the
reply; any other value is printed. Returns the name that clients see."
  (let* ((parsed (parse-parameters parameters))
         (documentation (and (stringp (first body)) (rest body) (first body)))
         (body (if documentation (rest body) body))
         (declarations (loop while (and (consp (first body)) (eq 'declare (first (first body))))
                             collect (pop body)))
         (outer (outer-name name "a tool")))
    `(install-tool
      ,outer ,documentation
      (list ,@(loop for (variable nil type description required) in parsed
                    collect `(make-typed-parameter ',variable ',type ',description ',required)))
      ,(named-lambda-form
        (full-name outer)
        `(&key ,@(loop for (variable default nil nil required) in parsed
                       collect (if required
                                   `(,variable (missing-argument ,outer ',variable))
                                   (list variable default))))
        `(,@declarations
          ,(if (symbolp name)
               `(block ,name ,@body)
               `(progn ,@body)))))))

(defun missing-argument (tool variable)
  (error "The argument ~(~a~) of the tool ~a is missing." variable (full-name tool)))

(defun change-tools (function)
  "Replace the set of tools by the result of calling FUNCTION on it."
  (call-locked (lambda ()
                 (setf *tools* (funcall function *tools*)
                       *tools-told* nil))))

(defun install-tool (name documentation parameters function)
  (let ((tool (make-tool :name name :parameters parameters :function function
                         :documentation (text-of (or documentation "") +longest-documentation+
                                                 "The documentation of a tool"))))
    (unless (or (member name *tools* :key #'tool-name :test #'string=)
                (< (length *tools*) +most-tools+))
      (refuse-tool "There are ~d tools already; cl-mcp:remove-tool removes one." +most-tools+))
    (change-tools (lambda (tools)
                    (if (member name tools :key #'tool-name :test #'string=)
                        (substitute tool name tools :key #'tool-name :test #'string=)
                        (append tools (list tool)))))
    (full-name name)))

(defun find-tool (designator)
  "Return the tool that DESIGNATOR, a symbol or a string, names with or without the prefix user- or user., or NIL."
  (let* ((name (string-downcase (string designator)))
         (bare (if (some (lambda (prefix) (prefix-p prefix name)) '("user-" "user.")) (subseq name 5) name)))
    (or (find name *tools* :key #'tool-name :test #'string=)
        (find bare *tools* :key #'tool-name :test #'string=))))

(defun cl-mcp:remove-tool (name)
  "Remove the tool that DEFINE-TOOL made under NAME. Returns true if there was one."
  (let ((tool (find-tool name)))
    (when tool
      (change-tools (lambda (tools) (remove tool tools)))
      t)))

(defun cl-mcp:list-tools ()
  "List the names of the tools that DEFINE-TOOL has made, as clients see them."
  (mapcar (lambda (tool) (full-name (tool-name tool))) *tools*))

(defun cl-mcp:call-tool (name &rest arguments)
  "Call the tool NAME with ARGUMENTS as keywords, as a client would:
(call-tool \"deploy\" :target \"web\")."
  (let ((tool (find-tool name)))
    (unless tool
      (error "There is no tool ~a." name))
    (apply (tool-function tool)
           ;; The text of a choice stands for its value.
           (loop for (key . rest) on arguments by #'cddr
                 for parameter = (find key (tool-parameters tool) :key #'parameter-key)
                 for choice = (and parameter (assoc (first rest) (parameter-choices parameter) :test #'equal))
                 collect key
                 when rest
                   collect (if choice (cdr choice) (first rest))))))

;;; Reporting tools to the server

(defun tools-part ()
  "Return the part of a message that lists the tools, and note that it was sent."
  (setf *tools-told* t)
  (list :tools (with-agent-syntax ()
                 (loop for tool in *tools*
                       collect (list (tool-name tool)
                                     (tool-documentation tool)
                                     (mapcar #'parameter-entry (tool-parameters tool)))))))

(defun with-news (message)
  "Return MESSAGE, a reply, with the list of tools added if the server does not know it."
  (if (or *tools-told* (not (member (second message) '(:ok :error))))
      message
      (append message (tools-part))))

;;; Calling one

(defun argument-value (parameter value)
  "Return the argument of CALL-TOOL for VALUE, which came over the wire."
  (if (member (second (parameter-entry parameter)) '(:integer :number))
      (with-standard-io-syntax
        (let ((*read-eval* nil)
              (*read-default-float-format* 'double-float))
          (values (read-from-string value))))
      value))

(defun tool-form (tool arguments)
  "Return the form that calls TOOL with ARGUMENTS, a list of (NAME VALUE)."
  (list* 'cl-mcp:call-tool (tool-name tool)
         (loop for (name value) in arguments
               for parameter = (find name (tool-parameters tool) :key #'parameter-name :test #'string=)
               when parameter
                 append (let ((value (argument-value parameter value)))
                          (list (parameter-key parameter)
                                (if (consp value) (list 'quote value) value))))))

(define-operation :call-tool (&rest request &key name arguments)
  (let ((tool (or (find-tool name)
                  (refuse "This session no longer has the tool ~a." (full-name name))))
        ;; Only at the end: code evaluated inside an error prints as usual.
        (*plain-strings* nil))
    (call-as-evaluation
     (lambda ()
       (let* ((form (tool-form tool arguments))
              (values (progn (setf *current-form* (list form))
                             (evaluate-with-retry form))))
         (setf *plain-strings* (and (stringp (first values)) t))
         values))
     request
     (lambda ()
       (if *plain-strings* '(:plain t) '())))))

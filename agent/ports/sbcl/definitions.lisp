;;;; The agent's port to SBCL: what SBCL knows about definitions: where each is, who refers to
;;;; what, the parts of classes and generic functions. Nothing here changes anything.

(in-package #:cl-mcp-agent)

;;; Where something is defined. SBCL keeps with each definition the property list that was in effect
;;; when it was compiled; the agent's names the request and which of its characters.

(implement call-with-origin (origin function)
  (let ((sb-c::*source-plist* (if origin (append origin (session-mark)) '())))
    (funcall function)))

(defvar *agent-source*
  (sb-c::debug-source-namestring (sb-introspect::function-debug-source #'call-with-origin))
  "The file that the agent was built from. It exists only during the build.")

(defun agent-source-p (namestring)
  (equal *agent-source* namestring))

(defun stored-file (evaluation start end)
  "Return the file into which the definition between START and END of EVALUATION was written, or NIL."
  (loop for (number place native) in *stored-definitions*
        when (and (= number evaluation) (typep start 'index) (typep end 'index) (<= start place end))
          return native))

(defun make-place (namestring position created plist)
  "Return a place as PLACE-OF does. A file takes precedence over the request that loaded it."
  (let ((evaluation (and (consp plist) (ignore-errors (getf plist :evaluation)))))
    (cond ((and (stringp namestring) (agent-source-p namestring))
           '())
          ((stringp namestring)
           (list :file namestring :position position :created created))
          ;; User code can put anything there.
          ((and (typep evaluation '(and unsigned-byte fixnum))
                (eql (getf plist :session) (getf (session-mark) :session)))
           (let ((start (ignore-errors (getf plist :start)))
                 (end (ignore-errors (getf plist :end))))
             (cond ((stored-file evaluation start end)
                    (list :file (stored-file evaluation start end) :stored t))
                   ((and (typep start 'index) (typep end 'index) (<= start end))
                    (list :evaluation evaluation :start start :end end))
                   (t (list :evaluation evaluation)))))
          (t '()))))

(defun location-place (location)
  "Return the place of LOCATION, which SBCL keeps for definitions without code, or NIL."
  (and location
       (make-place (sb-c:definition-source-location-namestring location) nil nil
                   (sb-c:definition-source-location-plist location))))

(defun place-of-source (source)
  "Return the place of SOURCE, a definition source of SB-INTROSPECT or NIL."
  (and source
       (let ((path (sb-introspect:definition-source-pathname source)))
         (make-place (and path (namestring path))
                     (sb-introspect:definition-source-character-offset source)
                     (sb-introspect:definition-source-file-write-date source)
                     (sb-introspect:definition-source-plist source)))))

(defun place-of-code (source debug-fun)
  "Return the place of the definition that DEBUG-FUN belongs to, which was compiled from SOURCE; as recorded by the compiler."
  (let ((form (sb-c::compiled-debug-fun-tlf-number (sb-di::compiled-debug-fun-compiler-debug-fun debug-fun)))
        (positions (sb-c::debug-source-start-positions source)))
    (make-place (sb-c::debug-source-namestring source)
                (and form positions (< -1 form (length positions)) (elt positions form))
                (sb-c::debug-source-created source)
                (sb-c::debug-source-plist source))))

(defun function-place (function)
  "Return the place of FUNCTION, compiled, or NIL."
  ;; Like SB-INTROSPECT, but without making a pathname each time.
  (handler-case (place-of-code (sb-c::debug-info-source (sb-introspect::function-debug-info function))
                               (sb-di:fun-debug-fun function))
    (error () '())))

(defun place-with-position (place functions)
  "Return PLACE; if it has no position, add that of the first of FUNCTIONS from the same file. SBCL keeps
positions with code only, but other definitions contain code."
  (if (and (getf place :file) (null (getf place :position)))
      (or (loop for function in functions
                for other = (and (functionp function)
                                 (not (typep function 'generic-function))
                                 (function-place function))
                when (and (equal (getf other :file) (getf place :file)) (getf other :position))
                  return other)
          place)
      place))

(defun functions-of-class (class)
  "List the functions in the definition of CLASS."
  (typecase class
    (structure-class
     (let ((description (ignore-errors
                         (sb-kernel::find-defstruct-description (class-name class) nil))))
       (when description
         (loop for name in (append (mapcar (lambda (entry) (if (consp entry) (first entry) entry))
                                           (sb-kernel::dd-constructors description))
                                   (list (sb-kernel::dd-predicate-name description)
                                         (sb-kernel::dd-copier-name description)))
               when (and name (symbolp name) (fboundp name))
                 collect (fdefinition name)))))
    (t
     (remove nil (mapcar #'sb-mop:slot-definition-initfunction
                         (ignore-errors (sb-mop:class-direct-slots class)))))))

(defun place-without-code (object)
  "Return the place of OBJECT as SBCL keeps it with the object."
  (handler-case
      (location-place
       (typecase object
         ((or sb-pcl::condition-class sb-pcl::structure-class)
          (let ((classoid (sb-pcl::class-classoid object)))
            (and classoid (sb-kernel::classoid-source-location classoid))))
         (package (sb-impl::package-source-location object))
         (t (sb-pcl::definition-source object))))
    (error () '())))

(implement place-of (object)
  (typecase object
    (method
     (place-with-position (place-without-code object)
                          (list (ignore-errors (sb-pcl::safe-method-fast-function object)))))
    (class (place-with-position (place-without-code object) (functions-of-class object)))
    ((or generic-function package) (place-without-code object))
    (function (function-place object))
    (t '())))

(implement place-as (name kind object)
  (if object
      (place-of object)
      (handler-case (place-of-source (first (sb-introspect:find-definition-sources-by-name name kind)))
        (error () '()))))

(implement special-definitions (symbol)
  (append
   (cond ((find-class symbol nil) '())
         ((eq :defined (sb-int:info :type :kind symbol)) '(:type))
         ((sb-int:info :typed-structure :info symbol) '(:structure)))
   (if (gethash symbol sb-pcl::**method-combinations**) '(:method-combination) '())))

(implement forget-variable (symbol)
  ;; MAKUNBOUND refuses a constant.
  (sb-int:clear-info :variable :kind symbol)
  (sb-int:clear-info :source-location :variable symbol)
  (makunbound symbol))

(implement file-text (namestring position limit)
  (let ((native (readable-source namestring)))
    (when (and native (<= 0 position (file-stamp native)))
      (values (text-of-file native position limit) native))))

(implement line-of-place (place)
  (let ((native (unchanged-source place)))
    (and native (line-at native (getf place :position)))))

(implement file-changed-p (namestring created)
  (let ((native (readable-source namestring)))
    (and native (source-changed-p native created))))

;;; References. SBCL keeps with each function what it refers to; there is no index. So all functions
;;; are searched, except SBCL's own, which are ten times as many.

(defun own-method-p (method)
  "True if METHOD comes with SBCL or the agent."
  (let* ((location (ignore-errors (sb-pcl::definition-source method)))
         (name (and location (sb-c:definition-source-location-namestring location))))
    (and name
         (or (agent-source-p name)
             (and (> (length name) 4) (string= "SYS:" name :end2 4))))))

(sb-ext:defglobal *own-generic-functions*
    (let ((found '()))
      (dolist (package '("COMMON-LISP" "SB-MOP" "SB-GRAY" "SB-EXT") found)
        (do-external-symbols (symbol package)
          (loop for name in (list symbol `(setf ,symbol))
                when (and (fboundp name)
                          (not (and (symbolp name) (macro-function name)))
                          (typep (fdefinition name) 'generic-function))
                  do (pushnew (fdefinition name) found :test #'eq)))))
  "The generic functions of SBCL's public packages: user code may have methods on them.")

(sb-ext:defglobal *image-packages*
    (remove (find-package "COMMON-LISP-USER") (list-all-packages))
  "The packages that come with every session: SBCL's own, and those of ASDF.")

(defun searched-packages (name)
  "List the packages to search for references to NAME: those whose functions may refer to it, with ASDF's only
if NAME is ASDF's."
  (let* ((symbol (if (consp name) (second name) name))
         (home (and (symbolp symbol) (symbol-package symbol)))
         (all (and home (not (own-package-p home)) (member home *image-packages* :test #'eq))))
    (remove-if (lambda (package)
                 (or (own-package-p package)
                     (member (package-name package) *packages-of-agent* :test #'string=)
                     (and (not all) (member package *image-packages* :test #'eq))))
               (list-all-packages))))

(defun map-users-functions (note packages)
  "Call NOTE with each function and macro function of PACKAGES, and each method that may be a user's, and the
compiled code of it."
  (let ((setf-name (list 'setf nil)))
    (labels ((note-methods (function)
               (dolist (method (sb-mop:generic-function-methods function))
                 (let ((code (sb-pcl::safe-method-fast-function method)))
                   (when code
                     (funcall note method code)))))
             (note-function (function)
               (cond ((typep function 'generic-function) (note-methods function))
                     (function (funcall note function function))))
             (note-name (name)
               (if (symbolp name)
                   (note-function (sb-kernel:%symbol-function name))
                   (let ((definition (sb-int:find-fdefn name)))
                     (when definition
                       (note-function (sb-kernel::fdefn-fun definition)))))))
      (dolist (package packages)
        (do-present-symbols (symbol package)
          (when (eq (symbol-package symbol) package)
            (let ((macro (macro-function symbol)))
              (if macro
                  (note-function macro)
                  (note-name symbol)))
            ;; One list serves for all names, because the search does not keep it.
            (setf (second setf-name) symbol)
            (note-name setf-name)
            (let ((expander (compiler-macro-function symbol)))
              (when expander
                (note-function expander))))))
      (mapc #'note-methods *own-generic-functions*))))

(defun references-of-code (code)
  "Return the references of CODE that SBCL has kept, or NIL."
  (let ((function (sb-kernel::%fun-fun code)))
    (and (typep function 'sb-kernel:simple-fun)
         (sb-kernel::%simple-fun-xrefs function))))

(defun perhaps-refers-p (references name common)
  "False if REFERENCES certainly do not contain NAME, which is COMMON if SBCL's own table of names contains it."
  (declare (type simple-vector references) (optimize speed))
  (or common
      (if (symbolp name)
          (find name references :test #'eq)
          (find name references :test #'equal))))

(implement map-references (function kind name)
  (let ((common (gethash name sb-c::**most-common-xref-names-by-name**)))
    (map-users-functions
     (lambda (object code)
       (let ((references (references-of-code code)))
         (when (and references (perhaps-refers-p references name common))
           (let ((count 0))
             (sb-c::map-packed-xref-data
              (lambda (other-kind other-name form)
                (declare (ignore form))
                (when (and (eq kind other-kind) (equal name other-name))
                  (incf count)))
              references)
             (when (and (plusp count)
                        (not (and (typep object 'method) (own-method-p object))))
               (funcall function object
                        (if (typep object 'method) nil (sb-kernel::%fun-name code))
                        count))))))
     (searched-packages name))))

(implement references-from (function)
  (let* ((code (if (typep function 'method)
                   (ignore-errors (sb-pcl::safe-method-fast-function function))
                   function))
         (references (and code (references-of-code code)))
         (found '()))
    (flet ((note (kind name)
             (let ((entry (find-if (lambda (entry)
                                     (and (eq kind (first entry)) (equal name (second entry))))
                                   found)))
               (if entry
                   (incf (third entry))
                   (push (list kind name 1) found)))))
      (when references
        (sb-c::map-packed-xref-data (lambda (kind name form)
                                     (declare (ignore form))
                                     (when (visible-name-p name)
                                       (note kind name)))
                                   references))
      (nreverse found))))

;;; Symbols and expanding

(implement expand-everywhere (form)
  (sb-walker:macroexpand-all form))

;;; Generic functions

(implement slot-of-method (method)
  (typecase method
    (sb-mop:standard-reader-method :reads)
    (sb-mop:standard-writer-method :writes)))

(defun short-order (name options methods)
  "Arrange METHODS as a method combination of the short form of DEFINE-METHOD-COMBINATION does."
  (let ((combined (methods-with (list name) :combined methods)))
    (append (methods-with '(:around) :around methods)
            (if (member :most-specific-last options) (reverse combined) combined)
            (loop for method in methods
                  unless (member (method-qualifiers method) (list '(:around) (list name)) :test #'equal)
                    collect (list method :unused)))))

(implement effective-order (function methods)
  (let* ((combination (sb-mop:generic-function-method-combination function))
         (name (sb-pcl::method-combination-type-name combination)))
    (typecase combination
      (sb-pcl::short-method-combination
       (values name (short-order name (sb-pcl::method-combination-options combination) methods)))
      (sb-pcl::long-method-combination
       (values name
               (order-of-other-kind methods)
               (list (sb-mop:compute-effective-method function combination methods))))
      (sb-pcl::standard-method-combination
       (values name (standard-order methods)))
      (t
       (values name (order-of-other-kind methods))))))

(implement method-code (method)
  (ignore-errors (sb-pcl::safe-method-fast-function method)))

(implement all-methods-on-class (class)
  (remove-duplicates
   (append (sb-mop:specializer-direct-methods class)
           (let ((found '()))
             (sb-pcl::map-specializers
              (lambda (specializer)
                (when (and (typep specializer 'sb-mop:eql-specializer)
                           (eq (class-of (sb-mop:eql-specializer-object specializer)) class))
                  (setf found (append (sb-mop:specializer-direct-methods specializer) found)))))
             found))))

;;; Classes

(implement class-precedence (class)
  (if (sb-mop:class-finalized-p class)
      (values (sb-mop:class-precedence-list class) t)
      ;; Computing it, unlike reading it, does not change the class.
      (values (ignore-errors (sb-mop:compute-class-precedence-list class)) nil)))

(implement slot-readers (slot)
  (if (typep slot 'sb-pcl::structure-direct-slot-definition)
      (remove nil (list (sb-pcl::slot-definition-defstruct-accessor-symbol slot)))
      (sb-mop:slot-definition-readers slot)))

(implement structure-function-p (name)
  (let ((transform (sb-int:info :function :source-transform name)))
    ;; A function for other names; here it is the structure's description, with the slot or what the function does.
    (and (consp transform)
         (not (eq (cdr transform) :constructor)))))

(define-missing-operations)

;;;; Information about systems: definitions, dependencies and places. Finding a system loads its definition,
;;;; so the server requests this from a copy of the session.

(in-package #:cl-mcp-agent)

(defconstant +components-listed+ 1000)
(defconstant +dependencies-listed+ 2000)

(defun text-or-nil (object limit)
  "Return OBJECT, which the user has written somewhere, as text of at most LIMIT characters; NIL for NIL."
  (cond ((null object) nil)
        ((stringp object) (subseq object 0 (min limit (length object))))
        ((pathnamep object) (namestring object))
        (t (item-text object limit))))

(defun meant-system (name)
  "Return the system that is meant by NAME, or refuse. Signals an error if its definition cannot be loaded."
  (let ((name (meant-system-name name)))
    (or (find-system-here name)
        (refuse-absent-system name))))

(defun first-of (list count)
  "Return the first COUNT elements of LIST, and whether there are more."
  (values (some-of list 0 count) (and (nthcdr count list) t)))

;;; Dependencies

(defun dependency-name (dependency)
  "Return the name of the system that DEPENDENCY, from a definition, requires, or NIL if it applies only to a
feature that is absent. The second value is the required version."
  (cond ((or (stringp dependency) (and dependency (symbolp dependency)))
         (asdf:coerce-name dependency))
        ((atom dependency) nil)
        (t
         (case (first dependency)
           (:version (values (asdf:coerce-name (second dependency)) (third dependency)))
           (:feature (if (uiop:featurep (second dependency))
                         (dependency-name (third dependency))
                         nil))
           (:require (asdf:coerce-name (second dependency)))
           (t nil)))))

(defun dependency-entries (dependencies)
  "List (NAME VERSION) of DEPENDENCIES."
  (loop for dependency in dependencies
        for (name version) = (multiple-value-list (dependency-name dependency))
        when name
          collect (list name (text-or-nil version 60))))

(defun state-of-system (name)
  "Return the system NAME or NIL, and its state: :LOADED, :KNOWN, :ABSENT or :BROKEN."
  (handler-case
      (let ((system (find-system-here name)))
        (values system
                (cond ((asdf:component-loaded-p (or system name)) :loaded)
                      (system :known)
                      (t :absent))))
    (error () (values nil :broken))))

(defun dependency-tree (system transitive)
  "List (DEPTH NAME STATE REPEAT VERSION) for the dependencies of SYSTEM, each before its own dependencies.
REPEAT is :CYCLE where the system is above itself, :AGAIN where it was listed before. The second value is
true if there are more than are listed."
  (let ((seen (list (asdf:component-name system))))
    (labels ((entries (system above)
               (loop for (name version) in (dependency-entries (asdf:system-depends-on system))
                     for (child state) = (multiple-value-list (state-of-system name))
                     for repeat = (cond ((member name above :test #'string=) :cycle)
                                        ((member name seen :test #'string=) :again)
                                        (t nil))
                     collect (list (1- (length above)) name state repeat version)
                     unless repeat
                       do (push name seen)
                       and when (and transitive child (<= (length above) 50))
                             append (entries child (cons name above)))))
      (first-of (entries system seen) +dependencies-listed+))))

(define-operation :system-dependencies (&key system transitive)
  (let ((system (meant-system system)))
    (multiple-value-bind (entries more) (with-agent-syntax () (dependency-tree system transitive))
      (list *id* :ok :name (asdf:component-name system) :dependencies entries :more more))))

;;; A definition

(defun test-system-names (system)
  "List the systems that the TEST-OP of SYSTEM tests or loads, according to its definition."
  (loop with others = (cons (asdf:component-name system) (asdf:system-depends-on system))
        with names = '()
        for (operation . components) in (ignore-errors (asdf:component-depends-on 'asdf:test-op system))
        when (member operation '(asdf:test-op asdf:load-op))
          do (dolist (component components)
               (let ((name (ignore-errors (if (typep component 'asdf:component)
                                              (asdf:component-name component)
                                              (dependency-name component)))))
                 (unless (or (null name) (member name others :test #'equal))
                   (pushnew name names :test #'string=))))
        finally (return (nreverse names))))

(defun component-entries (system)
  "List (DEPTH NAME FILE) for the components of SYSTEM, and whether there are more."
  (labels ((entries (parent depth)
             (loop for component in (asdf:component-children parent)
                   for module = (typep component 'asdf:parent-component)
                   collect (list depth
                                 (text-or-nil (asdf:component-name component) 200)
                                 (and (not module)
                                      (uiop:native-namestring (ignore-errors (asdf:component-pathname component)))))
                   when (and module (< depth 30))
                     append (entries component (1+ depth)))))
    (first-of (entries system 0) +components-listed+)))

(define-operation :describe-system (&key system)
  (let* ((system (meant-system system))
         (file (ignore-errors (asdf:system-source-file system)))
         (description (asdf:system-description system)))
    (with-agent-syntax ()
      (flet ((property (reader limit)
               (text-or-nil (ignore-errors (funcall (the function reader) system)) limit)))
        (multiple-value-bind (components more) (component-entries system)
          (list *id* :ok
                :name (asdf:component-name system)
                :file (uiop:native-namestring file)
                :place (place-of-file file)
                :loaded (and (asdf:component-loaded-p system) t)
                :description (text-or-nil description 2000)
                :long-description (let ((long (property #'asdf:system-long-description 4000)))
                                    (if (equal long description) nil long))
                :version (property #'asdf:component-version 100)
                :author (property #'asdf:system-author 500)
                :maintainer (property #'asdf:system-maintainer 500)
                :license (property #'asdf:system-license 200)
                :homepage (property #'asdf:system-homepage 500)
                :depends-on (mapcar #'first (dependency-entries (asdf:system-depends-on system)))
                :defsystem-depends-on (mapcar #'first (dependency-entries (asdf:system-defsystem-depends-on system)))
                :tests (test-system-names system)
                :components components
                :more more))))))

;;; Where systems are

(define-operation :list-systems (&key pattern ((:count limit) +systems-listed+))
  (let* ((found (remove-if-not (lambda (entry)
                                 (or (null pattern)
                                     (search pattern (car entry) :test #'char-equal)))
                               (known-definition-files)))
         (places (places)))
    (with-agent-syntax ()
      (list *id* :ok
            :total (length found)
            :systems (loop for (name . file) in found
                           repeat limit
                           collect (list name (uiop:native-namestring file) (place-of-file file places)
                                         (and (asdf:component-loaded-p name) t)))))))

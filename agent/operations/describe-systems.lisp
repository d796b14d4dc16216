;;;; Information about systems: definitions, dependencies and places. Finding a system loads its definition,
;;;; so the server requests this from a copy of the session.

(in-package #:cl-mcp-agent)

(defconstant +components-listed+ 1000)
(defconstant +dependencies-listed+ 2000)

(defun text-or-nil (object limit)
  "Return OBJECT, from a system definition, as text of at most LIMIT characters, or NIL."
  (cond ((null object) nil)
        ((stringp object) (subseq object 0 (min limit (length object))))
        ((pathnamep object) (namestring object))
        (t (item-text object limit))))

(defun designated-system (name)
  "Return the system NAME, or NIL. Signals an error if its definition cannot be loaded."
  (asdf:find-system name nil))

(defun meant-system (name)
  "Return the system that is meant by NAME, or refuse."
  (let ((name (meant-system-name name)))
    (or (designated-system name)
        (refuse-absent-system name))))

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
      (let ((system (designated-system name)))
        (values system
                (cond ((null system) (if (asdf:component-loaded-p name) :loaded :absent))
                      ((asdf:component-loaded-p system) :loaded)
                      (t :known))))
    (error () (values nil :broken))))

(defun dependency-tree (system transitive)
  "List (DEPTH NAME STATE REPEAT VERSION) for the dependencies of SYSTEM, each before its own dependencies.
REPEAT is :CYCLE where the system is above itself, :AGAIN where it was listed before. The second value is
true if there are more than are listed."
  (let ((entries '())
        (count 0)
        (seen (list (asdf:component-name system))))
    (labels ((walk (system depth above)
               (loop for (name version) in (dependency-entries (asdf:system-depends-on system))
                     do (when (>= count +dependencies-listed+)
                          (return-from dependency-tree (values (nreverse entries) t)))
                        (multiple-value-bind (child state) (state-of-system name)
                          (let ((repeat (cond ((member name above :test #'string=) :cycle)
                                              ((member name seen :test #'string=) :again)
                                              (t nil))))
                            (incf count)
                            (push (list depth name state repeat version) entries)
                            (unless repeat
                              (push name seen)
                              (when (and transitive child (< depth 50))
                                (walk child (1+ depth) (cons name above)))))))))
      (walk system 0 (list (asdf:component-name system))))
    (values (nreverse entries) nil)))

(define-operation :system-dependencies (&key system transitive)
  (let ((system (meant-system system)))
    (multiple-value-bind (entries more) (with-agent-syntax () (dependency-tree system transitive))
      (list *id* :ok :name (asdf:component-name system) :dependencies entries :more more))))

;;; A definition

(defun test-system-names (system)
  "List the systems that the TEST-OP of SYSTEM tests or loads, according to its definition."
  (let ((names '()))
    (loop for (operation . components)
            in (ignore-errors (asdf:component-depends-on 'asdf:test-op system))
          do (when (member operation '(asdf:test-op asdf:load-op))
               (dolist (component components)
                 (let ((name (ignore-errors
                              (if (typep component 'asdf:component)
                                  (asdf:component-name component)
                                  (dependency-name component)))))
                   (when (and name
                              (string-not-equal name (asdf:component-name system))
                              (not (member name (asdf:system-depends-on system)
                                           :test #'equal)))
                     (pushnew name names :test #'string=))))))
    (nreverse names)))

(defun component-entries (system)
  "List (DEPTH NAME FILE) for the components of SYSTEM, and whether there are more."
  (let ((entries '())
        (count 0))
    (labels ((walk (parent depth)
               (dolist (component (asdf:component-children parent))
                 (when (>= count +components-listed+)
                   (return-from component-entries (values (nreverse entries) t)))
                 (incf count)
                 (let ((module (typep component 'asdf:parent-component)))
                   (push (list depth
                               (text-or-nil (asdf:component-name component) 200)
                               (and (not module)
                                    (native-name (ignore-errors
                                                  (asdf:component-pathname component)))))
                         entries)
                   (when (and module (< depth 30))
                     (walk component (1+ depth)))))))
      (walk system 0))
    (values (nreverse entries) nil)))

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
                :file (native-name file)
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
                :defsystem-depends-on (mapcar #'first
                                              (dependency-entries
                                               (asdf:system-defsystem-depends-on system)))
                :tests (test-system-names system)
                :components components
                :more more))))))

;;; Where systems are

(define-operation :list-systems (&key pattern ((:count limit) +systems-listed+))
  (let* ((found (remove-if-not (lambda (entry)
                                 (or (null pattern)
                                     (search pattern (car entry) :test #'char-equal)))
                               (known-definition-files)))
         (count (length found))
         (places (places)))
    (with-agent-syntax ()
      (list *id* :ok
            :total count
            :systems (loop for (name . file) in found
                           repeat limit
                           collect (list name (native-name file) (place-of-file file places)
                                         (and (asdf:component-loaded-p name) t)))))))

;;;; The agent's port to SBCL: what functions, variables, types, objects and classes are made of.

(in-package #:cl-mcp-agent)

(implement function-lambda-list (function)
  ;; A function that was compiled with (debug 0) does not keep its lambda list.
  (handler-case (multiple-value-bind (list unknown) (sb-introspect:function-lambda-list function)
                  (if unknown :unknown list))
    (error () :unknown)))

(implement restart-needs-value-p (restart)
  (let ((parameters (function-lambda-list (sb-kernel::restart-function restart))))
    (and (consp parameters)
         (not (member (first parameters) lambda-list-keywords)))))

(implement restart-asker (restart)
  (sb-kernel::restart-interactive-function restart))

(implement function-type (name)
  (sb-introspect:function-type name))

(implement variable-type (symbol)
  (sb-kernel:type-specifier (sb-int:info :variable :type symbol)))

(implement variable-kind (symbol)
  (let ((kind (sb-int:info :variable :kind symbol)))
    (case kind
      (:unknown nil)
      (:macro :symbol-macro)
      (:constant (if (keywordp symbol) nil :constant))
      (t kind))))

(implement type-definition (symbol)
  (when (and (eq :defined (sb-int:info :type :kind symbol))
             (not (find-class symbol nil)))
    (let ((arguments (ignore-errors (sb-introspect:deftype-lambda-list symbol))))
      (format nil "Arguments: ~:[()~;~:*~a~]" arguments))))

(implement type-lambda-list (symbol)
  (handler-case (sb-introspect:deftype-lambda-list symbol)
    (error () :unknown)))

(implement expanders (symbol)
  (values (and (eq :defined (sb-int:info :type :kind symbol))
               (not (find-class symbol nil))
               (sb-int:info :type :expander symbol))
          (sb-int:info :setf :expander symbol)))

(implement special-variable-p (symbol)
  (eq :special (sb-int:info :variable :kind symbol)))

(implement closed-over-values (function)
  (if (sb-kernel:closurep function)
      (loop for value in (sb-kernel:%closure-values function)
            collect (if (and (sb-kernel:%other-pointer-p value)
                             (= sb-vm:value-cell-widetag (sb-kernel:%other-pointer-widetag value)))
                        (sb-kernel:value-cell-ref value)
                        value))
      '()))

(implement inner-objects (object)
  (typecase object
    (sb-ext:weak-pointer (list (cons "VALUE" (sb-ext:weak-pointer-value object))))
    (sb-kernel:fdefn (list (cons "NAME" (sb-kernel:fdefn-name object))
                           (cons "FUNCTION" (sb-kernel:fdefn-fun object))))
    (t '())))

(implement hash-table-weak (table)
  (sb-ext:hash-table-weakness table))

(implement class-ancestors (class)
  (sb-mop:class-precedence-list class))

(implement direct-slot-names (class)
  (mapcar #'sb-mop:slot-definition-name (sb-mop:class-direct-slots class)))

(implement slot-names (object)
  (mapcar #'sb-mop:slot-definition-name (sb-mop:class-slots (class-of object))))

(implement direct-superclasses (class)
  (sb-mop:class-direct-superclasses class))

(implement direct-subclasses (class)
  (sb-mop:class-direct-subclasses class))

(implement forward-reference-p (class)
  (typep class 'sb-mop:forward-referenced-class))

(implement direct-superclass-names (class)
  (remove nil (mapcar #'class-name (sb-mop:class-direct-superclasses class))))

(implement direct-subclass-names (class)
  (remove nil (mapcar #'class-name (sb-mop:class-direct-subclasses class))))

(implement methods-of-function (function)
  (sb-mop:generic-function-methods function))

(implement methods-on-class (class)
  (sb-mop:specializer-direct-methods class))

(implement method-parts (method)
  (let ((function (sb-mop:method-generic-function method)))
    (if (or (null function) (typep method 'sb-mop:standard-accessor-method))
        nil
        (let ((specializers (sb-mop:method-specializers method))
              (lambda-list (sb-mop:method-lambda-list method)))
          (values (sb-mop:generic-function-name function)
                  (method-qualifiers method)
                  (loop for parameter in lambda-list
                        for specializer = (pop specializers)
                        collect (cond ((null specializer) parameter)
                                      ((eq specializer (find-class t)) parameter)
                                      (t
                                       (list parameter (specializer-name specializer))))))))))

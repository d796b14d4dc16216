;;;; Macro expansion, and which methods a call would run. Both run user code, so the server requests them from a
;;;; copy of the process that it then discards.

(in-package #:cl-mcp-agent)

(defconstant +expansion-characters+ 1000000)
(defconstant +expansion-steps+ 1000)

(defun pretty-text (form limit)
  "Return FORM pretty-printed in lower case, and whether the text was cut."
  (let ((*print-pretty* t)
        (*print-case* :downcase)
        (*print-right-margin* 80)
        (*print-length* nil)
        (*print-level* nil)
        (*print-circle* (cyclic-p form)))
    (multiple-value-bind (text outcome)
        (guarded (stream limit)
          (prin1 form stream))
      (if (member outcome '(nil :stopped))
          (values text (eq outcome :stopped))
          (values (item-text form 1000) nil)))))

(defun expand-form (form depth)
  "Expand FORM by :ONE step, until its operator is not a macro (:TOP), or :EVERYWHERE. The second value is the number of
steps at the top; for :EVERYWHERE it is 1 if FORM is a macro form, otherwise 0."
  (if (eq depth :everywhere)
      (values (expand-everywhere form) (if (nth-value 1 (macroexpand-1 form)) 1 0))
      (loop with steps = 0
            while (< steps (if (eq depth :one) 1 +expansion-steps+))
            do (multiple-value-bind (next expanded) (macroexpand-1 form)
                 (unless expanded
                   (return (values form steps)))
                 (setf form next)
                 (incf steps))
            finally (return (values form steps)))))

(defun operator-kind (form)
  "Return in words what FORM, which is not a macro form, is."
  (cond ((symbolp form)
         (format nil "~a is not a symbol macro" (name-text form)))
        ((atom form) "It evaluates to itself")
        ((symbolp (first form))
         (format nil "~a is ~a" (name-text (first form))
                 (cond ((special-operator-p (first form)) "a special operator")
                       ((fboundp (first form)) "a function")
                       (t "not defined"))))
        (t "It calls a lambda expression")))

(defun expansion-entry (form depth)
  "Expand FORM. Return the text of the expansion and, for a form that is not a macro form, what it is."
  (multiple-value-bind (expansion steps) (expand-form form depth)
    (with-agent-syntax (:package *package*)
      (multiple-value-bind (text cut) (pretty-text expansion +expansion-characters+)
        (list text
              :steps steps
              :cut cut
              :same (equal form expansion)
              :operator (if (zerop steps) (operator-kind form) nil))))))

(defun call-in-package-for-code (arguments function)
  "Call FUNCTION as one compilation unit in the package that ARGUMENTS name. If there is no such package, refuse."
  (let* ((name (getf arguments :package))
         (*package* (if name (package-meant name) *package*))
         (*current-form* nil))          ; of an error that stands
    (call-in-unit function)))

(define-operation :macroexpand (&rest arguments &key code depth)
  (call-in-package-for-code
   arguments
   (lambda ()
     (list *id* :ok
           :expansions (loop for form in (read-forms code)
                             collect (expansion-entry form (intern-keyword depth)))))))

;;; Dispatch

(defun called-function (form)
  "Return the name that FORM calls and its argument forms. (SETF (NAME . ARGUMENTS) VALUE) calls (SETF NAME)."
  (cond ((not (and (consp form) (symbolp (first form)) (listp (cdr (last form)))))
         (values nil '()))
        ((and (eq (first form) 'setf)
              (= (length form) 3)
              (consp (second form))
              (symbolp (first (second form)))
              (fboundp `(setf ,(first (second form)))))
         (values `(setf ,(first (second form)))
                 (cons (third form) (rest (second form)))))
        (t
         (values (first form) (rest form)))))

(defun argument-entries (function arguments count)
  "List (PARAMETER CLASS TEXT) for the first COUNT of ARGUMENTS, those that FUNCTION dispatches on."
  (loop with list = (function-lambda-list function)
        for argument in arguments
        for number from 1 to count
        for parameter = (and (listp list) (pop list))
        collect (list (if (and parameter (symbolp parameter)) (symbol-name parameter) (format nil "argument ~d" number))
                      (type-text argument)
                      (item-text argument 100))))

(defun misfits (method arguments)
  "List the numbers of those of ARGUMENTS that do not fit METHOD."
  (loop for argument in arguments
        for number from 0 below (length (nth-value 2 (method-signature method)))
        unless (specializer-fits-p method number argument)
          collect number))

(defun order-part (function applicable)
  "Return the part of the reply about the methods APPLICABLE, which a call of FUNCTION runs."
  (multiple-value-bind (combination order form) (effective-order function applicable)
    (list :combination (name-text combination)
          :fails (notany (lambda (entry) (member (second entry) '(:primary :combined))) order)
          :order (loop for (method role) in order
                       collect (list* (method-text method) :role (symbol-name role)
                                      (method-place-part method)))
          :form (and form (values (pretty-text (first form) 4000))))))

(defun misfits-part (methods arguments)
  "Return the part of the reply about METHODS, none of which fits ARGUMENTS."
  (list :misfits (loop for method in (sorted-by #'method-text methods)
                       repeat 50
                       collect (list* (method-text method)
                                      :misfits (misfits method arguments)
                                      (method-place-part method)))))

(defun dispatch-reply (form)
  (multiple-value-bind (name argument-forms) (called-function form)
    (with-agent-syntax ()
      (cond ((null name)
             (refuse-absent t "This is not a call of a named function."))
            ((and (symbolp name) (or (macro-function name) (special-operator-p name)))
             (refuse-absent t "~a is a ~:[special operator~;macro~]: it has no methods." (name-text name)
                            (macro-function name)))
            ((not (fboundp name))
             (refuse-other-meaning (if (consp name) (second name) name) "a function"))))
    (let ((function (fdefinition name))
          ;; The arguments are evaluated as a call would evaluate them; an error in one is reported.
          (arguments (loop for form in argument-forms
                           append (let ((*current-form* (list form)))
                                    (list (first (evaluate-form form)))))))
      (with-agent-syntax (:length 10 :level 4)
        (if (typep function 'generic-function)
            (generic-reply name function arguments)
            (list *id* :ok
                  :name (name-text name)
                  :function (lambda-list-text function)
                  :place (object-place-part function name :function)))))))

(defun generic-reply (name function arguments)
  (let* ((required (required-count (function-lambda-list function)))
         (methods (methods-of-function function)))
    (when (< (length arguments) required)
      (refuse-absent t "~a takes at least ~d argument~:p; this form has ~d." (name-text name) required (length arguments)))
    (let ((applicable (and methods (compute-applicable-methods function arguments))))
      (list* *id* :ok
             :name (name-text name)
             :arguments (argument-entries function arguments required)
             :methods (length methods)
             (if applicable
                 (order-part function applicable)
                 (misfits-part methods arguments))))))

(define-operation :explain-dispatch (&rest arguments &key code)
  (call-in-package-for-code
   arguments
   (lambda ()
     (let ((forms (read-forms code)))
       (unless (= 1 (length forms))
         (refuse-absent t "Pass one form: the call to explain."))
       (dispatch-reply (first forms))))))

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
  (multiple-value-bind (once expanded) (macroexpand-1 form)
    (cond ((not expanded)
           (if (eq depth :everywhere)
               (values (expand-everywhere form) 0)
               (values form 0)))
          ((eq depth :one) (values once 1))
          ((eq depth :everywhere) (values (expand-everywhere form) 1))
          (t
           (loop for steps from 1
                 do (multiple-value-bind (next more) (macroexpand-1 once)
                      (when (or (not more) (>= steps +expansion-steps+))
                        (return (values once steps)))
                      (setf once next)))))))

(defun operator-kind (form)
  "Return in words what FORM, which is not a macro form, is."
  (flet ((kind (name)
           (cond ((special-operator-p name) "a special operator")
                 ((fboundp name) "a function")
                 (t "not defined"))))
    (cond ((and (consp form) (symbolp (first form)))
           (format nil "~a is ~a" (name-text (first form)) (kind (first form))))
          ((symbolp form)
           (format nil "~a is not a symbol macro" (name-text form)))
          ((consp form) "It calls a lambda expression")
          (t "It evaluates to itself"))))

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

(defun required-parameters (function count)
  "Return the names of the first COUNT parameters of FUNCTION as text."
  (let ((list (function-lambda-list function)))
    (loop for index below count
          for parameter = (and (listp list) (nth index list))
          collect (if (and parameter (symbolp parameter))
                      (symbol-name parameter)
                      (format nil "argument ~d" (1+ index))))))

(defun argument-entries (function arguments count)
  "List (PARAMETER CLASS TEXT) for the first COUNT of ARGUMENTS, those that FUNCTION dispatches on."
  (loop for argument in arguments
        for name in (required-parameters function count)
        collect (list name (type-text argument) (item-text argument 100))))

(defun misfits (method arguments)
  "List the numbers of those of ARGUMENTS that do not fit METHOD."
  (loop for argument in arguments
        for number from 0 below (length (nth-value 2 (method-signature method)))
        unless (specializer-fits-p method number argument)
          collect number))

(defun applicable-reply (name function arguments required applicable)
  (multiple-value-bind (combination order form) (effective-order function applicable)
    (list *id* :ok
          :name (name-text name)
          :combination (name-text combination)
          :arguments (argument-entries function arguments required)
          :methods (length (methods-of-function function))
          :fails (notany (lambda (entry) (member (second entry) '(:primary :combined))) order)
          :order (loop for (method role) in order
                       collect (list* (method-text method) :role (symbol-name role)
                                      (place-part (place-of method))))
          :form (if form
                    (values (pretty-text (first form) 4000))
                    nil))))

(defun inapplicable-reply (name function arguments required)
  (let ((methods (methods-in-order (methods-of-function function))))
    (list *id* :ok
          :name (name-text name)
          :arguments (argument-entries function arguments required)
          :methods (length methods)
          :misfits (loop for method in methods
                         repeat 50
                         collect (list* (method-text method)
                                        :misfits (misfits method arguments)
                                        (place-part (place-of method)))))))

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
                  :place (place-part (place-of function))))))))

(defun generic-reply (name function arguments)
  (let* ((required (required-count (function-lambda-list function)))
         (methods (methods-of-function function)))
    (when (< (length arguments) required)
      (refuse-absent t "~a takes at least ~d argument~:p; this form has ~d." (name-text name) required (length arguments)))
    (let ((applicable (compute-applicable-methods function arguments)))
      (if (and methods applicable)
          (applicable-reply name function arguments required applicable)
          (inapplicable-reply name function arguments required)))))

(define-operation :explain-dispatch (&rest arguments &key code)
  (call-in-package-for-code
   arguments
   (lambda ()
     (let ((forms (read-forms code)))
       (unless (= 1 (length forms))
         (refuse-absent t "Pass one form: the call to explain."))
       (dispatch-reply (first forms))))))

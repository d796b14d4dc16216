;;;; Forgetting definitions that no file has any more.

(in-package #:cl-mcp-agent)

(defun written-in-file (kind name object native)
  "Return the line of the file NATIVE where OBJECT, which is NAME as KIND, is still defined; T if a macro there may define it; or NIL."
  (let* ((octets (file-octets native +file-octets+))
         (text (and octets (text-of-octets octets))))
    (when text
      (let ((found (find-if (lambda (written)
                              (let ((key (written-key written)))
                                (and (equal name (second key))
                                     (if (eq kind :method)
                                         (and (eq :method (first key)) (eq object (nth-value 2 (definition-of-key key))))
                                         (member (first key) (list kind :form))))))
                            (definitions-of-text text "COMMON-LISP-USER"))))
        (if found
            (written-line found)
            (and (not (eq kind :method)) (find-naming text name) t))))))

(defparameter *forgettable-kinds*
  '(:function :generic-function :macro :method :compiler-macro :variable :constant :symbol-macro :class :structure :condition))

(defun definition-state (kind name object place)
  "Return :GONE if no file has this definition any more or only an evaluation made it, otherwise in words where it still is."
  (cond ((getf place :evaluation) :gone)
        ((not (getf place :file))
         ;; A generic function that was made with its first method has no place.
         (if (and (eq kind :generic-function)
                  (loop for method in (methods-of-function object)
                        always (eq :gone (definition-state :method name method (place-of method)))))
             :gone
             "it is not known where it comes from"))
        ((and (eq kind :method) (slot-of-method object)) "the definition of its class makes it")
        ((and (eq kind :generic-function)
              (notevery (lambda (method) (eq :gone (definition-state :method name method (place-of method))))
                        (methods-of-function object)))
         "it still has methods")
        (t
         (let* ((native (true-name (getf place :file)))
                (line (written-in-file kind name object native)))
           (if line
               (format nil "it is still in ~a~@[:~d~]" (shown-file native) (if (integerp line) line nil))
               :gone)))))

(defun forget (kind name object)
  (case kind
    ((:function :generic-function :macro) (fmakunbound name))
    (:method (remove-method (mop method-generic-function object) object))
    (:compiler-macro (setf (compiler-macro-function name) nil))
    ((:variable :constant :symbol-macro) (forget-variable name))
    (t (setf (find-class name) nil))))

(defun title-of-definition (kind name object)
  (format nil "~(~a~) ~a" (substitute #\space #\- (symbol-name kind)) (definition-title kind name object)))

(define-operation :forget-definition (&rest arguments &key name force)
  (call-with-named-symbol
   arguments :name
   (lambda (symbol)
     (when (implementation-name-p symbol)
       (refuse "~a belongs to the Lisp itself and is not forgotten." (symbol-text symbol)))
     (let* ((*forms-left* +forms-compared+)
            (states (call-with-reading-packages
                     (lambda ()
                       (loop for (kind name object place) in (all-definitions symbol (setf-name-p name) nil)
                             when (member kind *forgettable-kinds*)
                               collect (list kind name object (definition-state kind name object place)
                                             (callers-text (list kind name)))))))
            (gone (if force states (remove :gone states :key #'fourth :test-not #'eq)))
            (kept (set-difference states gone)))
       (flet ((titled (entry)
                (destructuring-bind (kind name object state callers) entry
                  (given :name (title-of-definition kind name object) :callers callers
                         :why (if (stringp state) state nil)))))
         (let ((forgotten (mapcar #'titled gone))
               (kept (mapcar #'titled (reverse kept))))
           (cond (gone)
                 (kept
                  (refuse "~{~a~^; ~}. Nothing was forgotten. Delete it there first (edit-form, operation: delete), or pass force: true."
                          (loop for entry in kept
                                collect (format nil "~a~@[ (~a)~]: ~a" (getf entry :name) (getf entry :callers) (getf entry :why)))))
                 (t (refuse "~a has no definition that can be forgotten." (symbol-text symbol))))
           (call-as-evaluation
            (lambda ()
              ;; A generic function takes its methods along.
              (loop for (kind name object) in (reverse gone)
                    do (forget kind name object))
              '())
            arguments
            (lambda () (list :forgotten forgotten :kept kept)))))))))

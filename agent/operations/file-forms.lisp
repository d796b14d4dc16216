;;;; The definitions in a text: what each form defines, and the form itself for comparing. The reader of the image reads them, with
;;;; the packages and readtables that are there. Nothing is evaluated, and no symbol is interned in a package of the program.

(in-package #:cl-mcp-agent)

(defstruct (written (:predicate nil) (:constructor make-written (key form line lines package start end)))
  "A definition in a text: its KEY, its FORM, or its text if the form cannot be read, its first line, how many lines it has, the
package in which it is read, and the characters that it is."
  key form line lines package start end)

;;; Symbols that are new are interned in a copy of the package, which is deleted after the comparison.

(defvar *reading-packages* '()
  "(NAME . COPY) for the packages in which is read.")

(defun copy-of-package (package)
  (let ((copy (make-package (format nil "CL-MCP-READING-~a" (gensym "")) :use '()))
        (shadowing (package-shadowing-symbols package))
        (symbols '()))
    (do-present-symbols (symbol package)
      (when (symbol-package symbol)
        (push symbol symbols)))
    (shadowing-import shadowing copy)
    ;; The time that a list takes grows with its square.
    (dolist (symbol symbols)
      (import symbol copy))
    (use-package (package-use-list package) copy)
    (copy-local-nicknames package copy)
    copy))

(defun reading-package (name)
  "Return the package to read in for the package called NAME; an empty one with the standard's symbols if there is none."
  (let* ((package (find-package name))
         (name (if package (package-name package) name)))
    (or (cdr (assoc name *reading-packages* :test #'string=))
        (let ((copy (if package
                        (copy-of-package package)
                        (make-package (format nil "CL-MCP-READING-~a" (gensym "")) :use (list (find-package "COMMON-LISP"))))))
          (push (cons name copy) *reading-packages*)
          copy))))

(defun call-with-reading-packages (function)
  (let ((*reading-packages* '()))
    (unwind-protect (funcall function)
      (loop for (nil . copy) in *reading-packages*
            do (ignore-errors (delete-package copy))))))

(defun written-package-name (symbol)
  "Return the name of the package that SYMBOL, from a text, is or would be in."
  (let ((package (symbol-package symbol)))
    (cond ((null package) nil)
          ((car (rassoc package *reading-packages*)))
          (t (package-name package)))))

;;; Reading

(defun unevaluated (mark)
  "Return a reader macro that returns a list of MARK and what follows, in the place of its value."
  (lambda (stream character argument)
    (declare (ignore character argument))
    (list mark (read stream t nil t))))

(defun readtable-for-comparing (readtable)
  "Return a copy of READTABLE that neither evaluates nor makes structures."
  (let ((copy (copy-readtable readtable)))
    (set-dispatch-macro-character #\# #\. (unevaluated '|#.|) copy)
    (set-dispatch-macro-character #\# #\S (unevaluated '|#S|) copy)
    copy))

(defun named-readtable (name)
  "Return the readtable called NAME by the library NAMED-READTABLES, if that is loaded, or NIL."
  (let* ((package (find-package "NAMED-READTABLES"))
         (find (and package (find-symbol "FIND-READTABLE" package))))
    (and find (not (runs-nothing-p)) (fboundp find)
         (ignore-errors (funcall find name)))))

(defun operator-name (form)
  (and (consp form) (symbolp (first form)) (first form) (symbol-name (first form))))

(defun follow-form (form)
  "Make what FORM, of a text, makes current: a package or a readtable."
  (let ((argument (and (consp form) (consp (rest form)) (second form))))
    (cond ((member (operator-name form) '("PROGN" "EVAL-WHEN") :test #'equal)
           (loop for (part) on (rest form)
                 repeat 1000
                 do (follow-form part)))
          ((not (and argument (typep argument '(or symbol string)))))
          ((equal "IN-PACKAGE" (operator-name form))
           (setf *package* (reading-package (string argument))))
          ((equal "IN-READTABLE" (operator-name form))
           (let ((readtable (named-readtable argument)))
             (when readtable
               (setf *readtable* (readtable-for-comparing readtable))))))))

(defparameter *containers*
  '("PROGN" "EVAL-WHEN" "LOCALLY" "LET" "LET*" "FLET" "LABELS" "MACROLET" "SYMBOL-MACROLET"))

(defun plain-name (name)
  "Return NAME, what is written behind a defining word, as the name in a key, or NIL."
  (cond ((and (consp name) (eq (first name) 'setf) (consp (rest name)) (symbolp (second name)))
         (list 'setf (second name)))
        ((consp name) (if (typep (first name) '(or symbol string)) (first name) nil))
        ((typep name '(or symbol string character integer)) name)
        (t nil)))

(defun written-specializers (lambda-list)
  (loop for rest = lambda-list then (cdr rest)
        while (and (consp rest) (not (member (car rest) lambda-list-keywords)))
        collect (let ((parameter (car rest)))
                  (if (and (consp parameter) (consp (cdr parameter))) (second parameter) t))))

(defun method-key (name rest)
  (let ((qualifiers (loop for left = rest then (cdr left)
                          while (and (consp left) (atom (car left)) (car left))
                          collect (car left))))
    (list :method name qualifiers
          (let ((tail (nthcdr (length qualifiers) rest)))
            (if (consp tail) (written-specializers (car tail)) '())))))

(defun kind-defined-by (word)
  "Return the kind that WORD, the name of an operator, defines, or NIL."
  (first (or (find word *defining-words* :key #'second :test #'string=)
             (find-if (lambda (entry) (member word (rest entry) :test #'string=)) *defining-words*))))

(defun keys-defined (form)
  "List the keys of what FORM, a toplevel form, defines. A key is (KIND NAME), for a method (:METHOD NAME QUALIFIERS SPECIALIZERS),
and (:FORM NAME OPERATOR) if a macro of the program's defines it."
  (let* ((word (operator-name form))
         (name (and word (consp (rest form)) (plain-name (second form))))
         (kind (and name (kind-defined-by word))))
    (cond ((null word) '())
          ((and (string= word "EVAL-WHEN")
                (consp (rest form))
                (not (intersection '(:load-toplevel load) (if (listp (second form)) (second form) '()))))
           '())                         ; only the compiler has it
          ((member word *containers* :test #'string=)
           (loop for (part) on (rest form)
                 repeat 10000
                 append (keys-defined part)))
          ((null name) '())
          ((eq kind :package) (list (list :package (string name))))
          ((eq kind :method) (list (method-key name (cddr form))))
          ((and kind (typep name '(or symbol cons))) (list (list kind name)))
          ((eql 0 (search "DEF" word)) (list (list :form name (first form))))
          (t '()))))

(defun unread-keys (text start)
  "List the key of the form of TEXT at START, which cannot be read, as far as its beginning shows it."
  (multiple-value-bind (word name) (defined-at text start)
    (flet ((interned (name)
             (intern (string-upcase name) *package*)))
      (let ((kind (and word name (kind-defined-by (string-upcase (plain-token word))))))
        (cond ((not (and name (eql 0 (search "DEF" word :test #'char-equal)))) '())
              ((member kind '(nil :method :package))
               (list (list :form (interned (if (consp name) (second name) name)) (string-upcase word))))
              ((consp name) (list (list kind (list 'setf (interned (second name))))))
              (t (list (list kind (interned name)))))))))

(defun reason-text (condition)
  "Return in a line why CONDITION was signalled by the reader."
  (let ((text (or (ignore-errors (substitute #\space #\newline (princ-to-string condition))) "it cannot be read")))
    (trimmed (subseq text 0 (min 200 (or (search " Line: " text) (search " Stream: " text) (length text)))))))

(defvar *forms-left* 0
  "How many forms may still be read for the comparison.")

(defun definitions-of-text (text package &optional (from 0) until)
  "List the definitions of TEXT, read in the package called PACKAGE, as WRITTEN structures in their order; second, a list of
\(LINE . REASON) for the forms that cannot be read; third, whether all is read."
  (let* ((until (min (or until (length text)) (length text)))
         (stream (make-string-input-stream text 0 until))
         (*package* (reading-package package))
         (*readtable* (readtable-for-comparing (if (runs-nothing-p) *standard-readtable* *readtable*)))
         (*read-eval* nil)
         (*read-suppress* nil)
         (found '())
         (unread '())
         (line 1)
         (counted 0)
         (at from))
    (flet ((line-of (position)
             (incf line (count #\newline text :start counted :end position))
             (setf counted position)
             line))
      (loop
        (let ((start (code-start text at)))
          (when (or (null start) (>= start until))
            (return (values (nreverse found) (nreverse unread) t)))
          (when (minusp (decf *forms-left*))
            (return (values (nreverse found) (nreverse unread) nil)))
          (setf start (live-form-start text start))
          (file-position stream start)
          (let* ((package (car (rassoc *package* *reading-packages*)))
                 (reason nil)
                 (form (handler-case (read-preserving-whitespace stream nil stream)
                         (serious-condition (condition)
                           (setf reason (reason-text condition))
                           nil)))
                 (end (if reason (form-end text start) (file-position stream))))
            (let ((first-line (line-of start)))
              (when reason
                (push (cons first-line reason) unread))
              (when (<= end at)
                (return (values (nreverse found) (nreverse unread) t)))
              (dolist (key (cond ((eq form stream) '())
                                 (reason (unread-keys text start))
                                 ;; A form may be a dotted list.
                                 (t (handler-case (keys-defined form) (error () '())))))
                (push (make-written key (if reason (subseq text start (min end until)) form) first-line
                                    (1+ (count #\newline (string-right-trim *blanks* (subseq text start (min end until)))))
                                    package start end)
                      found))
              (unless reason
                (follow-form form))
              (setf at end))))))))

;;; Comparing

(defun same-form-p (one two)
  "True if ONE and TWO, forms that were read, are alike. What is too large, or circular, differs."
  (let ((left +conses-searched+))
    (declare (type fixnum left))
    (labels ((same-p (one two)
               (cond ((eql one two) t)
                     ((minusp (decf left)) nil)
                     ((consp one)
                      (and (consp two)
                           (loop
                             (unless (same-p (car one) (car two))
                               (return nil))
                             (setf one (cdr one)
                                   two (cdr two))
                             (unless (and (consp one) (consp two) (plusp (decf left)))
                               (return (same-p one two))))))
                     ((stringp one) (and (stringp two) (string= one two)))
                     ((symbolp one)
                      (and (symbolp two) (null (symbol-package one)) (null (symbol-package two))
                           (string= one two)))
                     ((arrayp one)
                      (and (arrayp two)
                           (equal (array-dimensions one) (array-dimensions two))
                           (loop for place below (array-total-size one)
                                 always (same-p (row-major-aref one place) (row-major-aref two place)))))
                     ((typep one 'structure-object) ; a comma, in SBCL
                      (and (eq (class-of one) (class-of two))
                           (loop for name in (slot-names one)
                                 always (same-p (slot-value one name) (slot-value two name)))))
                     (t (equal one two)))))
      (same-p one two))))

(defun unevaluated-p (form)
  "True if FORM contains something that reading it does not evaluate here, or is the text of one that cannot be read."
  (or (stringp form)
      (let ((left +conses-searched+))
        (labels ((inside-p (form)
                   (loop while (and (consp form) (plusp (decf left)))
                         thereis (or (member (car form) '(|#.| |#S|)) (inside-p (car form)))
                         do (setf form (cdr form)))))
          (inside-p form)))))

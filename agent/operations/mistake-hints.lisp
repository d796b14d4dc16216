;;;; Common mistakes in Lisp written from memory: a sentence in the error's report gives the correct form.

(in-package #:cl-mcp-agent)

(defparameter *odd-characters*
  `((,(map 'string #'code-char '(#x201c #x201d #x201e #xab #xbb))
     "~a is a typographic quote. A string in Lisp stands between \"straight\" quotes.")
    (,(map 'string #'code-char '(#x2018 #x2019 #x201a))
     "~a is a typographic quote. Quote a form with ', the straight one.")
    (,(map 'string #'code-char '(#xfeff))
     "There is a byte order mark (U+FEFF), which Lisp takes for part of a name. Leave it out.~*"))
  "Characters that the reader takes for letters, probably unintended, with a sentence for those of each string.")

(defun odd-character-hint (name)
  (loop for (characters sentence) in *odd-characters*
        for found = (find-if (lambda (character) (find character characters)) name)
        when found
          return (format nil sentence found)))

(defun no-break-space-hint (name)
  "Return a sentence if a space in NAME is a no-break space in the text; the reader makes it an ordinary one."
  (let ((space (and (find #\space name)
                    *forms-done*
                    (find (code-char #xa0) (forms-done-text *forms-done*)))))
    (when space
      "The text has a no-break space (U+00A0), which Lisp takes for part of a name. Use an ordinary space.")))

(defun prompt-hint (name)
  "Return a sentence if NAME, of an unbound variable, is the prompt of a REPL."
  (let ((last (1- (length name))))
    (when (and (plusp last)
               (char= #\> (char name last))
               (find-package (subseq name 0 last)))
      (format nil "~a is the prompt of a REPL. Send only what comes after it." name))))

(defun fence-hint ()
  "Return a sentence if the text being read is in a code fence."
  (when (and *source* (search "```" (the string (first *source*))))
    "The code stands between ``` lines of Markdown. Send it without them."))

(defun early-package-hint (condition)
  "Return a sentence if CONDITION is about a package that the form being read would create."
  (let ((name (and *source* (typep condition 'package-error) (package-error-package condition))))
    (when (stringp name)
      (let* ((text (the string (first *source*)))
             (definer (search "defpackage" text :start2 (min (length text) (third *source*)) :test #'char-equal))
             (named (and definer (search name text :start2 definer :test #'char-equal))))
        (when (and named (< (- named definer) 20))
          (format nil "A form is read as a whole before any of it is evaluated, so its DEFPACKAGE of ~a has not ~
                       run yet. Send that as a form of its own before this one." name))))))

(defun keyword-hint (condition)
  "Return a sentence if CONDITION reports that a keyword is not a string."
  (when (typep condition 'type-error)
    (let ((datum (type-error-datum condition)))
      (when (and (keywordp datum)
                 (ignore-errors (subtypep 'string (type-error-expected-type condition))))
        (format nil "~s is a keyword, not a string. Write ~s, or (string ~s)."
                datum (string-downcase datum) datum)))))

(defun named-function (name)
  "Return the function called NAME, or NIL."
  (if (and (or (symbolp name)
               (and (consp name) (eq (first name) 'setf)))
           (fboundp name))
      (fdefinition name)
      nil))

(defun frame-function (frame)
  "Return the name of the function of FRAME, or of the first frame below it that a user knows; its lambda list; the
function if it is global; and the arguments of the call."
  (let ((frame (car (first (frames-from frame)))))
    (when frame
      (multiple-value-bind (called arguments) (frame-call frame)
        (let* ((name (if (and (consp called)
                              (or (eq (first called) 'method) (dispatcher-name-p called)))
                         (second called)
                         called))
               (function (named-function name)))
          (values name
                  (if function (function-lambda-list function) (frame-lambda-list frame))
                  function
                  arguments))))))

(defun local-lambda-list (name)
  "Return the lambda list of NAME, (FLET F) or (LABELS F), in the form being evaluated, or :UNKNOWN."
  (let ((left +conses-searched+))
    (labels ((look (part depth)
               (loop while (and (consp part) (plusp (decf left)) (< depth 200))
                     do (when (and (eq (first part) (first name)) (consp (rest part)))
                          (let ((function (ignore-errors (assoc (second name) (second part)))))
                            (when (and (consp (rest function)) (listp (second function)))
                              (return-from local-lambda-list (second function)))))
                        (look (pop part) (1+ depth)))))
      (when (and (consp name) (consp (rest name)))
        (look (first *current-form*) 0))
      :unknown)))

(defun function-that-was-called (frame name)
  "Do as FRAME-FUNCTION for the function NAME, which FRAME calls, or for that of FRAME if NAME is NIL."
  (let ((function (named-function name)))
    (cond ((null name) (frame-function frame))
          (function (values name (function-lambda-list function) function))
          (t (values name (local-lambda-list name))))))

(defun required-count (lambda-list)
  "Return how many required parameters LAMBDA-LIST, a list or :UNKNOWN, has."
  (if (listp lambda-list)
      (or (position-if (lambda (parameter) (member parameter lambda-list-keywords)) lambda-list)
          (length lambda-list))
      0))

(defun accepts-p (lambda-list count)
  "True if a function with LAMBDA-LIST can be called with COUNT arguments, or LAMBDA-LIST is :UNKNOWN."
  (or (not (listp lambda-list))
      (let ((optional (position '&optional lambda-list))
            (rest (intersection '(&rest &body &key) lambda-list)))
        (and (>= count (required-count lambda-list))
             (or (and rest t)
                 (<= count (- (or (position '&aux lambda-list) (length lambda-list))
                              (if optional 1 0))))))))

(defconstant +methods-told+ 8)

(defun fit-hint (name lambda-list)
  "Return a sentence with LAMBDA-LIST, of the function called NAME."
  (let ((name (if (and (consp name) (eq (first name) 'lambda)) "the LAMBDA" (name-text name))))
    (if lambda-list
        (format nil "The arguments of ~a are ~a." name (lambda-list-words lambda-list))
        (format nil "~a takes no arguments." name))))

(defun form-hint (count)
  "Return a sentence with the parameters of the function that the evaluated form calls, if the form gives COUNT arguments and
the function does not accept that number. The call of a generic function has no frame that shows this."
  (let* ((form (first *current-form*))
         (name (and (consp form) (first form)))
         (function (and name (symbolp name) (not (macro-function name)) (named-function name)))
         (lambda-list (and function (function-lambda-list function))))
    (and function
         (eql count (ignore-errors (list-length (rest form))))
         (not (accepts-p lambda-list count))
         (fit-hint name lambda-list))))

(defun dispatching-p (lambda-list)
  "True if LAMBDA-LIST is that of the code by which the Lisp dispatches a generic function, which has no name."
  (and (consp lambda-list)
       (symbolp (first lambda-list))
       (eql 0 (search ".ARG" (symbol-name (first lambda-list))))))

(defconstant +slots-told+ 12)

(defun slot-hint (condition)
  "Return a sentence with the slots or initargs of the class that CONDITION is about, or NIL."
  (multiple-value-bind (misuse class) (slot-misuse condition)
    (when misuse
      (let* ((slots (loop for ancestor in (reverse (class-precedence class))
                          append (direct-slots ancestor)))
             (names (remove-duplicates (if (eq misuse :slot)
                                           (loop for slot in slots collect (getf slot :name))
                                           (loop for slot in slots append (getf slot :initargs)))
                                       :from-end t)))
        (format nil (cond (names "The slots of ~a ~:[take~;are~] ~a.")
                          ((eq misuse :slot) "~a has no slots.")
                          (t "No slot of ~a has an initarg."))
                (name-text (class-name class))
                (eq misuse :slot)
                (listed (mapcar #'name-text names) +slots-told+))))))

(defun call-hint (condition frame)
  "Return the parameters or methods of the function at FRAME if CONDITION reports a call that does not fit them, or NIL."
  (multiple-value-bind (misuse callee count) (call-misuse condition)
    (when misuse
      (multiple-value-bind (name lambda-list function arguments) (function-that-was-called frame callee)
        (cond ((and count (dispatching-p lambda-list))
               (or (form-hint count)
                   (format nil "A generic function that takes ~d argument~:p was called with ~d."
                           (required-count lambda-list) count)))
              ;; The function that was called has no frame that is shown, and called by that one.
              ((and count (or (accepts-p lambda-list count)
                              (not (eql count (ignore-errors (list-length arguments))))))
               (form-hint count))
              ((and (eq misuse :arguments) name (not (eq lambda-list :unknown)))
               (fit-hint name lambda-list))
              ((and (eq misuse :methods) (typep function 'generic-function))
               (let ((texts (mapcar #'method-text (sorted-by #'method-text (methods-of-function function)))))
                 (format nil "~a has ~[no methods~:;~:*the method~p ~a~]."
                         (name-text name) (length texts) (listed texts +methods-told+)))))))))

(defun decoding-error-p (condition)
  "True if CONDITION reports octets that are not in the encoding of their stream or conversion."
  (let ((name (symbol-name (type-of condition))))
    (or (search "DECODING-ERROR" name) (search "INVALID-UTF8" name))))

(defun encoding-hint (condition)
  (when (and (decoding-error-p condition) (not (reading-failure condition)))
    "The octets are in another encoding. Pass :external-format, such as :latin-1 or '(:utf-8 :replacement #\\?)."))

(defun source-encoding-hint (condition)
  "Return a sentence if CONDITION, or a warning of the compiler, is that a source is in another encoding."
  (multiple-value-bind (file failure)
      ;; That of ASDF has another condition in a slot.
      (unread-file (some #'reading-failure (cons condition (mapcar #'cdr (ignore-errors (condition-slots condition))))))
    (when (and failure (decoding-error-p failure))
      (format nil "The file is not in UTF-8. Convert it, or load it with (load ~s :external-format :latin-1)." file))))

(defun redefinition-hint (condition)
  "Return a sentence if CONDITION is that a structure is not of the type of its name: it, or the code, is of an earlier
definition."
  (when (typep condition 'type-error)
    (let ((datum (type-error-datum condition))
          (expected (type-error-expected-type condition)))
      (when (and (typep datum 'structure-object)
                 (symbolp expected)
                 (string= expected (class-name (class-of datum))))
        (format nil "The structure ~a was redefined: the object or the code that uses it is older. Make new objects, and ~
                     evaluate or load again the functions that use it."
                (name-text expected))))))

(defun package-lock-hint (condition)
  "Return a sentence if CONDITION reports that a locked package forbids a definition. A program can shadow the Lisp's own names;
a package that it has locked itself is locked against the code of other packages only."
  (multiple-value-bind (package symbol) (lock-violated condition)
    (when package
      (let ((name (package-name package)))
        (cond ((not (own-package-p package))
               (format nil "~a is locked against the code of other packages. Evaluate this with package: ~s; in a file, ~
                            after (in-package ~s)." name name name))
              (symbol
               (format nil "~a belongs to ~a. Use another name, or (:shadow #:~(~a~)) in the DEFPACKAGE of your package."
                       (symbol-name symbol) name (symbol-name symbol)))
              (t
               (format nil "~a belongs to the Lisp. Use a symbol of your own package." name)))))))

(defun task-hint (condition)
  "Return a sentence if CONDITION is that lparallel lost a task by an error in its worker."
  (when (string= "TASK-KILLED-ERROR" (type-of condition))
    "The error is that of a worker, below. With (setf lparallel:*debug-tasks-p* nil) it is signalled here."))

(defun mistake-hint (condition frame)
  "Return a sentence about the mistake that led to CONDITION, signalled at FRAME; or NIL."
  (ignore-errors
   (or (slot-hint condition)
       (let ((name (and (typep condition 'cell-error) (cell-error-name condition))))
         (when (and name (symbolp name))
           (or (odd-character-hint (symbol-name name))
               (no-break-space-hint (symbol-name name))
               (prompt-hint (symbol-name name)))))
       (keyword-hint condition)
       (encoding-hint condition)
       (redefinition-hint condition)
       (task-hint condition)
       (package-lock-hint condition)
       (call-hint condition frame))))

(defun reading-mistake-hint (condition)
  "Return a sentence about the mistake that led to CONDITION, of the reader; or NIL."
  (ignore-errors
   (or (fence-hint)
       (early-package-hint condition)
       (let ((name (and (typep condition 'package-error) (package-error-package condition))))
         (and (stringp name) (odd-character-hint name))))))

(defun readtable-hint (kind condition)
  "Return a sentence if the current readtable is unsuitable for Lisp and may have caused CONDITION; or NIL."
  (when (or (eq kind :reader) *source* (typep condition 'cell-error))
    (let ((changed (find-if (lambda (character)
                              (not (eq (get-macro-character character) (get-macro-character character nil))))
                            "()\"';")))
      (when changed
        (format nil "The session's readtable does not read ~a as the standard one does. ~:[rollback-session ~
                     restores a state from before the change~;reset-session starts over without it~]."
                changed (threads-in-the-way))))))

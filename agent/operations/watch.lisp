;;;; Watching functions: finding them by name and wrapping them. A watcher sees the calls made by user code,
;;;; but not the agent's.

(in-package #:cl-mcp-agent)

(defconstant +watched-of-package+ 500
  "The most functions of a package that are watched if the whole package is named.")

(defvar *watching* nil
  "True while a watcher itself runs; its own calls are not watched.")

(defun program-calls-p (&optional tracing)
  "True if the current call is made by the program, not by the agent, and where TRACING applies. Finding out may call functions
that are watched themselves; so may a watcher."
  (and (not *watching*)
       (let ((*watching* t))
         (and (null *guard*)
              (or *evaluating* (not (main-thread-p)))
              (or (null tracing) (within-p tracing))))))

(defun function-name-problem (name)
  "Return why the function NAME cannot be watched, as a sentence, or NIL."
  (let ((symbol (if (consp name) (second name) name)))
    (cond ((agent-symbol-p symbol)
           (format nil "~s is the server's own." name))
          ((and (symbolp name) (special-operator-p name))
           (format nil "~s is a special operator." name))
          ((and (symbolp name) (macro-function name))
           (format nil "~s is a macro." name)))))

(defun functions-of-package (package)
  (let ((names '()))
    (do-symbols (symbol package)
      (when (eq (symbol-package symbol) package)
        (loop for name in (list symbol `(setf ,symbol))
              when (and (fboundp name) (not (function-name-problem name)))
                do (push name names))))
    (some-of (sort names #'string< :key #'name-text) 0 +watched-of-package+)))

(defun unknown-function-text (text)
  (multiple-value-bind (package-name symbol-name) (split-name text)
    (let ((package-missing (and package-name (null (find-package package-name)))))
      (format nil "There is no ~:[function~;package~] ~a.~@[ ~a~]" package-missing
              (if package-missing package-name text)
              (if package-missing
                  (offer-packages package-name)
                  (offer-symbols (near-symbols symbol-name
                                               (lambda (symbol)
                                                 (and (fboundp symbol)
                                                      (not (function-name-problem symbol)))))))))))

(defun functions-named (text)
  "List the names of the functions that TEXT denotes: one, or those of a package. Second, a sentence if
there are none."
  (let* ((text (string-left-trim "#' " text))
         (symbol (find-named-symbol text (session-package)))
         (found (nth-value 1 (find-named-symbol text (session-package))))
         (name (if (setf-name-p text) `(setf ,symbol) symbol))
         (package (or (find-package text) (find-package (string-upcase text)))))
    (cond ((string= text "null")
           (values '() "\"null\" counts as no function; write cl:null for the function NULL."))
          ((and found (fboundp name))
           (let ((problem (function-name-problem name)))
             (if problem (values '() problem) (list name))))
          ((and package (own-package-p package))
           (values '() (format nil "The package ~a belongs to the Lisp; name its functions one ~
                                    by one."
                               (package-name package))))
          (package
           (or (functions-of-package package)
               (values '() (format nil "The package ~a has no functions." (package-name package)))))
          (t (values '() (unknown-function-text text))))))

(defun functions-meant (texts)
  "List the names of the functions that TEXTS denote; second, the problems as (TEXT SENTENCE)."
  (let ((problems '()))
    (values (loop for text in texts
                  append (multiple-value-bind (names problem) (functions-named text)
                           (when problem
                             (push (list text problem) problems))
                           names))
            (reverse problems))))

(defun standard-name-p (name)
  (eq #.(find-package "COMMON-LISP") (symbol-package (if (consp name) (second name) name))))

(defun unwrap-if-wrapped (name tag)
  "Remove the wrapper with TAG from the function NAME, if there is such a function; return whether it had one."
  (when (and (fboundp name) (function-wrapped-p name tag))
    (unwrap-function name tag)
    t))

(defun start-watching (texts tag wrapper &optional (replaces-p (constantly nil)))
  "Wrap the functions that TEXTS denote, under TAG, in what the function WRAPPER returns for their name. One that is wrapped
already stays so unless REPLACES-P is true of its name. Return the part of the reply about this, and the names."
  (let ((started '())
        (already '())
        (failures '()))
    (multiple-value-bind (names problems) (functions-meant texts)
      (dolist (name names)
        (if (and (function-wrapped-p name tag) (not (funcall replaces-p name)))
            (pushnew name already :test #'equal)
            (handler-case (progn (wrap-function name tag (funcall wrapper name))
                                 (push name started))
              (error (condition)
                (push (list (name-text name) (message-text condition 1000)) failures)))))
      (values (list :started (mapcar #'name-text (reverse started))
                    :already (mapcar #'name-text (reverse already))
                    :problems (append problems (reverse failures))
                    :standard (and (some #'standard-name-p started) t)
                    :inlined (mapcar #'name-text (remove-if-not #'inlined-name-p (reverse started))))
              (reverse started)))))

(defun stop-watching (texts tag names)
  "Remove the wrappers under TAG from the functions that TEXTS denote, or from all of NAMES if there are no
TEXTS. Return the part of the reply about this, and the names."
  (let ((stopped '())
        (problems '()))
    (flet ((stop (name)
             (when (unwrap-if-wrapped name tag)
               (push name stopped))))
      (if (null texts)
          (mapc #'stop names)
          (dolist (text texts)
            (multiple-value-bind (found problem) (functions-named text)
              (cond (problem (push (list text problem) problems))
                    ((zerop (count-if #'stop found))
                     (push (list text (format nil "~a was not watched." text)) problems)))))))
    (values (list :stopped (mapcar #'name-text (reverse stopped))
                  :problems (reverse problems))
            stopped)))

(defun still-watched (names tag)
  "List those of NAMES that are still wrapped; a function that was made unbound is not."
  (remove-if-not (lambda (name) (and (fboundp name) (function-wrapped-p name tag))) names))

;;;; Entering an error: evaluating in one of its frames, or continuing with one of its restarts. The server
;;;; requests both from a copy of the process that stands at the error, or from the thread that stands there.

(in-package #:cl-mcp-agent)

(defun frame-number (number)
  "Return frame NUMBER of the report, or NIL for the last one, which represents the form. Refuse if there is no such frame."
  (unless *error-frame*
    (refuse "The error no longer stands: the program has left it."))
  (let* ((frames (frames-from *error-frame*))
         ;; The error of a thread that evaluates nothing has no form.
         (count (+ (length frames) (if *current-form* 1 0))))
    (unless (< number count)
      (refuse "There is no frame ~d: this error has ~d frame~:p, numbered from 0; see get-backtrace." number count))
    (car (nth number frames))))

(defun frame-bindings (frame)
  "List (SYMBOL VALUE) for the variables of FRAME that code can name; the first of those with the same name."
  (let ((bindings '()))
    (loop for (symbol . value) in (frame-locals frame)
          unless (or (constantp symbol)
                     (null (symbol-package symbol))
                     (assoc symbol bindings))
            do (push (list symbol (list 'quote value)) bindings))
    (nreverse bindings)))

(declaim (notinline evaluate-entry))
(defun evaluate-entry (form)
  "Evaluate FORM, sent to the last frame of an error. Backtraces end at this function."
  (multiple-value-prog1 (eval form)))

(defun evaluate-in-frame (frame form)
  "Evaluate FORM with the variables of FRAME, or without for NIL. An assignment to one changes it in FRAME."
  (unless frame
    (return-from evaluate-in-frame (evaluate-entry form)))
  (let* ((bindings (frame-bindings frame))
         (names (mapcar #'first bindings)))
    (flet ((write-back (values)
             (loop for (name (nil old)) in bindings
                   for value in values
                   unless (eq value old)
                     do (set-frame-local frame name value))))
      (funcall (form-function
                `(let ,bindings
                   (declare (ignorable ,@(remove :special names :key #'variable-kind)))
                   (multiple-value-prog1 ,form
                     (funcall ,#'write-back (list ,@names)))))))))

(defun read-forms (text)
  "List the forms of TEXT; second, where each ends."
  (let ((stream (make-string-input-stream text)))
    (loop for form = (let ((*source* (list text stream (file-position stream))))
                       (read-form stream))
          until (eq form stream)
          collect form into forms
          collect (file-position stream) into ends
          finally (return (values forms ends)))))

(defun noting-form (text forms ends)
  "Return a form that evaluates FORMS in order and notes how far TEXT has taken effect."
  `(progn ,@(loop for (form . more) on forms
                  for end in ends
                  collect form
                  when more
                    collect `(note-entry-done ',text ,end))))

(define-operation :evaluate-in-frame (&rest arguments &key (frame 0) code)
  (evaluate-text-in-frame (frame-number frame) code arguments))

(defun home-symbol (name)
  "Return the symbol from which NAME, a function's name in a frame, is derived: F for (SETF F), for a method of F and for
a local function in F. NIL if there is none."
  (let ((home (and (consp name) (member :in name))))
    (cond ((null name) nil)
          ((symbolp name) name)
          ((atom name) nil)
          (home (home-symbol (second home)))
          ((consp (rest name)) (home-symbol (second name))))))

(defun frame-package (frame)
  "Return the package in which the code of FRAME was most likely written: the current one if it is that of a variable, since
a method can be one of another package's function; otherwise the one of its function's name. NIL if that is unknown."
  (let ((symbol (and frame (home-symbol (frame-call frame)))))
    (cond ((and frame (find (session-package) (frame-bindings frame)
                            :key (lambda (binding) (symbol-package (first binding)))))
           (session-package))
          ((and symbol (not (eq (symbol-package symbol) (find-package "COMMON-LISP"))))
           (symbol-package symbol))
          (t nil))))

(defun mentions-p (form names)
  "True if FORM contains a symbol of NAMES."
  (let ((left 10000))
    (labels ((walk (tree)
               (loop while (consp tree)
                     do (when (minusp (decf left))
                          (return-from mentions-p t))
                        (walk (pop tree)))
               (when (member tree names)
                 (return-from mentions-p t))))
      (walk form)
      nil)))

(defun lost-variable-hint (condition)
  "Return a sentence if CONDITION reports a variable that is unbound in code evaluated in a frame, or NIL."
  (when (and *entered-variables* (typep condition 'unbound-variable))
    (format nil "~:[No variable of this frame is known here~;The variables of this frame known here are ~:*~{~a~^, ~}~]. ~
                 Code compiled with (debug 3) keeps all."
            (mapcar #'name-text (first *entered-variables*)))))

(defun evaluate-text-in-frame (frame text arguments)
  "Evaluate TEXT with the variables of FRAME. It is read in the package that ARGUMENTS name, or in the package of FRAME's
function, so that COUNT is the variable that the function calls COUNT. The reply reports whether TEXT uses none of them."
  (let ((variables (if frame (mapcar #'first (frame-bindings frame)) '()))
        (forms '())
        (ends '())
        (package nil))
    (flet ((free-p ()
             (not (mentions-p forms variables))))
      (call-as-evaluation
       (lambda ()
         (let ((*current-form* nil))
           (let ((*package* (or (and (null (getf arguments :package)) (frame-package frame))
                                *package*)))
             (setf (values forms ends) (read-forms text)
                   package (session-package-name)))
           (setf *current-form* (list (if (rest forms) (list* 'progn forms) (first forms))))
           (let ((*entered-variables* (list variables))
                 (*entry-text* (make-entry-text :text text :package package :free (free-p))))
             (evaluate-form-by (lambda () (evaluate-in-frame frame (noting-form text forms ends)))))))
       arguments
       (lambda () (given :free-in (and (free-p) package)))))))

(defun find-shown-restart (designator)
  "Return the restart with this name or number in the report, or NIL. The name may be a keyword or in brackets, as in
the report."
  (let* ((designator (string-trim '(#\: #\[ #\] #\space #\newline #\return #\tab) designator))
         (number (ignore-errors (parse-integer designator))))
    (if number
        (let ((restarts (append (numbered-restarts *error-condition*) (last *own-restarts*))))
          (and (<= 1 number (length restarts))
               (nth (1- number) restarts)))
        (find designator (append (shown-restarts *error-condition*) (last *own-restarts*))
              :test (lambda (name restart)
                      (and (restart-name restart)
                           (string-equal name (restart-name restart))))))))

(defun note-carried (progress evaluation again left)
  "Note in PROGRESS that the pieces AGAIN of EVALUATION were evaluated again, and the pieces LEFT were not."
  (when again
    (push (cons evaluation again) (progress-carried progress)))
  (when left
    (push (cons evaluation left) (progress-left progress))))

(defun evaluate-fix (code package progress)
  "Evaluate CODE before the program continues; return what took effect of it, an ENTRY-TEXT. It is read in PACKAGE, or in
the current package for NIL; PROGRESS, of the evaluation that continues, reports which."
  ;; What is evaluated in the current package may make another one current.
  (progv (if package '(*package*) '()) (list package)
    (note-package progress)
    (let ((*entry-text* (make-entry-text :text code :package (session-package-name))))
      (evaluate-text code)
      *entry-text*)))

(defun go-on-from-error (arguments prepare &optional package)
  "Leave the error that stands here: first evaluate what ARGUMENTS request, its code in PACKAGE, then call what PREPARE
returns, which never returns. What that leads to replies to this request from where the evaluation began. Failing before
is an error inside the error, reported like any other."
  (let ((progress (or *text-progress* (make-progress)))
        (code (getf arguments :code)))
    (when (getf arguments :asks)
      (continue-asking))
    (call-as-evaluation
     (lambda ()
       (dolist (definition (getf arguments :definitions))
         (multiple-value-bind (again left) (apply #'evaluate-again definition)
           (note-carried progress (third definition) again left)))
       (let* ((*entry-text* (and code (evaluate-fix code package progress)))
              ;; Too late to refuse: the code has taken effect.
              (leave (handler-case (funcall prepare)
                       (refusal (refusal)
                         (error "~a" (refusal-text refusal))))))
         (setf *current-form* nil)
         (let ((*settles* nil)
               (*stands* t)
               (*entry-text* nil))
           (funcall leave progress))))
     arguments)))

(defconstant +restarts-offered+ 8)

(defun restarts-offered ()
  "List in words the restarts of the error that stands here, the innermost first; NIL if there is none."
  (let ((names (and *error-condition*
                    (append (mapcar #'restart-name-text (shown-restarts *error-condition*))
                            (and *aborts-to-top* (list "ABORT"))))))
    (and names
         (listed (loop for name in names
                       for number from 1
                       collect (format nil "~d. ~a" number name))
                 +restarts-offered+))))

(defun check-restart-values (restart values)
  "Signal an error in the error if RESTART does not take VALUES: invoking it would leave the error first, and then fail."
  (let ((lambda-list (restart-lambda-list restart))
        (count (length values)))
    (unless (accepts-p lambda-list count)
      (error "The restart ~a ~:[does not take ~*~d value~:p~;takes ~[no value~;one value~:;~:*~d values~] and got ~d~]."
             (restart-name restart)
             (null (intersection lambda-list lambda-list-keywords))
             (length lambda-list)
             count))))

(defvar *by-force* nil
  "True while a restart is invoked with force.")

(define-operation :invoke-restart (&rest arguments &key ((:restart designator)) ((:value text)) asks number force)
  (let* ((restart (or (and *error-condition* (find-shown-restart designator))
                      (refuse "Error ~d has no restart ~a.~@[ It has ~a.~]" number designator (restarts-offered))))
         (asker (and (null text) asks (restart-asker restart))))
    (when (and (eq 'end-image (restart-name restart)) (not force))
      (refuse "END-IMAGE ends the image, which a person runs. Pass force to invoke it all the same."))
    (when (and (null text) (null asker) (plusp (required-count (restart-lambda-list restart))))
      (refuse "The restart ~a needs a value: pass a form as the argument value." designator))
    (go-on-from-error
     arguments
     (lambda ()
       (let* ((given (cond (text (evaluate-text text))
                           (asker (funcall asker))
                           (t '())))
              (values (if given
                          (cons (restart-argument restart (first given)) (rest given))
                          '())))
         (check-restart-values restart values)
         (lambda (progress)
           (if (and values (or (null text) (not (eq (first given) (first values)))))
               (note-lost progress)
               (note-restart progress restart text))
           (call-with-handlers *program-handlers*
                               (lambda ()
                                 (let ((*by-force* force))
                                   (apply #'invoke-restart restart values))))))))))

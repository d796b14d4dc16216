;;;; The agent's port to SBCL: the part of its function's code that a frame is executing.
;;;;
;;;; SBCL numbers the conses of a top-level form and keeps with compiled code the number of the one that it came from. It keeps
;;;; a form that was evaluated. A form in a file is read again: its text is shown as it was written.

(in-package #:cl-mcp-agent)

(defconstant +code-shown+ 160)

(defun form-steps (form form-number)
  "Return the steps, each the place in a list, that lead from FORM to the cons in it with FORM-NUMBER; or NIL."
  (let ((translations (sb-di:form-number-translations form 0)))
    (and (< 0 form-number (length translations))
         ;; (NUMBER STEP ... TOP-LEVEL-FORM), the last step first.
         (reverse (butlast (rest (svref translations form-number)))))))

(defun forms-on-the-way (form steps)
  "List FORM and the part that each of STEPS leads to, innermost first; NIL if there is no such part."
  (let ((forms (list form)))
    (dolist (step steps forms)
      (unless (and (consp form) (ignore-errors (< step (length form))))
        (return '()))
      (setf form (nth step form))
      (push form forms))))

;;; Evaluated code

(defstruct (marked-form (:constructor make-marked-form (form))
                        (:print-function (lambda (marked stream depth)
                                           (declare (ignore depth))
                                           (write-string ">>>" stream)
                                           (prin1 (marked-form-form marked) stream)
                                           (write-string "<<<" stream))))
  form)

(defun form-with-mark (form steps)
  "Return a copy of FORM in which the part that STEPS lead to is marked."
  (if (null steps)
      (make-marked-form form)
      (loop for element in form
            for place from 0
            collect (if (= place (first steps))
                        (form-with-mark element (rest steps))
                        element))))

(defun internal-name-p (symbol)
  "True if SYMBOL is one that only expansions and the compiler name: SB-C::SOURCE-FORM, in which DEFMETHOD keeps the method,
SB-PCL::.NEXT-METHOD-CALL.; or the agent, in the place where a breakpoint stops."
  (member (package-name (or (symbol-package symbol) (find-package "KEYWORD"))) '("SB-C" "SB-PCL" "CL-MCP-AGENT")
          :test #'string=))

(defun written-by-expansion-p (form)
  "True if FORM is part of what DEFUN, DEFMETHOD and the like expand to rather than what the user wrote."
  (and (consp form)
       (symbolp (first form))
       (or (member (first form) '(declare sb-int:named-lambda))
           (internal-name-p (first form)))))

(defun evaluated-form-text (form steps)
  "Show the part of FORM that STEPS lead to, with as much of its surroundings as fits."
  (loop with shown = nil
        for outer in (forms-on-the-way form steps)
        for depth from (length steps) downto 0
        until (written-by-expansion-p outer)
        for marked = (form-with-mark outer (nthcdr depth steps))
        for text = (call-with-agent-syntax (lambda () (item-text marked (1+ +code-shown+)))
                                           (session-package) 20 nil)
        while (or (null shown) (<= (length text) +code-shown+))
        do (setf shown text)
        finally (return shown)))

;;; Code in files

(defun read-with-places (text)
  "Read a form from TEXT. Return it, and a table of where in TEXT each list in it begins and ends. Reading has no side effects:
it uses the agent's readtable, and a package that the agent keeps. If that were made and deleted each time, threads of the person
whose image is joined would fail while they walk all packages."
  (let* ((package (find-package "CL-MCP-READ"))
         (*package* package)
         (*read-eval* nil)
         (*read-base* 10)
         (*read-suppress* nil)
         (*readtable* (copy-readtable *standard-readtable*))
         (places (make-hash-table :test #'eq))
         (read-list (get-macro-character #\()))
    (set-macro-character
     #\( (lambda (stream character)
           (let* ((start (1- (file-position stream)))
                  (form (funcall read-list stream character)))
             (when (consp form)
               (setf (gethash form places) (cons start (file-position stream))))
             form)))
    (unwind-protect (with-input-from-string (stream text)
                      (values (read stream) places))
      (do-present-symbols (symbol package)
        (unless (eq 'quote symbol)
          (unintern symbol package))))))

(implement places-in-text (text start)
  (ignore-errors
   (let ((text (if (zerop start) text (subseq text start (min (length text) (+ start +longest-form+))))))
     (multiple-value-bind (form places) (read-with-places text)
       (list start form places)))))

(implement place-of-part (places steps)
  (when places
    (destructuring-bind (start form places) places
      (declare (type fixnum start))
      ;; A list read by a macro character has no place of its own and gets the place of what encloses it.
      (let ((place (loop for part in (forms-on-the-way form steps)
                         thereis (gethash part places))))
        (and place (+ start (the fixnum (car place))))))))

(defun marked-text (text outer inner)
  "Return the part of TEXT at the place OUTER as one line, with marks around the place INNER inside it."
  (one-line-text (concatenate 'string
                              (subseq text (car outer) (car inner))
                              ">>>" (subseq text (car inner) (cdr inner)) "<<<"
                              (subseq text (cdr inner) (cdr outer)))))

(defun file-form-text (text form-number)
  "Show the cons with FORM-NUMBER of the form that TEXT begins with, and what is around it; second, where in TEXT it begins."
  (multiple-value-bind (form places) (read-with-places text)
    (let* ((steps (form-steps form form-number))
           (way (and steps
                     ;; What a macro character has read as a list has no place of its own.
                     (loop for form in (forms-on-the-way form steps)
                           for place = (gethash form places)
                           when place collect place)))
           (inner (first way))
           (shown nil))
      (dolist (outer way)
        (let ((marked (marked-text text outer inner)))
          (when (and shown (> (length marked) +code-shown+))
            (return))
          (setf shown marked)))
      (values (cond ((null shown) nil)
                    ((> (length shown) (* 2 +code-shown+))
                     (concatenate 'string (subseq shown 0 +code-shown+) " ..."))
                    (t shown))
              (car inner)))))

(defun sets-syntax-p (native)
  "True if the file NATIVE sets how it is read: the standard syntax may give other forms."
  (remembered native :syntax (lambda () (and (search "readtable" (text-of-file native 0) :test #'char-equal) t))))

(defun code-in-file (place form-number)
  "Show the cons with FORM-NUMBER of the form at PLACE; second, its file and line. NIL if the file has changed."
  (let ((native (unchanged-source place))
        (position (getf place :position)))
    (unless (or (null native) (sets-syntax-p native))
      (let ((text (text-of-file native position)))
        (multiple-value-bind (shown start) (file-form-text text form-number)
          (when shown
            (let ((line (lines-at native position)))
              (values shown
                      (and line (format nil "~a:~d" native (+ line (count #\newline text :end start))))))))))))

(implement frame-code (frame &optional place-only)
  ;; IGNORE-ERRORS would return the error in the place of the file and line.
  (handler-case
      (let* ((location (sb-debug::maybe-block-start-location (sb-di:frame-code-location frame)))
             (form-number (sb-di:code-location-form-number location))
             (place (frame-place frame)))
        (cond ((not (plusp form-number)) nil)
              ((getf place :position)
               (code-in-file place form-number))
              ((not (or place-only (sb-di:debug-source-namestring (sb-di:code-location-debug-source location))))
               (let ((form (nth-value 1 (sb-di:get-toplevel-form location))))
                 (evaluated-form-text form (form-steps form form-number))))))
    ((or error sb-di:debug-condition) () nil)))

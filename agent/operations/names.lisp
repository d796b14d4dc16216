;;;; Similar names: what the user may have meant by an unknown name.

(in-package #:cl-mcp-agent)

(defconstant +symbols-compared+ 20000)
(defconstant +names-offered+ 4)

(defun distance (one two limit)
  "Return the edit distance between ONE and TWO, or NIL if it exceeds LIMIT, which is small. Swapping two neighbours is one
edit; case is ignored."
  (declare (type (simple-array character (*)) one two) (type (integer 0 8) limit)
           (optimize (speed 2) (safety 1)))
  (let ((m (length one))
        (n (length two)))
    (labels ((same-p (i j)
               (and (< i m) (< j n) (char-equal (schar one i) (schar two j))))
             (edits (i j left)
               "Return the number of edits that turn ONE from I on into TWO from J on, or LIMIT + 1 if there are more than LEFT."
               (declare (type index i j) (type (integer 0 8) left))
               (loop while (same-p i j)
                     do (incf i)
                        (incf j))
               (cond ((and (= i m) (= j n)) 0)
                     ((or (zerop left) (> (abs (- (- m i) (- n j))) left)) (1+ limit))
                     (t
                      (let ((left (1- left)))
                        (1+ (min (if (and (< i m) (< j n)) (edits (1+ i) (1+ j) left) limit)
                                 (if (< i m) (edits (1+ i) j left) limit)
                                 (if (< j n) (edits i (1+ j) left) limit)
                                 (if (and (same-p i (1+ j)) (same-p (1+ i) j)) (edits (+ i 2) (+ j 2) left) limit))))))))
      (let ((edits (edits 0 0 limit)))
        (if (<= edits limit) edits nil)))))

(defun allowed-distance (name)
  ;; Asterisks and plus signs around a name distinguish nothing: *U* is not like ***.
  (let ((length (length (string-trim "*+" name))))
    (cond ((< length 3) 0)
          ((< length 5) 1)
          (t 2))))

(defun common-string (string)
  "Return STRING as the type of string that DISTANCE accepts."
  (if (typep string '(simple-array character (*)))
      string
      (coerce string '(simple-array character (*)))))

(defun nearness (name)
  "Return a function of a string that returns its distance from NAME, or NIL if they are not similar."
  (let ((name (common-string name))
        (limit (allowed-distance name)))
    (lambda (candidate)
      (and (simple-string-p candidate)
           ;; Most are too long or too short.
           (<= (abs (- (length candidate) (length name))) limit)
           (distance name (common-string candidate) limit)))))

(defun near-strings (name candidates)
  "List the CANDIDATES that are similar to NAME, the most similar first."
  (let ((nearness (nearness name)))
    (remove-duplicates (mapcar #'cdr (stable-sort (loop for candidate in candidates
                                                        for distance = (funcall nearness candidate)
                                                        when distance
                                                          collect (cons distance candidate))
                                                  #'< :key #'car))
                       :test #'string= :from-end t)))

(defun symbol-meanings (symbol)
  "List in words what SYMBOL names."
  (loop for meaning in (meanings symbol)
        collect (substitute #\space #\- (string-downcase meaning))))

(defun agent-symbol-p (symbol)
  (eq (symbol-package symbol) #.(find-package "CL-MCP-AGENT")))

(defun near-symbols (name test)
  "List symbols with names similar to NAME that satisfy TEST, the most likely first: those with the same name in any
package, then those accessible in the session's package."
  (let ((same '())
        (near '())
        (nearness (nearness name))
        (left +symbols-compared+))
    (dolist (package (list-all-packages))
      (multiple-value-bind (symbol status) (find-symbol name package)
        (when (and status (funcall test symbol) (not (agent-symbol-p symbol)))
          (pushnew symbol same))))
    (do-symbols (symbol (session-package))
      (when (minusp (decf left))
        (return))
      (let ((distance (funcall nearness (symbol-name symbol))))
        (when (and distance (plusp distance) (funcall test symbol))
          (pushnew (cons distance symbol) near :key #'cdr))))
    (append (sort same #'< :key #'publicity)
            (mapcar #'cdr (sort near #'< :key (lambda (entry)
                                                (+ (* 10 (car entry))
                                                   (publicity (cdr entry)))))))))

(defun near-exports (name package)
  "List the exported symbols of PACKAGE with names similar to NAME, the most similar first."
  (loop for near in (near-strings name (mapcar #'symbol-name (exported-symbols package)))
        collect (find-symbol near package)))

(defun publicity (symbol)
  "Return a number: the lower, the more likely the user means SYMBOL."
  (let ((package (symbol-package symbol)))
    (cond ((null package) 9)
          ((eq package (session-package)) 0)
          ((eq package #.(find-package "COMMON-LISP")) 1)
          ((exported-from-p symbol package)
           (if (library-package-p package) 3 2))
          ((own-package-p package) 8)
          (t 5))))

(defun offer-symbols (symbols)
  (when symbols
    (format nil "Did you mean ~{~a~^, ~}?"
            (loop for symbol in symbols
                  repeat +names-offered+
                  collect (format nil "~s~@[ (~{~a~^, ~})~]" symbol
                                  (append (symbol-meanings symbol)
                                          (unless (accessible-or-external-p symbol)
                                            '("not exported"))))))))

(defun accessible-or-external-p (symbol)
  (let ((package (symbol-package symbol)))
    (or (null package)
        (eq symbol (find-symbol (symbol-name symbol) (session-package)))
        (exported-from-p symbol package))))

(defun offer-instead (name test)
  "Offer symbols for NAME, which a program has used. If NAME is not of the current package, its code may have been read in
another one, so they are printed with their packages."
  (let ((*package* (if (eq name (find-symbol (symbol-name name)))
                       *package*
                       (find-package "COMMON-LISP"))))
    (offer-symbols (remove name (near-symbols (symbol-name name) test)))))

(defun package-names ()
  (loop for package in (list-all-packages)
        append (cons (package-name package) (package-nicknames package))))

(defun offer (names &optional (what ""))
  "Return a sentence that asks whether one of NAMES, each of which is WHAT, was meant; NIL if there are none."
  (and names
       (format nil "Did you mean ~a~{~a~^ or ~}?" what (some-of names 0 +names-offered+))))

(defun offer-packages (name)
  (offer (near-strings name (package-names)) "the package "))

(defun package-system-hint (name)
  "Return what to load so that there is a package NAME, or NIL."
  (ignore-errors (asdf:ensure-source-registry))
  (let ((system (find name (systems-in-sight) :test #'string-equal)))
    (cond ((member name '("QL" "QUICKLISP" "QUICKLISP-CLIENT") :test #'string-equal)
           (format nil "Quicklisp is not loaded. The tool load-system loads a system of this machine~:[~;, and with ~
                        quicklisp: true one of Quicklisp~]." (quicklisp-setup-file)))
          (system
           (format nil "The system ~a is not loaded; the tool load-system loads it." system))
          (t (offer-systems name)))))

(defun module-hint (condition)
  "Return what to load instead of the module that CONDITION, of REQUIRE, has not found; or NIL."
  (let ((arguments (simple-condition-format-arguments condition)))
    (when (and (eq 'require (first arguments)) (typep (second arguments) '(or string symbol)))
      (or (package-system-hint (string (second arguments)))
          "REQUIRE finds the modules of the Lisp and the systems that ASDF knows. The tool list-systems lists the systems."))))

(defun type-hint (condition)
  "Return a sentence with types whose names are similar to the one that CONDITION does not know, or NIL."
  (let ((name (first (simple-condition-format-arguments condition))))
    (and (stringp (simple-condition-format-control condition))
         (eql 0 (search "unknown type specifier" (simple-condition-format-control condition)))
         name
         (symbolp name)
         (offer-symbols (near-symbols (symbol-name name) (lambda (symbol) (find-class symbol nil)))))))

(defun in-package-hint (name)
  "Return a sentence if the function NAME seems to have been defined in COMMON-LISP-USER by mistake, or NIL."
  (let* ((user (find-package "COMMON-LISP-USER"))
         (other (find-symbol (symbol-name name) user)))
    (and other
         (symbol-package name)
         (not (eq user (symbol-package name)))
         (eq user (symbol-package other))
         (fboundp other)
         (format nil "CL-USER has a function ~a: the file that defines it may lack (in-package :~(~a~))."
                 (symbol-name name) (package-name (symbol-package name))))))

(defun name-hint (condition)
  "Return a sentence with names similar to the one that CONDITION is about, or NIL."
  (let ((*print-length* nil) (*print-level* nil))
    (handler-case
        (typecase condition
          (undefined-function
           (let ((name (cell-error-name condition)))
             (when (symbolp name)
               (or (in-package-hint name)
                   (offer-instead name #'fboundp)))))
          (unbound-slot nil)
          (unbound-variable
           (let ((name (cell-error-name condition)))
             (when (symbolp name)
               (offer-instead name (lambda (symbol)
                                     (and (boundp symbol)
                                          (not (keywordp symbol))))))))
          (package-error
           (let ((name (package-error-package condition)))
             (cond ((packagep name)
                    (let ((string (and (typep condition 'simple-condition)
                                       (first (simple-condition-format-arguments condition)))))
                      (when (stringp string)
                        (offer-symbols (near-exports string name)))))
                   ((find-package name) nil)
                   (t (or (offer-packages (string name))
                          (package-system-hint (string name)))))))
          (cell-error
           (let ((name (cell-error-name condition)))
             (when (and (symbolp name) (class-missing-p condition))
               (offer-symbols (near-symbols (symbol-name name)
                                            (lambda (symbol) (find-class symbol nil)))))))
          (t
           (or (system-hint condition)
               (and (typep condition 'simple-condition)
                    (or (module-hint condition)
                        (type-hint condition))))))
      (error () nil))))

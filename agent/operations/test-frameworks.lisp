;;;; Test frameworks: one entry each. The agent does not parse a framework's report. While tests run, it wraps
;;;; the functions that the framework calls with each test and result, so a suite runs as its author runs it.

(in-package #:cl-mcp-agent)

(defstruct (framework (:copier nil))
  (title "" :type string)
  (packages '() :type list)       ; names of packages, one of which exists if the framework is loaded
  (names #'list :type function)   ; returns the names of all tests, as the framework has them
  (run #'list :type function)     ; runs the tests with these names
  (wrappers #'list :type function)) ; (FUNCTION-NAME . WRAPPER) for CALL-ENCAPSULATED

(defvar *frameworks* '()
  "All supported frameworks, in the order in which they are searched.")

(defmacro define-framework (title packages &rest functions)
  `(setf *frameworks*
         (append (remove ,title *frameworks* :key #'framework-title :test #'string=)
                 (list (make-framework :title ,title :packages ,packages ,@functions)))))

(defun frameworks-here (title)
  "List the loaded frameworks, or only TITLE if it is loaded and not NIL."
  (remove-if-not (lambda (framework)
                   (and (some #'find-package (framework-packages framework))
                        (or (null title)
                            (string-equal title (framework-title framework)))))
                 *frameworks*))

(defun call-with-frameworks (frameworks function)
  "Call FUNCTION, which runs tests of FRAMEWORKS, and record their results in *TEST-RUN*."
  (let ((wrappers (remove nil (loop for framework in frameworks
                                    append (funcall (framework-wrappers framework)))
                          :key #'car)))
    (call-encapsulated wrappers function)))

(defun its (name package)
  "Return the symbol NAME of PACKAGE, or NIL if this version of the framework has none."
  (let ((package (find-package package)))
    (and package (values (find-symbol name package)))))

(defun ask (name package &rest arguments)
  "Call the function NAME of PACKAGE. Return NIL if it does not exist or fails, as readers of unbound slots do."
  (let ((function (its name package)))
    (and function
         (fboundp function)
         (handler-case (apply (fdefinition function) arguments)
           (error () nil)))))

(defun tell (name package &rest arguments)
  "Call the function NAME of PACKAGE, which runs tests, by its name, so that its wrapper runs."
  (apply (the symbol (its name package)) arguments))

(defun value-of (name package)
  (let ((variable (its name package)))
    (and variable (boundp variable) (symbol-value variable))))

(defun values-text (values)
  "Return VALUES, which belong to a test, as text."
  (if (listp values)
      (format nil "~{~a~^, ~}" (mapcar #'shown-in-result values))
      (shown-in-result values)))

(defconstant +elements-compared+ 10000)
(defconstant +levels-compared+ 10)

(defun elements-in (object)
  "Return OBJECT, a list or a vector other than a string, as a list of elements; :NONE if it is something else."
  (cond ((and (vectorp object) (not (stringp object))) (coerce object 'list))
        ((and (consp object) (ignore-errors (list-length object))) object)
        (t :none)))

(defun first-difference (one two &optional (names '("expected" "actual")) (levels +levels-compared+))
  "Return in words where ONE and TWO, which are called NAMES, differ first; NIL if that is not found."
  (let ((elements (elements-in one))
        (others (elements-in two)))
    (flet ((part (kind index text)
             (format nil "~a ~d~:[, ~;~]~a" kind index (char= #\: (char text 0)) text))
           (leaf (one two)
             (format nil ": ~@{~a ~a~^, ~}" (first names) one (second names) two)))
      (cond ((eql one two) nil)
            ((and (stringp one) (stringp two))
             (let* ((index (mismatch one two))
                    (start (max 0 (- (or index 0) 10))))
               (flet ((around (string)
                        (shown-in-result (subseq string start (min (length string) (+ start 40))))))
                 (and index (part "character" index (leaf (around one) (around two)))))))
            ((and (listp elements) (listp others) (plusp levels))
             (loop for index below +elements-compared+
                   while (or elements others)
                   do (unless (and elements others)
                        (return (part "element" index (format nil ": ~:[~a~*~;~*~a~] has no more" elements (first names) (second names)))))
                      (let ((text (first-difference (pop elements) (pop others) names (1- levels))))
                        (when text
                          (return (part "element" index text))))))
            (t
             (let ((text (shown-in-result one))
                   (other (shown-in-result two)))
               (and (string/= text other) (leaf text other))))))))

(defconstant +text-compared-at-a-glance+ 80)

(defun with-difference (text expected actual &optional (names '("expected" "actual")))
  "Return TEXT, which shows the value ACTUAL, with where it differs from EXPECTED if that cannot be seen at a glance."
  (let ((difference (and (or (> (length text) +text-compared-at-a-glance+)
                             (string= text (shown-in-result expected)))
                         (first-difference expected actual names))))
    (format nil "~a~@[~%~a~]" text (and difference (string-left-trim ": " difference)))))

(defun actual-text (expected actual)
  "Return ACTUAL, a value in a test, as text."
  (with-difference (shown-in-result actual) expected actual))

(defun actual-values-text (expected actual)
  "Return the values ACTUAL of a test as text."
  (if (and (consp expected) (consp actual) (null (cdr expected)) (null (cdr actual)))
      (actual-text (first expected) (first actual))
      (with-difference (values-text actual) expected actual)))

(defun place-in-groups (groups &optional place)
  "Return the place of a check in words: GROUPS, the names of those that it is in, outermost first, and PLACE."
  (let ((parts (append groups (and place (list place)))))
    (and parts (text-or-nil (format nil "~{~a~^ / ~}" parts) +failure-text-limit+))))

(defun kind-p (object name package)
  "True if OBJECT is of the class NAME of PACKAGE."
  (let* ((symbol (its name package))
         (class (and symbol (find-class symbol nil))))
    (and class (typep object class))))

;;; FiveAM

(defvar *fiveam-values* '()
  "(FORM PLACE EXPECTED ACTUAL) for the checks that failed, last first: FiveAM keeps a sentence only, or nothing.")

(defun note-fiveam-values (form control arguments)
  "The default messages of IS have the form, its value, the predicate and the expected value as arguments."
  (push (list* form (place-of-check "FIVEAM")
               (when (and (stringp control) (eql 0 (search "~2&~S~2% evaluated to" control)))
                 (destructuring-bind (shown actual predicate &rest expected) arguments
                   (declare (ignore shown))
                   (list (let ((wanted (shown-in-result (list* predicate (and expected (list (first expected)))))))
                           (if (search "should not" control)
                               (concatenate 'string "not " wanted)
                               wanted))
                         (actual-text (first expected) actual)))))
        *fiveam-values*))

(defun take-fiveam-result (result)
  (let ((name (ask "NAME" "FIVEAM" (ask "TEST-CASE" "FIVEAM" result)))
        (form (ask "TEST-EXPR" "FIVEAM" result)))
    (cond ((ask "TEST-PASSED-P" "FIVEAM" result) (note-passed))
          ((ask "TEST-SKIPPED-P" "FIVEAM" result) (note-skipped))
          ((kind-p result "UNEXPECTED-TEST-FAILURE" "FIVEAM")
           (note-failure name :kind :error
                              :condition (ask "ACTUAL-CONDITION" "FIVEAM" result)))
          (t
           ;; The same form may have failed several times; the results come first first.
           (let ((values (find form *fiveam-values* :key #'first :test #'eq :from-end t)))
             (setf *fiveam-values* (remove values *fiveam-values* :count 1 :test #'eq))
             (note-failure name :form (list form) :place (second values)
                                :expected (third values) :actual (fourth values)
                                :reason (unless (third values)
                                          (trimmed (or (ask "REASON" "FIVEAM" result) "")))))))))

(defun in-order-of-checks (results)
  "Return the FiveAM results RESULTS in the order in which they occurred; within each test FiveAM lists the last first."
  (let ((groups '()))
    (dolist (result results)
      (if (and groups (eq (ask "TEST-CASE" "FIVEAM" result) (ask "TEST-CASE" "FIVEAM" (first (first groups)))))
          (push result (first groups))
          (push (list result) groups)))
    (reduce #'append (reverse groups))))

(defun fiveam-test-count (test)
  "Return the number of tests in TEST: a suite or a test, as an object or a name, or a list of these."
  (let* ((test (if (symbolp test) (ask "GET-TEST" "FIVEAM" test) test))
         ;; A suite has a table by name; in later versions, inside an object.
         (tests (ask "TESTS" "FIVEAM" test))
         (table (if (hash-table-p tests) tests (ask "%TESTS" "FIVEAM" tests))))
    (cond ((hash-table-p table)
           (loop for name being the hash-keys of table sum (fiveam-test-count name)))
          ((listp test) (reduce #'+ test :key #'fiveam-test-count))
          (t 1))))

(define-framework "FiveAM" '("FIVEAM")
  :names (lambda () (remove-duplicates (tell "TEST-NAMES" "FIVEAM") :test #'equal))
  ;; In one run FiveAM runs a test once, though its suite may be named too.
  :run (lambda (names) (tell "RUN" "FIVEAM" names))
  :wrappers
  (lambda ()
    (let ((depth 0))
      (setf *fiveam-values* '())
      (list (cons (its "RUN" "FIVEAM")
                  (lambda (run &rest arguments)
                    (when (zerop depth)
                      (note-found (handler-case (fiveam-test-count (first arguments))
                                    (error () 0))))
                    (let ((results (unwind-protect (progn (incf depth) (apply run arguments))
                                     (decf depth))))
                      (when (zerop depth)
                        (mapc #'take-fiveam-result (in-order-of-checks results)))
                      results)))
            (cons (its "PROCESS-FAILURE" "FIVEAM")
                  (lambda (process form &optional control &rest arguments)
                    (note-fiveam-values form control arguments)
                    (apply process form control arguments)))
            (cons (its "TEST-LAMBDA" "FIVEAM")
                  (lambda (reader test)
                    (let ((body (funcall reader test)))
                      (if (plusp depth)
                          (lambda ()
                            (note-test "FiveAM" (ask "NAME" "FIVEAM" test))
                            (call-noting-conditions
                             body
                             (lambda (condition) (kind-p condition "CHECK-FAILURE" "FIVEAM"))))
                          body))))))))

;;; RT: a test is a form and the values it must have. Errors are caught here rather than by RT, which
;;; unwinds before it reports one. SBCL includes its own RT, in which a test is a list.

(defvar *rt-values* :none
  "A list of the values of the running test, once it has returned them; RT does not keep them.")

(defun rt-packages ()
  (remove-if-not #'find-package '("REGRESSION-TEST" "SB-RT")))

(defun rt-expected (entry package)
  (if (listp entry)
      (cdddr entry)
      (ask "VALS" package entry)))

(defun run-rt-test (run entry package arguments)
  "Call RUN with ENTRY and ARGUMENTS; return what it returns, and the error that ended it or NIL."
  (progv (remove nil (list (its "*CATCH-ERRORS*" package))) '(nil)
    (handler-bind ((style-warning #'muffle-warning)
                   (error (lambda (condition)
                            (note-condition condition)
                            (return-from run-rt-test (values nil condition)))))
      (values (apply run entry arguments) nil))))

(defun call-rt-test (run entry package arguments)
  (let ((name (ask "NAME" package entry))
        (expected (rt-expected entry package))
        (*rt-values* :none))
    (note-test "RT" name)
    (multiple-value-bind (value error) (run-rt-test run entry package arguments)
      (if (or error (ask "PEND" package entry))
          (note-failure name
                        :kind (cond ((member name (value-of "*EXPECTED-FAILURES*" package) :test #'equal) :known)
                                    (error :error)
                                    (t :failed))
                        :form (list (ask "FORM" package entry))
                        :expected (values-text expected)
                        :actual (unless (or error (eq *rt-values* :none))
                                  (actual-values-text expected (first *rt-values*)))
                        :condition error)
          (note-passed))
      value)))

(defun rt-wrappers (package)
  (list (cons (its "DO-TESTS" package)
              (lambda (run &rest arguments)
                (note-found (length (rt-names package)))
                (apply run arguments)))
        (cons (its "DO-ENTRY" package)
              (lambda (run entry &rest arguments)
                (call-rt-test run entry package arguments)))
        (cons (its "EQUALP-WITH-CASE" package)
              (lambda (compare actual expected)
                (when (eq *rt-values* :none)
                  (setf *rt-values* (list actual)))
                (funcall compare actual expected)))))

(defun rt-names (package)
  (loop for entry in (rest (value-of "*ENTRIES*" package))
        collect (ask "NAME" package entry)))

(define-framework "RT" '("REGRESSION-TEST" "SB-RT")
  :names (lambda () (loop for package in (rt-packages) append (rt-names package)))
  :run (lambda (names)
         (dolist (package (rt-packages))
           (dolist (name (rt-names package))
             (when (member name names :test #'equal)
               (tell "DO-TEST" package name)))))
  :wrappers (lambda () (loop for package in (rt-packages) append (rt-wrappers package))))

;;; Rove: each assertion is recorded when it is made; one that fails by an error, where the error is
;;; signalled.

(defvar *rove-groups* '()
  "The descriptions of the groups of checks that are running, outermost first. Some versions of Rove do not keep them.")

(defun rove-values-text (form arguments values)
  "Return the VALUES of ARGUMENTS, the parts of FORM, as text; if FORM compares two, with where they differ."
  (let ((text (format nil "~{~a = ~a~^, ~}" (loop for argument in arguments
                                                  for value in values
                                                  unless (and (atom argument) (constantp argument))
                                                    collect (shown-in-result argument)
                                                    and collect (shown-in-result value))))
        ;; The parts of an argument come before it.
        (place (and (typep form '(cons t (cons t (cons t null)))) (position (second form) arguments :test #'equal))))
    (with-difference (cut-text text +failure-text-limit+)
                     (if place (nth place values) nil) (if place (first (last values)) nil) '("first" "second"))))

(defun take-rove-assertion (result)
  (let ((reason (ask "ASSERTION-REASON" "ROVE" result))
        (name (run-current *test-run*)))
    (cond ((kind-p result "PASSED-ASSERTION" "ROVE") (note-passed))
          ((kind-p result "PENDING-ASSERTION" "ROVE") (note-skipped))
          ((typep reason 'condition)
           (note-condition reason)
           (note-failure name :kind :error :form (list (ask "ASSERTION-FORM" "ROVE" result))
                              :place (place-in-groups *rove-groups*) :condition reason))
          (t
           (let ((form (ask "ASSERTION-FORM" "ROVE" result)))
             (note-failure name
                           :form (list form)
                           :place (place-in-groups *rove-groups* (place-of-check "ROVE"))
                           :expected (if (ask "SLOT-VALUE" "CL" result (its "NEGATIVE" "ROVE/CORE/RESULT")) "false" nil)
                           ;; Rove makes up a description of the form where none was given.
                           :reason (ignore-errors (slot-value result (its "DESC" "ROVE/CORE/RESULT")))
                           :actual (rove-values-text form (ask "ASSERTION-ARGS" "ROVE" result)
                                                     (ask "ASSERTION-VALUES" "ROVE" result))))))))

(define-framework "Rove" '("ROVE")
  :names (lambda ()
           (loop for suite in (ask "ALL-SUITES" "ROVE/CORE/SUITE/PACKAGE")
                 append (ask "SUITE-TESTS" "ROVE/CORE/SUITE/PACKAGE" suite)))
  ;; By their suite, which sets up what they need and has hooks around each.
  :run (lambda (names)
         (call-encapsulated
          (list (cons (its "SUITE-TESTS" "ROVE/CORE/SUITE/PACKAGE")
                      (lambda (tests suite)
                        (remove-if-not (lambda (name) (member name names :test #'eq))
                                       (funcall tests suite)))))
          (lambda ()
            (tell "CALL-WITH-SUITE" "ROVE/CORE/SUITE"
                  (lambda ()
                    (dolist (suite (ask "ALL-SUITES" "ROVE/CORE/SUITE/PACKAGE"))
                      (when (ask "SUITE-TESTS" "ROVE/CORE/SUITE/PACKAGE" suite)
                        (tell "RUN-SUITE" "ROVE/CORE/SUITE/PACKAGE" suite))))))))
  :wrappers
  (lambda ()
    (list (cons (its "RECORD" "ROVE/CORE/STATS")
                (lambda (record stats result)
                  (when (and stats (kind-p result "ASSERTION" "ROVE/CORE/RESULT"))
                    (take-rove-assertion result))
                  (funcall record stats result)))
          (cons (its "CALL-WITH-TESTING-WITH-OPTIONS" "ROVE/CORE/TEST")
                (lambda (call description name &rest more)
                  ;; Only a test has a name; a part of one has a description.
                  (when name
                    (note-test "Rove" name))
                  (let ((*rove-groups* (if name '() (append *rove-groups* (list description)))))
                    (apply call description name more)))))))

;;; Parachute: a test and each of its checks has a result object.

(defvar *parachute-checks* '()
  "(RESULT . PLACE) for the checks that failed.")

(defun parachute-expectation (check expected)
  (let ((comparison (ask "COMPARISON" "PARACHUTE" check)))
    (if (eq comparison (its "GEQ" "PARACHUTE"))
        (if expected "true" "false")
        (format nil "~:[~;not ~]~a ~a" (and (its "COMPARISON-GEQ" "PARACHUTE")
                                            (not (ask "COMPARISON-GEQ" "PARACHUTE" check)))
                (shown-in-result comparison) (shown-in-result expected)))))

(defun take-parachute-check (check name status groups)
  (let ((form (list (ask "EXPRESSION" "PARACHUTE" check)))
        (value (ask "VALUE" "PARACHUTE" check))
        (expected (ask "EXPECTED" "PARACHUTE" check)))
    (cond ((eq status :passed) (note-passed))
          ((eq status :skipped) (note-skipped))
          ((not (eq status :failed)))
          ((and (typep value 'error) (assoc value (run-conditions *test-run*) :test #'eq))
           (note-failure name :kind :error :form form :place (place-in-groups groups) :condition value))
          (t
           (note-failure name
                         :form form
                         :place (place-in-groups groups (cdr (assoc check *parachute-checks*)))
                         :expected (when (kind-p check "COMPARISON-RESULT" "PARACHUTE")
                                     (parachute-expectation check expected))
                         :actual (when (kind-p check "VALUE-RESULT" "PARACHUTE")
                                   (actual-text expected value))
                         :reason (ask "DESCRIPTION" "PARACHUTE" check))))))

(defun take-parachute-parent (parent name status noted)
  "Take the result PARENT, which has parts; NOTED are the conditions that occurred. If it failed and none of its parts did, it
failed itself: an error outside every check."
  (let ((parts (ask "RESULTS" "PARACHUTE" parent)))
    (flet ((failed-p (result) (eq :failed (ask "STATUS" "PARACHUTE" result))))
      (cond ((and (eq status :skipped) (zerop (length parts)))
             (note-skipped))
            ((and (not (eq status :skipped)) (failed-p parent) (notany #'failed-p parts))
             (let ((description (ask "DESCRIPTION" "PARACHUTE" parent)))
               (note-failure name
                             :kind (if noted :error :failed)
                             :reason description
                             :condition (car (find-if (lambda (entry)
                                                        (let ((message (getf (cdr entry) :message "")))
                                                          (and (stringp description)
                                                               (string/= message "")
                                                               (search message description))))
                                                      noted)))))))))

(defun take-parachute-report (report)
  "Take each result below REPORT once; it is both in its parent and in the report. Parachute gives a status to what it skips by
a parent with that status, and then marks the parts as passed."
  (let ((seen (list report))
        (noted (run-conditions *test-run*)))
    (labels ((take-parts (parent test-name status groups)
               (loop with forced = (or (ask "CHILD-STATUS" "PARACHUTE" parent) status)
                     for part across (or (ask "RESULTS" "PARACHUTE" parent) #())
                     for name = (if (kind-p part "TEST-RESULT" "PARACHUTE")
                                    (ask "NAME" "PARACHUTE" (ask "EXPRESSION" "PARACHUTE" part))
                                    test-name)
                     for its-status = (or forced (ask "STATUS" "PARACHUTE" part))
                     unless (member part seen :test #'eq)
                       do (push part seen)
                          (cond ((kind-p part "PARENT-RESULT" "PARACHUTE")
                                 (take-parts part name forced
                                             (cond ((kind-p part "TEST-RESULT" "PARACHUTE") '())
                                                   ((kind-p part "GROUP-RESULT" "PARACHUTE")
                                                    (append groups (list (ask "EXPRESSION" "PARACHUTE" part))))
                                                   (t groups)))
                                 (take-parachute-parent part (or name "") its-status noted))
                                (t
                                 (take-parachute-check part (or name "") its-status groups))))))
      (take-parts report nil nil '()))))

(define-framework "Parachute" '("PARACHUTE")
  :names (lambda ()
           (loop for package in (ask "TEST-PACKAGES" "PARACHUTE")
                 append (mapcar (lambda (test) (ask "NAME" "PARACHUTE" test))
                                (ask "PACKAGE-TESTS" "PARACHUTE" package))))
  :run (lambda (names)
         (tell "TEST" "PARACHUTE"
               (loop for package in (ask "TEST-PACKAGES" "PARACHUTE")
                     append (remove-if-not (lambda (test)
                                             (member (ask "NAME" "PARACHUTE" test) names :test #'eq))
                                           (ask "PACKAGE-TESTS" "PARACHUTE" package)))))
  :wrappers
  (lambda ()
    (let ((depth 0))
      (list (cons (its "TEST" "PARACHUTE")
                  (lambda (test &rest arguments)
                    (let ((report (unwind-protect (progn (incf depth) (apply test arguments))
                                    (decf depth))))
                      (when (zerop depth)
                        (take-parachute-report report)
                        (setf *parachute-checks* '()))
                      report)))
            (cons `(setf ,(its "STATUS" "PARACHUTE"))
                  (lambda (setter status result)
                    (when (and (eq status :failed) (not (kind-p result "PARENT-RESULT" "PARACHUTE")))
                      (push (cons result (place-of-check "PARACHUTE")) *parachute-checks*))
                    (funcall setter status result)))
            (cons (its "BODY" "PARACHUTE")
                  (lambda (reader result)
                    (let ((body (funcall reader result)))
                      (if (and (functionp body) (kind-p result "VALUE-RESULT" "PARACHUTE"))
                          (lambda () (call-noting-conditions body))
                          body))))
            (cons (its "TESTS" "PARACHUTE")
                  (lambda (reader test)
                    (let ((bodies (funcall reader test)))
                      (when (plusp depth)
                        (note-test "Parachute" (ask "NAME" "PARACHUTE" test)))
                      (mapcar (lambda (body)
                                (if (functionp body)
                                    (lambda () (call-noting-conditions body))
                                    body))
                              bodies))))))))

;;; lisp-unit2: it signals a condition for each event.

(defun note-lisp-unit-failure (name failure package &optional place)
  (note-failure name
                :place place
                :form (list (ask "FORM" package failure))
                :expected (values-text (ask "EXPECTED" package failure))
                :actual (actual-values-text (ask "EXPECTED" package failure) (ask "ACTUAL" package failure))))

(defun call-lisp-unit2-test (name body)
  (note-test "lisp-unit2" name)
  (handler-bind
      ((condition
         (lambda (condition)
           (cond ((kind-p condition "ASSERTION-PASS" "LISP-UNIT2") (note-passed))
                 ((kind-p condition "ASSERTION-FAIL" "LISP-UNIT2")
                  (note-lisp-unit-failure name (ask "FAILURE" "LISP-UNIT2" condition) "LISP-UNIT2"
                                          (place-of-check "LISP-UNIT2")))
                 ((typep condition 'error)
                  (note-condition condition)
                  (note-failure name :kind :error :condition condition))))))
    (funcall body)))

(define-framework "lisp-unit2" '("LISP-UNIT2")
  :names (lambda ()
           (mapcar (lambda (test) (ask "NAME" "LISP-UNIT2" test))
                   (ask "LIST-TESTS" "LISP-UNIT2")))
  :run (lambda (names)
         (tell "RUN-TESTS" "LISP-UNIT2" :tests names))
  :wrappers
  (lambda ()
    (list (cons (its "TEST-THUNK" "LISP-UNIT2")
                (lambda (reader test)
                  (let ((body (funcall reader test)))
                    (lambda ()
                      (call-lisp-unit2-test (ask "NAME" "LISP-UNIT2" test) body))))))))

;;; lisp-unit: it returns a test's result when the test has ended.

(defun take-lisp-unit-result (result)
  (let ((name (ask "NAME" "LISP-UNIT" result))
        (error (ask "EXERR" "LISP-UNIT" result)))
    (note-passed (or (ask "PASS" "LISP-UNIT" result) 0))
    (dolist (failure (reverse (ask "FAIL" "LISP-UNIT" result)))
      (note-lisp-unit-failure name failure "LISP-UNIT"))
    (when error
      (note-failure name :kind :error :condition error))))

(define-framework "lisp-unit" '("LISP-UNIT")
  :names (lambda ()
           (loop for package being the hash-keys of (value-of "*TEST-DB*" "LISP-UNIT")
                 append (ask "LIST-TESTS" "LISP-UNIT" package)))
  :run (lambda (names)
         (dolist (name names)
           (tell "RUN-TESTS" "LISP-UNIT" (list name) (symbol-package name))))
  :wrappers
  (lambda ()
    (list (cons (its "RUN-TEST-THUNK" "LISP-UNIT")
                (lambda (run name &rest more)
                  (note-test "lisp-unit" name)
                  (let ((result (apply run name more)))
                    (take-lisp-unit-result result)
                    result)))
          (cons (its "RUN-CODE" "LISP-UNIT")
                (lambda (run code)
                  (call-noting-conditions (lambda () (funcall run code))))))))

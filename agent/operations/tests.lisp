;;;; Running the tests of a system: what ran and how it ended, as data. test-frameworks.lisp contains what
;;;; is specific to each test framework.

(in-package #:cl-mcp-agent)

(defconstant +failures-detailed+ 100)
(defconstant +failures-named+ 1000)
(defconstant +failure-text-limit+ 2000)
(defconstant +shown-limit+ 400
  "The most characters of a form or a value. Where longer values differ is shown apart.")

(defstruct (test-run (:conc-name run-) (:copier nil))
  "The results of the tests so far."
  (framework nil)                       ; the title of the framework that has run tests
  (current "")                          ; the name of the running test
  (tests 0)                             ; how many
  (found 0)                             ; how many are to run; 0: not known
  (passed 0) (failed 0) (errors 0) (skipped 0) (known 0) ; checks, or tests if the framework has no checks
  (failures '())                        ; property lists, last first
  (conditions '())                      ; (CONDITION . property list) of the unexpected ones
  (stops 0)                             ; how many more of these may be reported separately
  (stopped 0)                           ; how many have been
  (handlers (handlers-now))             ; those established before any of the framework's
  (ran '())                             ; the names of the tests that ran, last first
  (deleted '())                         ; those of them that are no longer in their file
  (owners '())                          ; the names of the systems in whose files they are, if none is the tested one
  (package (session-package))           ; names are shown relative to it, also if a test runs in another package
  (verdict nil))                        ; what the system's own TEST-OP signalled about failures

(defvar *test-run* nil
  "The current run of tests, or NIL.")

;;; Events from frameworks

(defun shown-package ()
  (if *test-run* (run-package *test-run*) (session-package)))

(defun test-package ()
  "Return the package in which the running test was written: that of its name, or the one that names are shown in."
  (let ((name (and *test-run* (run-current *test-run*))))
    (or (and name (symbolp name) (symbol-package name))
        (shown-package))))

(defun shown-in-result (object &optional (package (test-package)))
  "Return OBJECT, which belongs to a test, as text. If printing it fails, the framework's handlers do not see that."
  (handler-case (with-agent-syntax (:length 50 :level 10 :package package)
                  (item-text object +shown-limit+))
    (error () "#<error printing it>")))

(defun place-of-check (package)
  "Return in words where the check on the stack, of the framework in the package with the name PACKAGE, was made: the function
and the line of the file; or NIL."
  (let ((packages (list (package-name (find-package package)) "ASDF/" "UIOP/"))
        (here (ignore-errors (uiop:native-namestring (uiop:getcwd)))))
    (flet ((take (frame name)
             (let* ((symbol (home-symbol name))
                    (home (and symbol (symbol-package symbol)))
                    (place (nth-value 1 (frame-code frame)))
                    (shown (and place (subseq place (if (eql 0 (search here place)) (length here) 0)))))
               (cond ((and home (or (implementation-name-p symbol)
                                    (some (lambda (own) (eql 0 (search own (package-name home)))) packages))))
                     ((and home (not (eq symbol (run-current *test-run*))))
                      (return-from place-of-check (format nil "~a~@[ (~a)~]" (shown-in-result name) shown)))
                     (place
                      (return-from place-of-check shown))))))
      (map-frames #'take (signalling-frame) +frames-walked+)
      nil)))

(defun note-found (count)
  "Note that COUNT tests are about to run."
  (let ((run *test-run*))
    (when run
      (setf (run-found run) (max (run-found run) (+ (run-tests run) count))))))

(defun note-test (title name)
  "Note that the test NAME of the framework TITLE begins."
  (let ((run *test-run*))
    (setf (run-framework run) title)
    ;; A restart such as RETEST runs the test at hand again.
    (unless (and name (symbolp name) (eq name (run-current run)))
      (setf (run-current run) name)
      (push name (run-ran run))
      (incf (run-tests run)))
    (setf *component* (format nil "running the test ~a" (shown-in-result name (shown-package))))
    (when (progress-due-p t)
      (send-progress (format nil "testing ~a~a" (shown-in-result name (shown-package))
                             (share-text (1- (run-tests run)) (run-found run)))))))

(defun note-passed (&optional (count 1))
  (incf (run-passed *test-run*) count))

(defun note-skipped ()
  (incf (run-skipped *test-run*)))

(defun note-failure (name &key (kind :failed) reason form expected actual condition place)
  "Note that a check of the test NAME failed. KIND is :FAILED, :ERROR for an unexpected CONDITION, or :KNOWN for a
failure the suite expects. FORM is a list of the form, if it is known; EXPECTED, ACTUAL and PLACE are texts or NIL."
  (let ((run *test-run*))
    (ecase kind
      (:failed (incf (run-failed run)))
      (:error (incf (run-errors run)))
      (:known (incf (run-known run))))
    (when (< (length (run-failures run)) +failures-named+)
      (push (append (list :test (text-or-nil (if (stringp name) name (shown-in-result name (shown-package)))
                                             +failure-text-limit+)
                          :kind kind)
                    (when (< (length (run-failures run)) +failures-detailed+)
                      (append (when form
                                (list :form (shown-in-result (first form))))
                              (list :place place
                                    :expected expected
                                    :actual actual
                                    :reason (text-or-nil reason +failure-text-limit+))
                              (when condition
                                (condition-part condition)))))
            (run-failures run)))))

(defun condition-part (condition)
  "Return the part of a failure about CONDITION; its frames only if they were recorded."
  (or (cdr (assoc condition (run-conditions *test-run*) :test #'eq))
      (handler-case
          (with-agent-syntax (:length 20 :level 5 :package (shown-package))
            (list :type (type-name-text (class-of condition))
                  :message (message-text condition +warning-limit+)
                  :undefined (and (typep condition 'undefined-function) (whole-name (cell-error-name condition)))
                  :hint (ignore-errors (or (mistake-hint condition nil) (name-hint condition)))))
        (error () '()))))

(defun note-condition (condition)
  "Note that a test did not handle CONDITION, an error. This is called where the error was signalled, so that it can be
entered there. The first few are reported to the server, which copies the process; then the tests continue."
  (let ((run *test-run*))
    (unless (or (null run)
                (typep condition 'storage-condition)
                (assoc condition (run-conditions run) :test #'eq)
                (>= (length (run-conditions run)) +failures-detailed+))
      (let ((entering (plusp (run-stops run))))
        (push (cons condition
                    (append (condition-part condition)
                            (list :frames
                                  (handler-case
                                      (with-agent-syntax (:length 10 :level 4
                                                          :package (shown-package))
                                        (values (frame-texts (signalling-frame) condition :count 10)))
                                    (error () '())))
                            (when entering
                              (list :stop (incf (run-stopped run))))))
              (run-conditions run))
        (when entering
          (report-and-go-on condition (1- (run-stops run))))))))

(defun report-and-go-on (condition stops)
  "Report CONDITION; continue when the server requests it, with STOPS more to be reported. A copy that continues
in any other way runs the rest of the tests without further reports."
  (let ((run *test-run*))
    (setf (run-stops run) 0)
    ;; Code evaluated here is not part of the test, so the framework's handlers must not see its conditions.
    (call-with-handlers (run-handlers run)
                        (lambda ()
                          (restart-case (serve-error condition :error '(:goes-on t))
                            (go-on (&optional told)
                              :report "Go on with the other tests."
                              (when told
                                (setf (run-stops run) stops))))))))

(defun call-noting-conditions (function &optional (ordinary (constantly nil)))
  "Call FUNCTION, the body of a test. Note an error that it does not handle, unless ORDINARY is true of it."
  (handler-bind ((error (lambda (condition)
                          (unless (funcall ordinary condition)
                            (note-condition condition)))))
    (funcall function)))

;;; Choosing the tests

(defun named-like-tests-p (name)
  "True if there is a system NAME. A system of a definition that is already loaded is not searched for, because
that would load the definition, and with it the system, again."
  (if (string= name (asdf:primary-system-name name))
      (not (absent-system-p name))
      (asdf::registered-system name)))

(defun test-systems-of (name)
  "List the systems that contain the tests of the system NAME, except itself."
  (or (test-system-names (asdf:find-system name))
      (when (string= name (asdf:primary-system-name name))
        (loop for suffix in '("/tests" "/test" "-tests" "-test" ".tests" ".test")
              for test-name = (concatenate 'string name suffix)
              when (named-like-tests-p test-name)
                return (list test-name)))))

(defun load-for-testing (name)
  "Load the system NAME and those that contain its tests; return the names of the latter."
  (asdf:load-system name)
  (loop with names = (test-systems-of name)
        with loaded = '()
        while (and names (< (length loaded) 50))
        do (let ((test-name (pop names)))
             (when (and (not (member test-name loaded :test #'string=))
                        (named-like-tests-p test-name))
               (asdf:load-system test-name)
               (push test-name loaded)
               (setf names (append (test-systems-of test-name) names))))
        finally (return (nreverse loaded))))

(defun names-test-p (text name)
  "True if TEXT denotes the test NAME, with or without its package."
  (if (symbolp name)
      (multiple-value-bind (package symbol) (split-name text)
        (and (string-equal symbol (symbol-name name))
             ;; :NAME means it in any package.
             (or (member package '(nil "KEYWORD") :test #'equal)
                 (eq (symbol-package name) (or (find-package package) :none)))))
      (string-equal text (if (stringp name) name (shown-in-result name)))))

(defun own-systems (names)
  "List the systems NAMES and those of the same definitions that they depend on."
  (let ((primary (mapcar #'asdf:primary-system-name names)))
    (remove-duplicates
     (append names
             (loop for name in names
                   append (loop for (nil other) in (dependency-tree (asdf:find-system name) t)
                                when (member (asdf:primary-system-name other) primary :test #'string=)
                                  collect other)))
     :test #'string=)))

(defun named-in-systems (names)
  "List (OPERATOR NAME PACKAGE) for the toplevel forms in the files of the systems NAMES: texts, and the package the form
is read in, or NIL if that is not known."
  (loop for name in names
        append (loop for (nil nil file) in (component-entries (asdf:find-system name))
                     for text = (and file (file-text file 0 +file-characters+))
                     append (let ((package nil))
                              (loop for start in (and text (toplevel-starts text))
                                    for (operator name) = (multiple-value-list (defined-at text start))
                                    when (string-equal operator "in-package")
                                      do (setf package (find-package (string-upcase name)))
                                    when (stringp name)
                                      collect (list operator name package))))))

(defun of-system-p (test named)
  "Return :FILE if a form of NAMED, from NAMED-IN-SYSTEMS, defines TEST, a name, :PACKAGE if one defines only its package, or NIL."
  (let ((text (plain-token (token-at (princ-to-string (if (consp test) (first test) test)) 0)))
        (home (and (symbolp test) (symbol-package test))))
    (cond ((loop for (nil name package) in named
                 thereis (and (string-equal name text)
                              (or (null home) (null package) (keywordp test)
                                  (eq test (find-symbol (symbol-name test) package)))))
           :file)
          ((and home
                (loop for (operator name) in named
                      thereis (and (search "package" operator :test #'char-equal)
                                   (string-not-equal operator "in-package")
                                   (eq home (find-package (string-upcase name))))))
           :package)
          (t nil))))

(defun all-tests (frameworks)
  "List (FRAMEWORK . NAME) for the tests of FRAMEWORKS."
  (loop for framework in frameworks
        append (loop for name in (handler-case (funcall (framework-names framework))
                                   (error () '()))
                     collect (cons framework name))))

(defun owner-of-test (test frameworks)
  "Return the name of the loaded system that defines TEST, or NIL."
  (find-if (lambda (name)
             (and (some (lambda (framework) (used-by-p framework (list name))) frameworks)
                  (of-system-p test (named-in-systems (list name)))))
           (asdf:already-loaded-systems)))

(defun find-tests (text name named frameworks)
  "List (FRAMEWORK . NAME) for the tests that TEXT denotes of the system NAME, whose forms are NAMED; or those of no system.
Refuse if there are none."
  (let* ((all (all-tests frameworks))
         (denoted (remove-if-not (lambda (test) (names-test-p text (cdr test))) all))
         (own (remove-if-not (lambda (test) (of-system-p (cdr test) named)) denoted))
         (owner nil))
    (or own
        (remove-if (lambda (test)
                     (let ((found (owner-of-test (cdr test) frameworks)))
                       (when found
                         (setf owner (list (shown-in-result (cdr test)) found)))))
                   denoted)
        (refuse "There is no test ~a~@[ of ~a~]~@[; the tests of ~a do not use the requested framework or any known one~].~
                 ~@[~{~%~a is a test of the system ~a.~}~]~@[~%~a~]"
                text (and owner name) (if frameworks nil name) owner
                (offer (near-strings text
                                     (loop for (nil . test) in all
                                           when (of-system-p test named)
                                             collect (if (symbolp test)
                                                         (symbol-name test)
                                                         (shown-in-result test)))))))))

(define-session-variable *tests-in-files* '()
  "The names of the tests that ran and were in a file of their system then.")

(defconstant +owners-searched+ 3
  "How many systems are looked for that are not known to belong together: the files of all loaded systems are read for it.")

(defun note-owners (name tables frameworks)
  "Note the systems whose tests ran if none are of the system NAME, and which tests that were once in a file of a system are no
longer. TABLES are the systems that belong together, each with what NAMED-IN-SYSTEMS lists of it."
  (let ((run *test-run*)
        (searches +owners-searched+))
    (dolist (test (run-ran run))
      (flet ((owner ()
               (car (find-if (lambda (table) (eq :file (of-system-p test (cdr table)))) tables))))
        (let ((owner (or (owner)
                         (and (plusp searches)
                              (let ((found (owner-of-test test frameworks)))
                                (decf searches)
                                (when found
                                  (push (cons found (named-in-systems (list found))) tables)
                                  (owner)))))))
          (cond (owner
                 (pushnew test *tests-in-files* :test #'equal)
                 (pushnew owner (run-owners run) :test #'string=))
                ((member test *tests-in-files* :test #'equal)
                 (push (shown-in-result test (shown-package)) (run-deleted run)))))))
    (when (member name (run-owners run) :test #'string=)
      (setf (run-owners run) '()))))

;;; The run

(defun perform-test-operation (name)
  "Test the system NAME by its own TEST-OP. An error that only reports that tests failed is its verdict."
  (let ((run *test-run*))
    (block testing
      (handler-bind ((error (lambda (condition)
                              (when (and (plusp (+ (run-failed run) (run-errors run)))
                                         (not (assoc condition (run-conditions run))))
                                (setf (run-verdict run)
                                      (getf (condition-part condition) :message))
                                (return-from testing nil)))))
        (asdf:test-system name)))))

(defun used-by-p (framework systems)
  "True if one of SYSTEMS depends on FRAMEWORK."
  (let ((names (cons (framework-title framework) (framework-packages framework))))
    (loop for system in systems
          thereis (loop for (nil name) in (dependency-tree (asdf:find-system system) t)
                        thereis (member name names :test #'string-equal)))))

(defun run-system-tests (name test-systems named frameworks)
  "Test the system NAME. If it does not define how, run the tests in the files of it and TEST-SYSTEMS, and return true."
  (call-with-frameworks frameworks (lambda () (perform-test-operation name)))
  (when (loop for (nil count) on (run-counts *test-run*) by #'cddr always (zerop count))
    (run-chosen-tests (remove-if-not (lambda (test) (of-system-p (cdr test) named))
                                     (all-tests (remove-if-not (lambda (framework)
                                                                 (used-by-p framework (cons name test-systems)))
                                                               frameworks))))))

(defun run-chosen-tests (tests)
  "Run TESTS, a list of (FRAMEWORK . NAME). Return true if there are any."
  (loop for framework in (remove-duplicates (mapcar #'car tests))
        for names = (loop for (other . name) in tests
                          when (eq other framework)
                            collect name)
        do (note-found (length names))
           (call-with-frameworks (list framework)
                                 (lambda () (funcall (framework-run framework) names)))
        finally (return (and tests t))))

(defun run-counts (run)
  (list :tests (run-tests run)
        :passed (run-passed run) :failed (run-failed run) :errors (run-errors run)
        :skipped (run-skipped run) :known (run-known run)))

(defun run-tests-of-system (name text title)
  "Run the tests of the system NAME, or those that TEXT denotes, with the framework TITLE or any loaded one.
Return true if all of the framework's tests were run because the system does not define how it is tested."
  (setf *current-form* (list `(asdf:test-system ,name)))
  (let* ((test-systems (load-for-testing name))
         (frameworks (frameworks-here title))
         (tables (loop for system in (own-systems (cons name test-systems))
                       collect (cons system (named-in-systems (list system)))))
         (named (reduce #'append tables :key #'cdr)))
    (prog1 (if text
               (progn (run-chosen-tests (find-tests text name named frameworks))
                      nil)
               (run-system-tests name test-systems named frameworks))
      (note-owners name tables frameworks))))

(define-operation :run-tests (&rest arguments &key system test framework (count 0) clean)
  (let* ((path (definition-path system))
         (name (designated-system-name system path))
         (*test-run* nil)
         (fallback nil))
    (with-loading (name)
      (call-as-evaluation
       (lambda ()
         (call-quietly
          (lambda ()
            (evaluate-form-by
             (lambda ()
               (when path
                 (asdf:load-asd path))
               (setf *test-run* (make-test-run :stops count))
               (setf fallback (call-from-sources name clean (lambda () (run-tests-of-system name test framework))))
               (run-counts *test-run*))))))
       arguments
       (lambda ()
         (setf *last-failures* (cons name (mapcar (lambda (failure) (getf failure :test)) (run-failures *test-run*))))
         (list* :system name
                :framework (run-framework *test-run*)
                :fallback fallback
                :verdict (run-verdict *test-run*)
                :deleted (run-deleted *test-run*)
                :owners (run-owners *test-run*)
                :failures (reverse (run-failures *test-run*))
                (append (run-counts *test-run*) (load-effects-part)
                        (if clean (undefined-part (run-failures *test-run*)) '()))))))))

;;;; Systems and files: configuring and warming the zygote, loading, progress.

(in-package #:cl-mcp-agent)

(defvar *progress* nil
  "True while an operation that reports progress runs.")
(defvar *steps-planned* 0
  "How many files ASDF has planned to compile and load since the running operation began.")
(defvar *steps-begun* 0)
(defvar *loaded* '()
  "The names of the systems the running operation has loaded, last first.")
(define-session-variable *library-packages* '()
  "Packages that existed before any user code, or that a system defined.")

(defun library-package-p (package)
  (member package *library-packages* :test #'eq))

(defun send-progress (message)
  (call-atomically (lambda ()
                     (send-message (list 0 :progress :message message)))))

(defconstant +progress-pause-us+ 50000
  "The least time between messages about quick steps: a system may have hundreds of files.")

(defvar *last-progress* nil
  "When the last message was sent, in microseconds; NIL before the first of an operation.")

(defmacro with-loading ((name) &body body)
  "Evaluate BODY, which loads the system NAME: report its progress, and record in *LOADED* what it loads."
  `(let ((*progress* t)
         (*loading* ,name)
         (*last-progress* nil)
         (*steps-planned* 0)
         (*steps-begun* 0)
         (*loaded* '())
         (*component* nil))
     ,@body))

(defun progress-due-p (slow)
  "True if the step that begins now should be reported: always if it may be SLOW, otherwise not too often."
  (and *progress*
       (let ((now (clock-readings)))
         (when (or slow
                   (null *last-progress*)
                   (>= (- now *last-progress*) +progress-pause-us+))
           (setf *last-progress* now)
           t))))

(defun component-file (component)
  "Return the source file of COMPONENT, or NIL."
  (let ((file (ignore-errors (asdf:component-pathname component))))
    (and file (pathname-name file) file)))

(defun component-system-name (component)
  (ignore-errors (asdf:component-name (asdf:component-system component))))

(defun component-text (&optional place)
  "Return what is being done to which component, as the end of a sentence. PLACE is where in the file that is compiled, or
NIL."
  (cond ((consp *component*)
         (destructuring-bind (verb . component) *component*
           (let ((file (component-file component)))
             (format nil "~a ~@[~a~]~@[ of the system ~a~]" verb
                     (or place (if file (namestring file) (asdf:component-name component)))
                     (component-system-name component)))))
        (place (format nil "compiling ~a" place))
        (t *component*)))

(defun file-of-component ()
  "Return the source file that is being compiled or loaded as a string, or NIL."
  (and (consp *component*)
       (uiop:native-namestring (component-file (cdr *component*)))))

(defun share-text (done all)
  "Return how much of ALL is DONE, as the end of a message; the empty string if that is not useful."
  (if (and (> all 1) (<= 0 done all))
      (format nil " (~d % done)" (floor (* 100 done) all))
      ""))

(defun note-component (verb component)
  (setf *component* (cons verb component))
  (incf *steps-begun*)
  (when (progress-due-p (string= verb "compiling"))
    (let ((file (component-file component)))
      (send-progress (format nil "~a ~@[~a/~]~a~a" verb (component-system-name component)
                             (if file (file-namestring file) (asdf:component-name component))
                             (share-text (1- *steps-begun*) *steps-planned*))))))

(defun call-noting-packages (function)
  "Call FUNCTION; packages that it makes count as a library's."
  (let ((before (list-all-packages)))
    (unwind-protect (funcall function)
      (let ((after (list-all-packages)))
        (unless (= (length before) (length after))
          (setf *library-packages* (union (library-packages-among (set-difference after before))
                                          *library-packages*)))))))

(defun note-source (file)
  "Note that FILE, a pathname or NIL, is about to be compiled or loaded, perhaps once more."
  (ignore-errors
   (when file
     (note-loaded-file file)
     (forget-undefined-names (namestring (truename file))))))

(defvar *asdf-methods* '()
  "The methods that watch ASDF.")

(defmacro define-asdf-method (name &rest rest)
  "Define a method on ASDF's function NAME, unless this ASDF is too old to have the classes that the method is for. It does nothing
where a person loads systems."
  (let ((place (position-if #'listp rest)))
    (if (loop for (name class) in (remove-if-not #'consp (nth place rest))
              always (find-class class nil))
        `(push (cons #',name (defmethod ,name ,@(subseq rest 0 (1+ place))
                               (if *is-agents-thread*
                                   (progn ,@(nthcdr (1+ place) rest))
                                   ,(if (member :around rest) '(call-next-method) nil))))
               *asdf-methods*)
        nil)))

;;; On these two classes, and not on COMPILE-OP, LOAD-OP and CL-SOURCE-FILE below them: a library that defines an :AROUND
;;; method for those (FiveAM brings one with it) would replace a method of ours.

(define-asdf-method asdf:perform :around ((operation asdf/lisp-action:basic-compile-op) (component asdf:source-file))
  (let ((*component* nil))
    (note-component "compiling" component)
    (note-source (component-file component))
    ;; Other sessions load compiled files too.
    (call-with-origin '() (lambda () (call-noting-packages #'call-next-method)))))

(defun step-p (action)
  "True if NOTE-COMPONENT is called for ACTION of a plan, (OPERATION . COMPONENT)."
  (and (consp action)
       (typep (cdr action) 'asdf:source-file)
       (typep (car action) '(or asdf/lisp-action:basic-compile-op asdf/lisp-action:basic-load-op))))

;;; A plan made during another one, for a system that a definition needs, adds to it.
(define-asdf-method asdf/plan:perform-plan :before (plan &key &allow-other-keys)
  (when (and *progress* (not (listp plan)))
    (incf *steps-planned* (count-if #'step-p (ignore-errors (asdf/plan:plan-actions plan))))))

(define-asdf-method asdf:perform :around ((operation asdf/lisp-action:basic-load-op) (component asdf:source-file))
  (let ((*component* nil))
    (note-component "loading" component)
    (let ((file (component-file component)))
      (ignore-errors (note-loaded-file file))
      (call-loading-file (and (typep component 'asdf:cl-source-file) file) (component-system-name component)
                         (lambda () (call-noting-packages #'call-next-method))))))

;;; A contribution of SBCL's is loaded by REQUIRE, and a definition may have a package.
(define-asdf-method asdf:perform :around ((operation asdf:load-op) (component asdf:require-system))
  (call-noting-packages #'call-next-method))

(define-asdf-method asdf:perform :around ((operation asdf::define-op) (component asdf:system))
  (call-noting-packages #'call-next-method))

;;; ASDF compares dates in seconds, so a file edited in the same second as its compilation would not be compiled again.

(define-asdf-method asdf:operation-done-p :around ((operation asdf/lisp-action:basic-compile-op)
                                          (component asdf:source-file))
  (and (call-next-method)
       (let ((built (first (asdf:output-files operation component))))
         (not (and built
                   (ignore-errors
                    (edited-since-built-p (asdf:component-pathname component) built)))))))

(define-asdf-method asdf:perform :after ((operation asdf:load-op) (component asdf:system))
  (pushnew (asdf:component-name component) *loaded* :test #'string=))

(define-operation :load-system (&rest arguments &key system force clean)
  (let* ((path (definition-path system))
         (name (designated-system-name system path))
         (before (asdf:already-loaded-systems)))
    (with-loading (name)
      (call-as-evaluation
       (lambda ()
         (when path
           (asdf:load-asd path))
         (setf *current-form* (list `(asdf:load-system ,name ,@(if force '(:force t) '()))))
         (call-quietly (lambda ()
                         (call-from-sources name clean (lambda () (evaluate-with-retry (first *current-form*)))))))
       arguments
       (lambda () (append (loaded-part name before) (load-effects-part) (if clean (undefined-part '()) '())))))))

(defun loaded-part (name before)
  "Return the part of the reply about the system NAME, now loaded; the systems BEFORE were loaded earlier."
  (let* ((system (asdf::registered-system name))
         ;; That of a package-inferred system's part is not recorded.
         (file (and system (ignore-errors (or (asdf:system-source-file system)
                                              (asdf:system-source-file (asdf:primary-system-name name)))))))
    (list :name name
          :loaded (reverse *loaded*)
          :file (uiop:native-namestring file)
          :place (place-of-file file)
          :already (and (null *loaded*)
                        (member name before :test #'string-equal)
                        t))))

(defun call-quietly (function)
  "Call FUNCTION so that files are compiled and loaded without messages, with the default policy."
  (let ((*compile-print* nil)
        (*compile-verbose* nil)
        (*load-print* nil)
        (*load-verbose* nil))
    (call-with-default-policy function)))

(defun file-to-compile-into (path)
  "Return the path for the compiled file of PATH, in ASDF's cache and never beside the source."
  (let ((file (asdf:apply-output-translations (compile-file-pathname path))))
    (ensure-directories-exist file)
    file))

(defun load-one-file (path compile)
  (let ((*component* (format nil "loading ~a" path)))
    (note-source (merge-pathnames path))
    (if compile
        (multiple-value-bind (compiled warnings failure)
            (compile-file path :output-file (file-to-compile-into path))
          (declare (ignore warnings))
          (unless compiled
            (error "The file ~a was not compiled." path))
          (prog1 (load compiled)
            (when failure
              (warn "The file ~a was compiled with errors or warnings." path))))
        (load path))))

(defun path-to-load (path directory)
  "Return PATH, relative to DIRECTORY unless that is NIL. Signal an error if no file is there."
  (if (and directory (uiop:relative-pathname-p path))
      (let ((full (merge-pathnames path (uiop:parse-native-namestring directory :ensure-directory t)))
            (other (merge-pathnames path (uiop:getcwd))))
        (if (probe-file full)
            full
            (error "There is no file ~a in ~a, the session's directory.~@[ The directory of the image is ~a~:[~;, where there is ~
                    one~].~] Pass an absolute path."
                   path directory
                   (if (equal (truename (uiop:getcwd)) (probe-file (uiop:parse-native-namestring directory :ensure-directory t)))
                       nil
                       (uiop:native-namestring (uiop:getcwd)))
                   (probe-file other))))
      path))

(define-operation :load-file (&rest arguments &key path compile directory)
  (call-as-evaluation
   (lambda ()
     (setf *current-form* (list `(load ,path)))
     (call-quietly (lambda ()
                     (retrying "Load the file again."
                       (evaluate-form-by (lambda ()
                                           (let ((file (path-to-load path directory))
                                                 (*loading* path))
                                             (call-loading-file (merge-pathnames file) nil
                                                                (lambda () (load-one-file file compile))))))))))
   arguments
   #'load-effects-part))

;;; The zygote

(defun forget-build-environment ()
  "Have ASDF take its directories from the environment of this process, not of the one that saved the image,
whose directories the current user may not be able to write."
  (setf uiop:*user-cache* (uiop:xdg-cache-home "common-lisp" :implementation))
  (uiop:setup-temporary-directory)
  (asdf:clear-configuration))

(defun enter-directory (directory)
  "Work in DIRECTORY, a string, and find systems there."
  ;; UIOP would escape a wildcard in the last part of a name without a slash at its end.
  (let ((path (uiop:parse-native-namestring
               (if (uiop:string-suffix-p directory "/")
                   directory
                   (concatenate 'string directory "/")))))
    (change-directory directory)
    ;; In a saved session the user may have changed it.
    (when (or (null *directory*) (equal *directory* *default-pathname-defaults*))
      (setf *default-pathname-defaults* path))
    (unless (equal path *directory*)
      (setf asdf:*central-registry* (adjoin path (remove *directory* asdf:*central-registry* :test #'equal)
                                            :test #'equal)
            *directory* path
            *definitions-below* '(nil)))))

(define-operation :configure (&key server-pid directory)
  ;; A copy of the zygote has been through the first part, and is only told its directory.
  (let ((new-image (null *server-process*)))
    (when new-image
      (setf *server-process* server-pid)
      (mark-programs)
      (enter-own-domain)
      ;; In a saved session they are the user's.
      (unless *snapshot-taken*
        (forget-build-environment)))
    (when directory
      (enter-directory directory))
    (list* *id* :ok
           ;; A saved session has loaded them again, and what they had in memory is gone.
           :libraries (if (and new-image *snapshot-taken*) (foreign-libraries) '())
           (hooks-part))))

(defun call-as-step (what function)
  "Call FUNCTION; return sentences that report how it failed and what it printed."
  (multiple-value-bind (text outcome)
      (guarded (stream 2000 (ash 1 40))
        (let ((*standard-output* stream)
              (*error-output* stream)
              (*trace-output* stream))
          (call-in-compilation-unit
           (lambda ()
             (call-recording-warnings (lambda () (call-quietly function)) #'identity)))))
    (remove nil (list (cond ((null outcome) nil)
                            ((typep outcome 'condition)
                             (with-agent-syntax ()
                               (format nil "~a failed: ~a: ~a" what
                                       (type-name-text (class-of outcome)) (message-text outcome))))
                            (t (format nil "~a was interrupted." what)))
                      (and (string/= "" (trimmed text))
                           (format nil "~a printed: ~a" what (trimmed text)))))))

(define-operation :warm (&key user-init ((:load files)) preload finish)
  (let ((notices '()))
    (flet ((perform-step (what function)
             (setf notices (append notices (call-as-step what function)))))
      (when user-init
        (perform-step (format nil "Loading ~a" user-init) (lambda () (load user-init))))
      (dolist (system preload)
        (perform-step (format nil "Loading the system ~a" system)
                      (lambda () (asdf:load-system system))))
      (dolist (path files)
        (perform-step (format nil "Loading ~a" path) (lambda () (load path)))))
    (let ((threads (thread-names)))
      (when threads
        (setf notices (append notices
                              (list (format nil "Other threads run, so sessions cannot be ~
                                                 copied: ~{~a~^, ~}." threads))))))
    (when finish
      (take-snapshot)
      (tidy-heap t))
    (list *id* :ok :notices notices :forkable (only-thread-p))))

;;;; The agent's port to SBCL: which names are the user's business, and how names are printed.

(in-package #:cl-mcp-agent)

(implement own-package-p (package)
  (let ((name (package-name package)))
    (or (null name)
        (member name '("COMMON-LISP" "KEYWORD") :test #'string=)
        (eql 0 (search "SB-" name)))))

(implement copy-local-nicknames (from to)
  (loop for (nickname . package) in (sb-ext:package-local-nicknames from)
        do (sb-ext:add-package-local-nickname nickname package to)))

(defparameter *public-packages*
  '("SB-EXT" "SB-THREAD" "SB-POSIX" "SB-GRAY" "SB-MOP" "SB-BSD-SOCKETS" "SB-CLTL2"
    "SB-CONCURRENCY" "SB-INTROSPECT" "SB-SPROF" "SB-ALIEN" "SB-UNICODE"))

(implement public-symbol-p (symbol)
  (let ((package (symbol-package symbol)))
    (or (null package)
        (let ((name (package-name package)))
          (or (null name)
              (and (not (member package '#.(mapcar #'find-package *packages-of-agent*)))
                   (or (< (length name) 3)
                       (char/= #\S (char name 0))
                       (char/= #\B (char name 1))
                       (char/= #\- (char name 2))
                       (and (member name *public-packages* :test #'string=)
                            (eq :external (nth-value 1 (find-symbol (symbol-name symbol)
                                                                    package)))))))))))

(defparameter *own-file*
  (let ((file (or *compile-file-truename* *load-truename*)))
    (and file (file-namestring file)))
  "The name of the file from which the agent was loaded.")

(defun visible-name-p (name)
  (cond ((eq name 'sb-pcl::call-no-applicable-method) t)
        ((eq name 'sb-ext:eval-tlf) nil)
        ((symbolp name) (public-symbol-p name))
        ((stringp name) (or (string= name "undefined function") (eql 0 (search "user-" name))))
        ((atom name) nil)
        (t
         (case (first name)
           ((sb-pcl::fast-method sb-pcl::slow-method)
            (let ((function (second name)))
              (and (visible-name-p function)
                   (not (and (eq function 'asdf:perform)
                             (member :around name)))
                   (not (member function '(no-applicable-method no-next-method slot-unbound
                                           slot-missing))))))
           ((flet labels lambda sb-int:named-lambda macro-function compiler-macro-function setf)
            (let ((place (member :in name)))
              (cond (place
                     ;; Local functions of the Lisp's own functions are its own affair. Those of a file's forms have the
                     ;; file's name there.
                     (let ((home (second place)))
                       (if (stringp home)
                           (not (and *own-file* (search *own-file* home)))
                           (and (visible-name-p home)
                                (not (implementation-name-p home))))))
                    ((member (first name) '(lambda sb-int:named-lambda)) t)
                    ((consp (rest name)) (visible-name-p (second name)))
                    (t nil))))
           (t (and (symbolp (first name)) (public-symbol-p (first name))))))))

;;; SBCL prints many names with their package, even if that is the current one. The agent does not.

(defvar *plain-names* nil)

(defun print-name (stream symbol &optional colon at)
  "Take the place of PRINT-SYMBOL-WITH-PREFIX, which FORMAT calls."
  (declare (ignore colon at))
  (if *plain-names*
      (prin1 symbol stream)
      (let ((*package* #.(find-package "KEYWORD")))
        (prin1 symbol stream))))

(implement call-printing-plainly (function)
  (let ((*plain-names* t)
        (sb-int:*print-condition-references* nil))
    (funcall function)))

(implement call-printing-past-errors (function)
  (let ((sb-ext:*suppress-print-errors* 'part-not-printed))
    (funcall function)))

(implement call-ringing (seconds function ring)
  (let ((timer (sb-ext:make-timer ring :thread sb-thread:*current-thread*)))
    (sb-ext:schedule-timer timer seconds :repeat-interval seconds)
    (unwind-protect (funcall function)
      (sb-ext:unschedule-timer timer))))

;;;; The agent's port to SBCL: what a Lisp in the server's sandbox does and says.

(in-package #:cl-mcp-agent)

;;; The server has put the first Lisp, and so all its copies, into one Landlock domain. Processes of one domain may trace
;;; each other, and signal each other. Each session enters a domain of its own inside that one; then it reaches only its own
;;; copies. Landlock has an empty domain only since it restricts signals (version 6), so a right over files is restricted
;;; and allowed everywhere again: to move a file to another directory, which each domain that does not allow it forbids;
;;; in version 1, which forbids that in any case, to make a device.

(defconstant +may-make-device+ (ash 1 6))
(defconstant +may-move+ (ash 1 13))

(defun landlock-version ()
  (system-call (444 444) 0 0 1)) ; landlock_create_ruleset, LANDLOCK_CREATE_RULESET_VERSION

(defun allow-everywhere (rules right)
  "Let RULES, a descriptor, allow RIGHT for each file below the root directory. Returns false if the kernel refuses."
  (let ((root (c-call "open" sb-alien:int sb-alien:c-string "/" sb-alien:int +path-only+))
        (rule (make-array 2 :element-type '(unsigned-byte 64)))) ; struct landlock_path_beneath_attr, of 12 octets
    (setf (aref rule 0) right
          (aref rule 1) root)
    (unwind-protect
         (sb-sys:with-pinned-objects (rule)
           (zerop (system-call (445 445) rules 1 (sb-sys:sap-int (sb-sys:vector-sap rule)) 0))) ; landlock_add_rule
      (close-descriptors (list root)))))

(implement leave-other-sessions ()
  (let* ((version (landlock-version))
         (right (if (< version 2) +may-make-device+ +may-move+))
         ;; struct landlock_ruleset_attr: rights over files and ports, and what is scoped: abstract sockets, signals.
         (attributes (make-array 3 :element-type '(unsigned-byte 64) :initial-contents (list right 0 3))))
    (sb-sys:with-pinned-objects (attributes)
      (let ((rules (system-call (444 444) (sb-sys:sap-int (sb-sys:vector-sap attributes)) (if (< version 6) 8 24) 0)))
        (unless (minusp rules)
          (unwind-protect
               (and (allow-everywhere rules right)
                    (zerop (system-call (446 446) rules 0))) ; landlock_restrict_self
            (close-descriptors (list rules))))))))

;;; If each Landlock domain makes it so.
(implement moving-denial-text ()
  (when (< (landlock-version) 2)
    (sb-int:strerror sb-posix:exdev)))

;;; The system's texts, and what ENSURE-DIRECTORIES-EXIST and RUN-PROGRAM with :PTY say instead of the system's text.
(implement denial-texts ()
  (list (sb-int:strerror sb-posix:eacces) (sb-int:strerror sb-posix:eperm) "Can't create directory" "could not find a pty"))

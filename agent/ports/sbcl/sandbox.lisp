;;;; The agent's port to SBCL: what a Lisp in the server's sandbox does and says.

(in-package #:cl-mcp-agent)

;;; The server has put the first Lisp, and so all its copies, into one Landlock domain. Processes of one domain may signal
;;; and trace each other. Each session enters a domain of its own inside that one; then it reaches only its own copies.

(implement leave-other-sessions ()
  ;; struct landlock_ruleset_attr: no access to files or ports handled here, abstract sockets and signals scoped.
  (let ((attributes (make-array 3 :element-type '(unsigned-byte 64) :initial-contents '(0 0 3))))
    (sb-sys:with-pinned-objects (attributes)
      (let ((rules (system-call (444 444) (sb-sys:sap-int (sb-sys:vector-sap attributes)) 24 0))) ; landlock_create_ruleset
        (if (minusp rules)
            ;; E2BIG, EINVAL, ENOSYS, EOPNOTSUPP: the kernel has no scopes. The server starts a sandbox on such a kernel only
            ;; if it was told to do what it can.
            (and (member (sb-alien:get-errno) '(7 22 38 95)) t)
            (prog1 (zerop (system-call (446 446) rules 0)) ; landlock_restrict_self
              (close-descriptors (list rules))))))))

;;; EACCES, EPERM, and what ENSURE-DIRECTORIES-EXIST and RUN-PROGRAM with :PTY say instead of the system's text.
(implement denial-texts ()
  (list (sb-int:strerror 13) (sb-int:strerror 1) "Can't create directory" "could not find a pty"))

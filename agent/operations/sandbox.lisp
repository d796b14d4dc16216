;;;; A Lisp in a sandbox: it cannot reach the server's other sessions, and an error that the sandbox may have
;;;; caused names the sandbox.

(in-package #:cl-mcp-agent)

(defun sandbox-mode ()
  "Return the sandbox of the session, workspace or read-only, or NIL without one."
  (uiop:getenvp "CL_MCP_SANDBOX"))

(defun enter-own-domain ()
  "In a sandbox, make the other sessions of this server unreachable. A process that cannot do that ends."
  (when (and (sandbox-mode) (not (leave-other-sessions)))
    (write-line "The sandbox of this session could not be set up." *error-output*)
    (finish-output *error-output*)
    (end-process 74)))

(defun sandbox-hint (message)
  "Return a sentence about the sandbox if MESSAGE, of an error, is the system's text for a forbidden operation."
  (let* ((mode (sandbox-mode))
         (moving (and mode (moving-denial-text))))
    (cond
      ((and moving (search moving message))
       (format nil "The session has the sandbox ~a: before Linux 5.19 no file can be moved or linked to another directory ~
                    there. Copy the file and delete the old one." mode))
      ((and mode (some (lambda (denial) (search denial message)) (denial-texts)))
       (format nil "The session has the sandbox ~a: files, sockets and system calls outside it are ~
                    denied. It can write to ~@[the working directory, ~*~]the directory for temporary ~
                    files ~a and the paths of --writable." mode (string= mode "workspace")
                   (uiop:getenv "TMPDIR"))))))

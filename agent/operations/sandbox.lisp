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
  (let ((mode (sandbox-mode)))
    (when (and mode (some (lambda (denial) (search denial message)) (denial-texts)))
      (format nil "The session has the sandbox ~a: files, sockets and system calls outside it are ~
                   denied. It can write to ~@[the working directory, ~*~]the directory for temporary ~
                   files ~a and the paths of --writable." mode (string= mode "workspace")
                   (uiop:getenv "TMPDIR")))))

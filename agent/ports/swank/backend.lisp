;;;; The agent's port to the Lisps that Swank knows: the names of its backend, or of Slynk's, where an image has that.
;;;; The backend knows threads, frames, the metaobject protocol; what it lacks, the other files here do or lack too.

(in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (require :asdf)

  (defun server-package (&rest names)
    "Return the first package that exists of NAMES, of Swank's packages and of Slynk's; the suffixes are the same."
    (or (some #'find-package names)
        (error "This image has neither Swank nor Slynk: there is no package ~{~a~^ or ~}." names)))

  (defun server-symbol (name package)
    "Return the symbol called NAME in PACKAGE. Signal an error if there is none, because this Swank is not the expected one."
    (multiple-value-bind (symbol found) (find-symbol name package)
      (unless found
        (error "There is no ~a::~a in this image." (package-name package) name))
      symbol))

  (defun backend-name (name)
    (server-symbol (symbol-name name) (server-package "SWANK/BACKEND" "SLYNK-BACKEND")))

  (defun mop-name (name)
    (server-symbol (symbol-name name) (server-package "SWANK-MOP" "SLYNK-MOP")))

  (defun own-name (name)
    "Return the symbol called NAME in the package of what is the Lisp's own, or NIL."
    (loop for package in '("EXT" "SYS" "SI" "CCL")
          thereis (and (find-package package) (find-symbol name package)))))

(defmacro backend (name &rest arguments)
  "Call the function NAME of the backend's interface."
  (list* (backend-name name) arguments))

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun implements-p (name)
    "True if the backend implements NAME, a function of its interface."
    (let* ((package (server-package "SWANK/BACKEND" "SLYNK-BACKEND"))
           (symbol (find-symbol (symbol-name name) package)))
      (and symbol
           (fboundp symbol)
           (not (member symbol (symbol-value (server-symbol "*UNIMPLEMENTED-INTERFACES*" package)))))))

  (unless (implements-p 'spawn)
    (error "~a has no threads here, and Swank serves one connection in it: the agent would have no place beside the editor."
           (lisp-implementation-type)))

  (defun gray-name (name)
    (find-symbol (symbol-name name) (find-package (backend gray-package-name)))))

;;; The process

(implement process-id ()
  (backend getpid))

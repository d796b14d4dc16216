;;;; The system definition, for work on the agent in a Lisp; the server is built without it.

(defsystem "agent"
  :description "The half of cl-mcp-server that lives in the Lisp image."
  :depends-on ((:feature :sbcl "sb-introspect") (:feature :sbcl "sb-posix"))
  :serial t
  :components ((:file "package")
               (:file "port")
               (:file "ports/sbcl" :if-feature :sbcl)
               (:file "wire")
               (:file "operations/operation")
               (:file "operations/report")
               (:file "operations/frames")
               (:file "operations/evaluate")
               (:file "operations/names")
               (:file "operations/systems")
               (:file "operations/definitions")
               (:file "operations/describe")
               (:file "operations/compile")
               (:file "operations/past")
               (:file "operations/enter")
               (:file "operations/measure")
               (:file "operations/parts")
               (:file "operations/path")
               (:file "operations/inspect")
               (:file "operations/save")
               (:file "operations/tools")
               (:file "main")))

;;;; Builds the agent's core from the agent's files, concatenated in the order of files.txt, with loaded.lisp after each and this
;;;; file at the end:
;;;;
;;;;     sbcl --noinform --no-sysinit --no-userinit --non-interactive --load AGENT.lisp -- OUT.core

(cl:in-package #:common-lisp-user)

(setf *compile-print* nil
      *compile-verbose* nil
      *load-verbose* nil)

(in-package #:cl-mcp-agent)

(prepare-image)
(in-package #:common-lisp-user)
(cl-mcp-agent::save-image (first (last sb-ext:*posix-argv*)) nil)

;;;; The agent's package. Everything the agent defines lives here, so a session's user sees none of its symbols; CL-MCP,
;;;; which is meant for the user; and CL-MCP-READ, where code is read of which only the lists matter.

(cl:defpackage #:cl-mcp-agent
  (:use #:cl))

(cl:defpackage #:cl-mcp
  (:documentation "What a session's own code can use: tools that MCP clients see, and what runs after a return.")
  (:use)
  (:export #:define-tool #:remove-tool #:list-tools #:call-tool #:on-return #:on-start #:breakpoint))

(cl:defpackage #:cl-mcp-read
  (:use)
  (:import-from #:cl #:quote))

(cl:in-package #:cl-mcp-agent)

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defparameter *packages-of-agent* '("CL-MCP-AGENT" "CL-MCP" "CL-MCP-READ")))

(deftype index () '(integer 0 #.(ash most-positive-fixnum -2)))
(deftype octets () '(simple-array (unsigned-byte 8) (*)))

(defmacro fast (&body body)
  "Compile BODY for speed; for loops over octets whose indexes have been checked."
  `(locally (declare (optimize (speed 3) (safety 0) (debug 0)))
     ,@body))

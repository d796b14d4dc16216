;;;; The agent's port to SBCL: the image is prepared and saved as a core, and started from it.

(in-package #:cl-mcp-agent)

(defconstant +compression+ 1
  "The zstd level. Higher ones take many times as long and save a few percent.")

(defun revive-output (stream)
  "Give STREAM, from the saved image, a new buffer: its old one was outside the heap."
  (setf (sb-impl::fd-stream-obuf stream) (sb-impl::get-buffer)
        (sb-impl::fd-stream-output-queue stream) nil))

(implement start-port ()
  (when *output*
    (revive-output *output*)
    (revive-output *error-output-stream*))
  (setf *kept-descriptors* '(-1 -1))
  (learn-assembler-routines)
  (c-call "fcntl" sb-alien:int sb-alien:int +channel+ sb-alien:int sb-posix:f-setfd sb-alien:int +descriptor-close-on-exec+))

(defun finalize-classes (class)
  "Finalize CLASS and its subclasses now. Otherwise each process would write to the image at their first use."
  (unless (sb-mop:class-finalized-p class)
    (sb-mop:finalize-inheritance class))
  (mapc #'finalize-classes (sb-mop:class-direct-subclasses class)))

(defun check-image ()
  "Signal an error unless the image is as PREPARE-IMAGE should leave it."
  (do-present-symbols (symbol "CL-MCP-AGENT")
    (assert (or (fboundp symbol) (not (called-name-p symbol))) ()
            "the agent calls ~a, a function that is not defined" symbol))
  (assert (eq #'instead-of-the-debugger (fdefinition 'sb-debug::%invoke-debugger)) ()
          "SBCL's debugger is still enabled")
  (assert (eq #'print-name (fdefinition 'sb-ext:print-symbol-with-prefix)) ()
          "names are printed by SBCL and not by the agent")
  (assert (null (rest (sb-thread:list-all-threads))) ()
          "threads run: ~{~a~^, ~}" (sb-thread:list-all-threads)))

(implement prepare-image ()
  (remove-finalizer-thread)
  (replace-function 'sb-debug::%invoke-debugger #'instead-of-the-debugger)
  (replace-function 'sb-ext:disable-debugger #'leave-debugger)
  (make-room-for-contexts)
  (defer-interrupts-in-compression)
  (replace-function 'sb-ext:print-symbol-with-prefix #'print-name)
  (note-library-packages)
  (separate-standard-functions)
  ;; The image's ASDF stays: a copy of ASDF among the sources would be compiled and loaded
  ;; before anything else, which takes seconds and breaks every session's first load.
  (asdf:register-immutable-system "asdf")
  (asdf:register-immutable-system "uiop")
  (search-also)
  (finalize-classes (find-class 'asdf:operation))
  (check-image)
  (setf sb-ext:*exit-timeout* 1
        sb-ext:*evaluator-mode* :compile
        sb-ext:*stepper-hook* #'note-step)
  (keep-frames-of-failing-functions)
  (let-methods-be-wrapped)
  ;; Keeps variables visible. Only (debug 3), which users can request, keeps the frames of all callers.
  (proclaim '(optimize (debug 2) (safety 1) (speed 1) (space 1) (compilation-speed 1)))
  ;; LOAD, which is loading this, has bound the policy; the global value is saved.
  (setf (sb-ext:symbol-global-value 'sb-c::*policy*) sb-c::*policy*)
  ;; From here on the agent takes unhandled conditions, and skips them while an image is built.
  (setf sb-ext:*invoke-debugger-hook* #'enter-agent
        *debugger* #'debugger))

(implement save-image (path compressed)
  (declare (ignorable compressed))
  (when compressed
    ;; The runtime prints the progress of the compression.
    (sever-descriptors '(1)))
  (use-lisps-own-streams)
  (save-code-as-it-is)
  (sb-ext:save-lisp-and-die path :toplevel #'main :executable nil
                                 #+sb-core-compression #+sb-core-compression
                                 :compression (if compressed +compression+ nil)))

;;;; The agent's port to SBCL: the image is prepared and saved as a core, and started from it.

(in-package #:cl-mcp-agent)

(defconstant +compression+ 1
  "The level of zstd. Higher ones take many times as long for a few percent.")

(defun revive-output (stream)
  "Give STREAM, of the image that was saved, a buffer: what it had was outside the heap."
  (setf (sb-impl::fd-stream-obuf stream) (sb-impl::get-buffer)
        (sb-impl::fd-stream-output-queue stream) nil))

(implement start-port ()
  (when *output*
    (revive-output *output*)
    (revive-output *error-output-stream*))
  (setf *kept-descriptors* '(-1 -1))
  (learn-assembler-routines)
  ;; F_SETFD, FD_CLOEXEC.
  (c-call "fcntl" sb-alien:int sb-alien:int +channel+ sb-alien:int 2 sb-alien:int 1))

(defun finalize-classes (class)
  "Do with CLASS and all below it what their first use does: every process that uses one would write to the image."
  (unless (sb-mop:class-finalized-p class)
    (sb-mop:finalize-inheritance class))
  (mapc #'finalize-classes (sb-mop:class-direct-subclasses class)))

(implement prepare-image ()
  (remove-finalizer-thread)
  (remove-debugger)
  (make-room-for-contexts)
  (replace-name-printer)
  (setf *keep-frames* #'frames-of-compiler-error)
  (setf *thread-debugger* #'debugger)
  (setf sb-ext:*invoke-debugger-hook* #'enter-agent
        *debugger* #'debugger)
  (setf sb-ext:*exit-timeout* 1)
  (note-library-packages)
  (separate-standard-functions)
  #+(and x86-64 linux)
  (look-up-in-copies)
  ;; What is in the image stays: a copy of ASDF among the sources would be compiled and loaded
  ;; before anything else, which takes seconds and breaks every session's first load.
  (asdf:register-immutable-system "asdf")
  (asdf:register-immutable-system "uiop")
  (search-also)
  (finalize-classes (find-class 'asdf:operation))
  (setf sb-ext:*evaluator-mode* :compile)
  (keep-frames-of-failing-functions)
  ;; Variables can be looked at. Only (debug 3), which is the user's to ask for, keeps the frames of all callers.
  (proclaim '(optimize (debug 2) (safety 1) (speed 1) (space 1) (compilation-speed 1)))
  ;; LOAD, which is loading this, has bound the policy; what is saved is the global value.
  (setf (sb-ext:symbol-global-value 'sb-c::*policy*) sb-c::*policy*))

(defun close-output ()
  "Send descriptor 1 to /dev/null: the runtime says there how far the compression is."
  (let ((nowhere (c-call "open" sb-alien:int sb-alien:c-string "/dev/null" sb-alien:int 1)))
    (unless (minusp nowhere)
      (c-call "dup2" sb-alien:int sb-alien:int nowhere sb-alien:int 1))))

(implement save-image (path compressed)
  (declare (ignorable compressed))
  (when compressed
    (close-output))
  (drop-filling)
  (sb-ext:save-lisp-and-die path :toplevel #'main :executable nil
                                 #+sb-core-compression #+sb-core-compression
                                 :compression (if compressed +compression+ nil)))

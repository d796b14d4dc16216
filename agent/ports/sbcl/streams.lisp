;;;; The agent's port to SBCL: the standard streams.

(in-package #:cl-mcp-agent)

(sb-ext:defglobal *output* nil)
(sb-ext:defglobal *error-output-stream* nil)
(sb-ext:defglobal *no-input* nil)
(sb-ext:defglobal *interactive* nil)

(defun make-output (descriptor name)
  (sb-sys:make-fd-stream descriptor
                         :name name :output t :buffering :none :element-type :default
                         :external-format '(:utf-8 :replacement #\ufffd)))

(defun renew-streams ()
  (setf *output* (make-output 1 "standard output")
        *error-output-stream* (make-output 2 "error output")
        ;; A concatenated stream of nothing would have no element type.
        *no-input* (make-string-input-stream (make-array 0 :element-type 'character))
        *interactive* (make-two-way-stream *no-input* *output*)))

(defmacro set-where-different (&rest places-and-values)
  "Set each place that has another value. What is not written need not be copied after a copy of the
process: the symbols of variables lie scattered over many pages."
  `(progn
     ,@(loop for (place value) on places-and-values by #'cddr
             collect `(unless (and ,@(when (symbolp place) `((boundp ',place)))
                                   (eq ,place ,value))
                        (setf ,place ,value)))))

(defun use-streams (output error-output interactive)
  "Let the standard streams for output and for a person's answers be these."
  (set-where-different
   *standard-output* output
   *trace-output* output
   *error-output* error-output
   *terminal-io* interactive
   *query-io* interactive
   *debug-io* interactive))

(implement ensure-streams ()
  (unless (and *output*
               (open-stream-p *output*) (open-stream-p *error-output-stream*)
               (open-stream-p *no-input*) (open-stream-p *interactive*))
    ;; Closing a stream has closed its descriptor.
    (repair-descriptors)
    (renew-streams))
  (set-where-different
   sb-impl::*stdin* *no-input*
   sb-impl::*stdout* *output*
   sb-impl::*stderr* *error-output-stream*
   sb-impl::*tty* *interactive*
   *standard-input* *no-input*)
  (use-streams *output* *error-output-stream* *interactive*))

(defun use-lisps-own-streams ()
  "Let the standard streams be those that SBCL makes when a process starts, for what the user's hooks print there before MAIN
runs: the agent's own streams have no buffers then."
  (let ((output (make-synonym-stream 'sb-impl::*stdout*)))
    (use-streams output
                 (make-synonym-stream 'sb-impl::*stderr*)
                 (make-two-way-stream (make-synonym-stream 'sb-impl::*stdin*) output))))

(defun flush-stream (stream)
  "Write what is left in the buffer of STREAM, if there is anything: the attempt alone writes to the buffer."
  (let ((buffer (sb-impl::fd-stream-obuf stream)))
    (unless (and buffer
                 (= (sb-impl::buffer-head buffer) (sb-impl::buffer-tail buffer))
                 (null (sb-impl::fd-stream-output-queue stream)))
      (finish-output stream))))

(implement flush-streams ()
  (ignore-errors (flush-stream *output*))
  (ignore-errors (flush-stream *error-output-stream*)))

(implement reset-columns ()
  (set-where-different (sb-impl::fd-stream-output-column *output*) 0
                       (sb-impl::fd-stream-output-column *error-output-stream*) 0))

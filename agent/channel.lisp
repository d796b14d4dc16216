;;;; The channel on a descriptor: frames of one message each.

(in-package #:cl-mcp-agent)

(defconstant +frame-header-length+ 8)
(defconstant +frame-limit+ (* 16 1024 1024))

(defun frame-length ()
  "Decode the eight hexadecimal digits at the start of *INPUT*."
  (let ((length 0))
    (declare (type (unsigned-byte 32) length))
    (loop for index below +frame-header-length+
          do (let* ((octet (aref *input* index))
                    (digit (cond ((<= 48 octet 57) (- octet 48))
                                 ((<= 97 octet 102) (- octet 87))
                                 (t (end-process 73)))))
               (declare (type (unsigned-byte 4) digit))
               (setf length (logior digit (logand #xffffffff (ash length 4))))))
    (when (> length +frame-limit+)
      (end-process 73))
    length))

(defun receive-until (end)
  "Read until there are END octets in *INPUT*, and not one more: what lies behind them in the channel, with its
descriptors, stays out of the reach of evaluated code. The end of the stream ends the process."
  (declare (type index end))
  (when (> end (length *input*))
    (let ((new (make-buffer (+ end 4096))))
      (replace new *input* :end2 *input-end*)
      (setf *input* new)))
  (loop while (< *input-end* end)
        ;; An error of a timer during the wait unwinds: not between the parts of a message, or the rest of it would be read
        ;; as the next one.
        do (let ((count (let ((*waits-openly* (and *waits-openly* (zerop *input-end*))))
                          (receive-octets *input* *input-end* end))))
             (when (zerop count)
               (end-process 0))
             (incf *input-end* count))))

(defun receive-message ()
  "Wait for a message and return it."
  (setf *input-end* 0)
  (when (> (length *input*) +longest-buffer-kept+)
    (setf *input* (make-buffer +buffer-length+)))
  (receive-until +frame-header-length+)
  (let ((end (+ +frame-header-length+ (frame-length))))
    (receive-until end)
    (values (parse-value +frame-header-length+ end 0))))

(defun send-message (message)
  "Send MESSAGE, a list, in one write. Returns whether it was short enough to be sent."
  (setf *output-end* +frame-header-length+)
  (put-value message)
  (let* ((length (- *output-end* +frame-header-length+))
         (short-enough (<= length +frame-limit+)))
    (when short-enough
      (loop for index from (1- +frame-header-length+) downto 0
            do (let ((digit (logand 15 length)))
                 (setf (aref *output-octets* index) (+ digit (if (< digit 10) 48 87))
                       length (ash length -4))))
      (send-octets *output-octets* *output-end*))
    (when (> (length *output-octets*) +longest-buffer-kept+)
      (setf *output-octets* (make-buffer +buffer-length+)))
    short-enough))

(defun await-answer (wake)
  "Wait a second at most in the thread that serves for the answer that raises WAKE: it comes over the channel."
  (declare (ignore wake))
  (when (await-octets 1)
    (take-looks)))

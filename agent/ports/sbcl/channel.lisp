;;;; The agent's port to SBCL: octets and descriptors that come and go on the channel to the server.

(in-package #:cl-mcp-agent)

(declaim (type (unsigned-byte 31) *channel*))

(defun note-descriptors (message length)
  "Keep the descriptors in the LENGTH octets of control data at the address MESSAGE."
  (let ((position 0))
    (loop while (<= (+ position 16) length)
          do (let ((size (sb-sys:sap-ref-64 message (+ +control+ position))))
               (when (< size 16)
                 (return))
               (when (and (= 1 (sb-sys:sap-ref-32 message (+ +control+ position 8)))
                          (= 1 (sb-sys:sap-ref-32 message (+ +control+ position 12))))
                 (loop for offset from 16 below size by 4
                       do (setf *descriptors*
                                (append *descriptors*
                                        (list (sb-sys:sap-ref-32
                                               message (+ +control+ position offset)))))))
               (incf position (logandc2 (+ size 7) 7))))))

(defconstant +to-read+ 1)
(defconstant +to-write+ 4)

(defun wait-for-channel (events &optional (milliseconds -1))
  "Wait until the channel is ready for EVENTS, as poll(2) has them, or the time has passed. Return whether it is ready."
  (let ((message *message*))
    (declare (type octets message))
    (with-writable-vectors (message)
      (let ((entry (sb-sys:sap+ (sb-sys:vector-sap message) +poll+)))
        (setf (sb-sys:sap-ref-32 entry 0) *channel*
              (sb-sys:sap-ref-32 entry 4) events)
        (plusp (c-call "poll" sb-alien:int
                       sb-sys:system-area-pointer entry
                       sb-alien:unsigned-long 1
                       sb-alien:int milliseconds))))))

(implement await-octets (seconds)
  (wait-for-channel +to-read+ (* 1000 seconds)))

(implement receive-octets (buffer start end)
  (declare (type octets buffer) (type index start end))
  (let ((message *message*))
    (loop
      (if *waits-openly*
          (call-openly (lambda () (wait-for-channel +to-read+)))
          (wait-for-channel +to-read+))
      (with-writable-vectors (buffer message)
        (let ((header (sb-sys:vector-sap message)))
          (setf (sb-sys:sap-ref-sap header +header-buffers+) (sb-sys:sap+ header +buffers+)
                (sb-sys:sap-ref-64 header +header-buffer-count+) 1
                (sb-sys:sap-ref-sap header +header-control+) (sb-sys:sap+ header +control+)
                (sb-sys:sap-ref-64 header +header-control-length+) +control-length+
                (sb-sys:sap-ref-sap header +buffers+)
                (sb-sys:sap+ (sb-sys:vector-sap buffer) start)
                (sb-sys:sap-ref-64 header (+ +buffers+ 8)) (- end start))
          ;; It does not wait: interrupts run during the wait above.
          (let ((count (c-call "recvmsg" sb-alien:long
                               sb-alien:int *channel*
                               sb-sys:system-area-pointer header
                               sb-alien:int (logior +received-close-on-exec+ +do-not-wait+))))
            (cond ((plusp count)
                   (let ((length (sb-sys:sap-ref-64 header +header-control-length+)))
                     (when (plusp length)
                       (note-descriptors header length)))
                   (return count))
                  ((zerop count)
                   (return 0))
                  (t
                   (let ((code (sb-alien:get-errno)))
                     (unless (or (= code +interrupted-call+) (= code +try-again+))
                       (end-process 71)))))))))))

(implement send-octets (buffer end)
  (declare (type octets buffer) (type index end))
  (let ((start 0))
    (declare (type index start))
    (loop while (< start end)
          do (let ((count (sb-sys:with-pinned-objects (buffer)
                            ;; No signal, so that a user's SIGPIPE handler does not run.
                            (c-call "send" sb-alien:long
                                    sb-alien:int *channel*
                                    sb-sys:system-area-pointer
                                    (sb-sys:sap+ (sb-sys:vector-sap buffer) start)
                                    sb-alien:unsigned-long (- end start)
                                    sb-alien:int +do-not-signal+))))
               (if (minusp count)
                   (let ((code (sb-alien:get-errno)))
                     (cond ((= code +try-again+) (wait-for-channel +to-write+))
                           ((/= code +interrupted-call+) (end-process 72))))
                   (incf start count))))))

;;;; The bare loop that every figure is compared with: read, evaluate, print over two pipes, with no
;;;; more around it than it takes to go on after an error. A request is one form in ASCII and a NUL;
;;;; a reply is the value, or the type and the message of an error, and a NUL.

(defpackage #:bare (:use #:common-lisp))
(in-package #:bare)

(declaim (optimize (speed 1) (safety 1) (debug 0)))

(deftype octets () '(simple-array (unsigned-byte 8) (*)))

(sb-ext:defglobal *input* (make-array 262144 :element-type '(unsigned-byte 8)))
(sb-ext:defglobal *output* (make-array 1048576 :element-type '(unsigned-byte 8)))

(defun answer (text)
  (handler-case
      (handler-bind ((warning #'muffle-warning))
        (prin1-to-string (eval (read-from-string text))))
    (error (condition)
      (format nil "~a: ~a" (type-of condition) condition))))

(defun send (text)
  (declare (type simple-string text))
  (let ((output *output*)
        (end 0)
        (start 0))
    (declare (type octets output) (type fixnum end start))
    (flet ((encode (text)
             (loop for character across text
                   do (setf (aref output end) (logand 127 (char-code character)))
                      (incf end))))
      (declare (inline encode))
      (etypecase text
        (simple-base-string (encode text))
        ((simple-array character (*)) (encode text))))
    (setf (aref output end) 0)
    (incf end)
    (sb-sys:with-pinned-objects (output)
      (loop while (< start end)
            do (let ((count (sb-unix:unix-write 1 output start (- end start))))
                 (if count
                     (incf start count)
                     (sb-ext:exit :code 1 :abort t)))))))

(defun serve ()
  (let ((input *input*)
        (start 0)
        (end 0))
    (declare (type octets input) (type fixnum start end))
    (loop
      (let ((nul (position 0 input :start start :end end)))
        (cond (nul
               (let ((text (make-string (- nul start))))
                 (loop for from of-type fixnum from start below nul
                       for to of-type fixnum from 0
                       do (setf (schar text to) (code-char (aref input from))))
                 (setf start (1+ nul))
                 (send (answer text))))
              (t
               (replace input input :start2 start :end2 end)
               (decf end start)
               (setf start 0)
               (let ((count (sb-sys:with-pinned-objects (input)
                              (sb-unix:unix-read 0
                                                 (sb-sys:sap+ (sb-sys:vector-sap input) end)
                                                 (- (length input) end)))))
                 (when (or (null count) (zerop count))
                   (sb-ext:exit :code 0 :abort t))
                 (incf end count))))))))

(in-package #:common-lisp-user)
(bare::serve)

;;;; The agent's port to SBCL: when interrupts are taken.

(in-package #:cl-mcp-agent)

(defconstant +look-signal+ sb-unix:sigwinch
  "What the server sends with a look-up.")

(implement call-atomically (function)
  (sb-sys:without-interrupts
    (sb-sys:allow-with-interrupts
      (funcall function))))

(implement call-openly (function)
  (sb-sys:with-interrupts
    (funcall function)))

(implement call-undisturbed (function)
  (sb-sys:without-interrupts
    (funcall function)))

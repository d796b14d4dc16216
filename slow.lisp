(eval-when (:compile-toplevel) (sleep 1.5))
(defun from-slow () :compiled)
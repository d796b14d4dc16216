"""The memory layer that keeps copies of a session's process cheap: it is on, or off and everything works; and
what a session has made is intact however often its memory is collected between two calls."""

import os
import re

import mcp

IS_OFF = os.environ.get("CL_MCP_MEMORY_LAYER") == "off"

# More than may be left when the process is copied: what is young is collected first, unless that was done just before.
GARBAGE = "(progn (setf *garbage* (loop repeat 100 collect (make-string 2000))) nil)"
# To say that it was long ago writes to the image.
DUE = "(setf cl-mcp-agent::*next-collection* 0)"
STRUCTURES = """
(progn
  (defstruct node left right text number)
  (defun grow (seed depth)
    (if (zerop depth)
        (list seed (* seed 1.5d0) (format nil "leaf ~d" seed) (expt 7 (+ 60 seed)))
        (make-node :left (grow (* 2 seed) (1- depth)) :right (grow (1+ (* 2 seed)) (1- depth))
                   :text (make-string 100 :initial-element (code-char (+ 97 (mod seed 26)))) :number (vector seed depth :kept))))
  (defun table (seed)
    (let ((table (make-hash-table :test (if (evenp seed) 'equal 'eql))))
      (dotimes (i 300 table) (setf (gethash (+ seed i) table) (cons i (list seed))))))
  (defun chain (seed)
    (loop for i below 20000 collect (+ i seed)))
  (defun bytes (seed)
    (let ((bytes (make-array 90000 :element-type '(unsigned-byte 8)))) (fill bytes (mod seed 256))))
  (defvar *epoch* nil)
  (defvar *garbage* nil)
  (defvar *kept* '())
  (defvar *by-identity* (make-hash-table :test 'eq))
  (defun keep (seed)
    (let ((object (list seed (grow seed 6) (table seed) (chain seed) (bytes seed))))
      (setf (gethash object *by-identity*) seed)
      (push object *kept*)
      (when (> (length *kept*) 12)
        (remhash (elt *kept* 6) *by-identity*)
        (setf *kept* (remove (elt *kept* 6) *kept*)))
      seed))
  (defun broken ()
    (loop for (seed tree table chain bytes) in *kept*
          for object in *kept*
          unless (and (eql seed (gethash object *by-identity*)) (equalp tree (grow seed 6)) (equalp table (table seed))
                      (equal chain (chain seed)) (equalp bytes (bytes seed)))
            collect seed)))
"""


class Memory(mcp.TestCase):
    def test_objects_are_intact_after_many_collections(self):
        self.s.evaluate(STRUCTURES)
        pid = self.s.evaluate("(sb-posix:getpid)").value
        for seed in range(1, 21):
            # SBCL looks at its whole heap with each of these collections, which takes it long, and ends the process if anything is wrong.
            verified = 0 if seed % 5 == 0 else 100
            code = '(progn (setf (extern-alien "verify_gens" char) %d) (keep %d) %s %s (setf *epoch* sb-kernel::*gc-epoch*) %d)'
            self.assertEvaluates(code % (verified, seed, GARBAGE, DUE, seed), str(seed))
            # Between the two calls memory was collected, or not at all.
            self.assertEvaluates("(eq *epoch* sb-kernel::*gc-epoch*)", "T" if IS_OFF else "NIL")
            if seed % 10 == 0:
                self.assertEvaluates("(broken)", "NIL")
        self.assertEvaluates("(sb-posix:getpid)", pid)

    def layer(self, client):
        return re.search("^Memory layer: (.*)$", client.call("session-info").text, re.MULTILINE).group(1)

    def skip_if_off(self):
        if IS_OFF:
            self.skipTest("CL_MCP_MEMORY_LAYER=off")

    def test_all_parts_of_the_layer_are_on(self):
        self.skip_if_off()
        self.s.evaluate("1")
        self.assertEqual(self.layer(self.s), "huge pages, collection between calls, one page")

    def test_everything_works_with_the_layer_off(self):
        client = self.start_server(environment=mcp.clean_environment(CL_MCP_MEMORY_LAYER="off"))
        self.assertEqual(self.layer(client), 'The memory layer is off: CL_MCP_MEMORY_LAYER is "off".')
        self.assertIn("The memory layer is off", client.stderr())
        for code in ("(defvar *list* (list 1 2))", "(progn (gc :full t) (push 3 *list*))"):
            self.assertFalse(client.evaluate(code).is_error)
        self.assertTrue(client.evaluate("(car 42)").is_error)
        self.assertFalse(client.call("rollback-session", to="-1").is_error)
        client.evaluate("(sb-posix:kill (sb-posix:getpid) sb-posix:sigkill)")
        self.assertEqual(client.evaluate("*list*").value, "(3 1 2)")

    def test_a_part_whose_check_fails_is_off_and_so_are_those_after_it(self):
        self.skip_if_off()
        for broken, layer in (
            ('check-one-page (variables) variables (error "Nothing is ~a." :here)',
             'huge pages, collection between calls, The memory layer is off from its part "one page" on: '
             "the self-check failed: Nothing is HERE."),
            ("check-collection (variables) variables (setf (sb-sys:sap-ref-8 (sb-sys:int-sap 8) 0) 1)",
             'huge pages, The memory layer is off from its part "collection between calls" on: '
             "the self-check failed: Unhandled memory fault at #x8."),
            ("start-huge-pages (variables) variables (sb-posix:kill (sb-posix:getpid) sb-posix:sigkill)",
             'The memory layer is off from its part "huge pages" on: the self-check ended with signal 9.'),
        ):
            with self.subTest(broken=broken):
                path = os.path.join(self.folder(), "broken.lisp")
                with open(path, "w", encoding="utf-8") as f:
                    f.write("(handler-bind ((warning #'muffle-warning)) (eval '(defun cl-mcp-agent::%s)))" % broken)
                client = self.start_server("--load", path)
                self.assertEqual(client.evaluate("(+ 1 2)").value, "3")
                self.assertEqual(self.layer(client), layer)
                self.assertIn("The memory layer is off from its part", client.stderr())
                client.close()


if __name__ == "__main__":
    mcp.main()

"""edit-form and patch-form: everything outside of the form stays byte for byte, and what is refused changes nothing."""

import os

import mcp

TEXT = (
    "\ufeff;;; shop\r\n(in-package :shop)\r\n\r\n;; the price\r\n#+sbcl\r\n(defun price (x) ; é\r\n  \"(\"\r\n  x)\r\n\r\n\r\n"
    "(progn\r\n  (defvar *a* 1) (defvar *b* 2))\r\n(defun last-one () #\\() ; no newline"
)


class EditForms(mcp.TestCase):
    options = ("--tools=full",)

    def setUp(self):
        super().setUp()
        self.root = os.path.realpath(self.folder())
        self.lisp = self.start_server(*self.options, "--directory", self.root)
        self.put(TEXT)

    def put(self, text, name="a.lisp"):
        mcp.write(os.path.join(self.root, name), text)

    def read(self, name="a.lisp"):
        return mcp.read_bytes(os.path.join(self.root, name))

    def edit(self, kind, name, operation, content, path="a.lisp", **more):
        return self.lisp.call("edit-form", path=path, kind=kind, name=name, operation=operation, content=content, **more)

    def patch(self, kind, name, old, new, path="a.lisp"):
        return self.lisp.call("patch-form", path=path, kind=kind, name=name, **{"old-text": old, "new-text": new})

    def assertChanged(self, reply, text):
        self.assertFalse(reply.is_error, reply.text)
        self.assertEqual(text if isinstance(text, bytes) else text.encode(), self.read())

    def assertRefused(self, reply, word, text=TEXT):
        self.assertTrue(reply.is_error, reply.text)
        self.assertIn(word, reply.text)
        self.assertEqual(text if isinstance(text, bytes) else text.encode(), self.read())
        self.assertEqual(["a.lisp"], [name for name in os.listdir(self.root) if "a.lisp" in name or "cl-mcp" in name])

    def test_a_form_is_replaced_with_the_line_ends_of_the_file(self):
        reply = self.edit("defun", "price", "replace", "\n(defun price (x)\n  (* 2 x))\n\n")
        old = '(defun price (x) ; é\r\n  "("\r\n  x)'
        self.assertChanged(reply, TEXT.replace(old, "(defun price (x)\r\n  (* 2 x))"))
        self.assertIn("+  (* 2 x))\n", reply.text)

    def test_insertions_stay_clear_of_comments_and_conditionals(self):
        before = self.edit("defun", "price", "insert-before", "(defvar *c* 3)")
        first = TEXT.replace(";; the price", "(defvar *c* 3)\r\n\r\n;; the price")
        self.assertChanged(before, first)
        after = self.edit("defun", "last-one", "insert-after", "(defvar *d* 4)\n(defvar *e* 5)")
        self.assertChanged(after, first + "\r\n\r\n(defvar *d* 4)\r\n(defvar *e* 5)")

    def test_a_form_in_a_progn_and_beside_another_is_changed(self):
        self.assertChanged(self.edit("defvar", "*a*", "replace", "(defvar *a* 10)"), TEXT.replace("*a* 1", "*a* 10"))

    def test_a_patch_changes_just_the_text(self):
        self.assertChanged(self.patch("defun", "price", '"("\n  x', '")"\n  (list x)'), TEXT.replace('"("\r\n  x', '")"\r\n  (list x)'))

    def test_a_fence_of_markdown_around_the_content_is_named(self):
        fenced = "```lisp\n(defvar *a* 10)\n```\n"
        for reply in (self.edit("defvar", "*a*", "replace", fenced), self.lisp.call("validate-syntax", code=fenced)):
            self.assertTrue(reply.text.endswith("\nThe code stands between ``` lines of Markdown. Send it without them."), reply.text)
        self.assertNotIn("Markdown", self.lisp.call("validate-syntax", code='"```" `').text)

    def test_one_of_several_forms_is_named_by_a_line_in_it_and_deleted(self):
        variants = "(f)\n\n#+sbcl\n(defun two (x)\n  (* x 2))\n\n;; elsewhere\n#-sbcl\n(defun two (x)\n  (* x 3)) ; three\n\n(g)\n"
        self.put(variants)
        for operation in ("replace", "delete"):
            self.assertRefused(self.edit("defun", "two", operation, "(two)"), "Pass the line of one of them", variants)
        self.assertRefused(self.edit("defun", "two", "delete", "", line=12), "line 9: (defun two)", variants)
        first = self.lisp.call("edit-form", path="a.lisp", kind="defun", name="two", line=3, content="(defun two ())")
        self.assertChanged(first, variants.replace("(defun two (x)\n  (* x 2))", "(defun two ())"))
        self.put(variants)
        second = self.lisp.call("edit-form", path="a.lisp", kind="defun", name="two", line=10, operation="delete")
        self.assertChanged(second, "(f)\n\n#+sbcl\n(defun two (x)\n  (* x 2))\n\n(g)\n")
        self.assertChanged(self.edit("defun", "two", "delete", ""), "(f)\n\n(g)\n")
        self.put("(a) (b x) (c)")
        self.assertChanged(self.edit("b", "x", "delete", ""), "(a)  (c)")

    def test_the_diff_shows_the_lines_that_differ(self):
        body = "".join("  (print %d)\n" % n for n in range(2000))
        self.put("(defun f (x)\n%s  x)\n" % body)
        changed = body.replace("(print 7)", "(print 70)").replace("(print 1000)\n", "(print 1000)\n  (new)\n").replace("  (print 1999)\n", "")
        text, _ = self.edit("defun", "f", "replace", "(defun f (x)\n%s  x)" % changed)
        self.assertIn("""in a.lisp
@@ -8,3 +8,3 @@
   (print 6)
-  (print 7)
+  (print 70)
   (print 8)
@@ -1002,2 +1002,3 @@
   (print 1000)
+  (new)
   (print 1001)
@@ -2000,3 +2001,2 @@
   (print 1998)
-  (print 1999)
   x)
The running""", text)
        text, _ = self.edit("defun", "f", "replace", "(defun f (x)\n%s  x)" % body.replace("print", "princ"))
        self.assertLess(len(text), 7000)
        self.assertRegex(text, r"\[… [0-9]+ more lines\]\nThe running")

    def test_an_error_of_loading_shows_where_the_parentheses_are_unbalanced(self):
        self.put('(defsystem "bad" :components ((:file "bad")))', "bad.asd")
        self.put("(defun one (x)\n  (let ((y 1))\n    (+ x y))\n\n(defun two (x)\n  x)\n", "bad.lisp")
        for tool, arguments in (("load-file", {"path": "bad.lisp"}), ("load-file", {"path": "bad.lisp", "compile": True}), ("load-system", {"system": "bad"})):
            report = self.lisp.call(tool, **arguments)
            self.assertIn("By the indentation, `)` is probably missing after line 3, column 12:\n", report.parts["Syntax"])
            self.assertIn("bad.lisp:\n", report.parts["Syntax"])
        self.put("(defun one (x) (nowhere:car x))", "bad.lisp")
        for tool, arguments in (("load-file", {"path": "bad.lisp"}), ("load-system", {"system": "bad"})):
            self.assertNotIn("Syntax", self.lisp.call(tool, **arguments).parts)

    def test_bytes_that_are_not_utf8_stay(self):
        text = b'(defun a () "\xff\xfe\x00")\n(defun b () 1)\n(defun c () "\xe9")'
        self.put(text)
        reply = self.patch("defun", "b", "1", "2")
        self.assertChanged(reply, text.replace(b"1", b"2"))

    def test_nothing_but_ascii_is_put_into_a_file_that_is_not_utf8(self):
        text = b'(defun a () "\xe9")\n(defun b () 1)\n'
        self.put(text)
        self.assertRefused(self.patch("defun", "b", "1", '"é"'), "not UTF-8", text)
        self.assertRefused(self.edit("defun", "b", "insert-after", '(defun c () "é")'), "not UTF-8", text)
        self.assertChanged(self.edit("defun", "a", "replace", "(defun a () 1)"), b"(defun a () 1)\n(defun b () 1)\n")

    def test_a_form_behind_a_conditional_is_replaced_by_one_form_only(self):
        two = "(defun price (x)\n  x)\n(defun tax (x)\n  x)"
        self.assertRefused(self.edit("defun", "price", "replace", two), "(progn")
        self.assertFalse(self.edit("defvar", "*a*", "replace", "(defvar *a* 1) (defvar *c* 1)").is_error)
        self.assertFalse(self.edit("defun", "price", "insert-after", "(defvar *d* 1) (defvar *e* 1)").is_error)
        self.assertFalse(self.edit("defun", "price", "replace", "(progn %s)" % two).is_error)

    def test_letter_case_counts_in_characters(self):
        text = "(defmethod f ((c (eql #\\a))) 1)\n(defmethod f ((c (eql #\\A))) 2)\n"
        self.put(text)
        self.assertChanged(self.edit("defmethod", "f ((c (eql #\\A)))", "replace", "(list 3)"), text.replace("(defmethod f ((c (eql #\\A))) 2)", "(list 3)"))

    def test_the_mode_of_the_file_stays(self):
        os.chmod(os.path.join(self.root, "a.lisp"), 0o640)
        self.assertFalse(self.patch("defvar", "*b*", "2", "3").is_error)
        self.assertEqual(0o640, os.stat(os.path.join(self.root, "a.lisp")).st_mode & 0o7777)

    def test_a_change_that_would_take_in_its_neighbours_is_refused(self):
        self.assertRefused(self.edit("defvar", "*a*", "replace", "(defvar *a* 1) ; comment"), "unbalanced")
        self.assertRefused(self.edit("defvar", "*b*", "replace", "(defvar *b* 1) #|"), "content")
        self.assertRefused(self.patch("defvar", "*a*", "1", "1) (defvar *c* 2"), "2 forms")
        self.assertRefused(self.patch("defvar", "*a*", "1)", "1 ;)"), "parentheses")
        self.assertRefused(self.edit("defun", "price", "replace", "; nothing"), "no form")
        self.assertRefused(self.edit("defun", "price", "replace", ""), "no form")
        self.assertRefused(self.patch("defun", "price", "", "x"), "empty")

    def test_code_without_indentation_is_edited_and_a_swallowed_form_is_not_called_unbalanced(self):
        text = "(defparameter *table*\n'((1 2)\n(3 4)))\n(defvar *a* 1)\n"
        self.put(text)
        self.assertChanged(self.edit("defvar", "*a*", "replace", "(defvar *a* 2)"), text.replace("*a* 1", "*a* 2"))
        text = "(defun a ()\n  (b)\n\n(defun c ()\n  d))\n"
        self.put(text)
        reply = self.edit("defun", "a", "replace", "(defun a ())")
        self.assertRefused(reply, "The parentheses balance", text)
        self.assertNotIn("unbalanced", reply.text)
        self.put("(defvar *a* 1)\n")
        reply = self.edit("defvar", "*a*", "replace", text)
        self.assertRefused(reply, "The parentheses balance", "(defvar *a* 1)\n")
        self.assertNotIn("unbalanced", reply.text)

    def test_a_comment_that_takes_in_a_form_beside_it_is_refused(self):
        text = "(defvar *a* 1) (defvar *b* 2)\n"
        self.put(text)
        self.assertRefused(self.edit("defvar", "*a*", "replace", "(defvar *a* 1) ; why"), "swallow", text)

    def test_nothing_outside_of_the_working_directory_is_touched(self):
        outside = os.path.join(os.path.realpath(self.folder()), "b.lisp")
        mcp.write(outside, "(defun b () 1)")
        os.symlink(outside, os.path.join(self.root, "link.lisp"))
        os.symlink(os.path.dirname(outside), os.path.join(self.root, "link"))
        for path in (outside, "link.lisp", "link/b.lisp", "../%s/b.lisp" % os.path.basename(os.path.dirname(outside)), "none.lisp", "", "a.lisp\0"):
            with self.subTest(path):
                self.assertRefused(self.patch("defun", "b", "1", "2", path=path), "")
        self.assertEqual("(defun b () 1)", mcp.read(outside))
        self.assertFalse(self.patch("defvar", "*b*", "2", "3", path=os.path.join(self.root, "a.lisp")).is_error)

    def test_a_read_only_sandbox_edits_nothing(self):
        try:
            server = self.start_server("--tools=full", "--directory", self.root, "--sandbox", "read-only")
        except mcp.Gone as gone:
            self.skipTest("this kernel has no sandbox: %s" % gone)
        self.lisp = server
        self.assertRefused(self.patch("defvar", "*b*", "2", "3"), "read-only")

"""check-parens: what it reports about a file, and its exit status. No Lisp is started."""

import os

import mcp


class CheckParens(mcp.TestCase):
    def write(self, text, name="a.lisp"):
        return self.file(text, name)

    def check(self, *arguments):
        # No Lisp is to be found: none is needed.
        return mcp.run("check-parens", *arguments, text=False, env={"PATH": "/nonexistent"})

    def test_a_good_file_is_not_mentioned(self):
        done = self.check(self.write("(defun a () #\\( \"(\" #| ( |# |(|) ; )\n"), self.write(""), self.write("(a)\r\n"))
        self.assertEqual((0, b"", b""), (done.returncode, done.stdout, done.stderr))

    def test_a_fault_is_reported_with_its_place_the_open_form_and_the_likely_repair_and_nothing_is_written(self):
        text = "(defun a ()\n  (b)\n\n(defun c ()\n  d)\n"
        path = self.write(text)
        done = self.check(path)
        self.assertEqual(1, done.returncode)
        out = done.stdout.decode()
        self.assertTrue(out.startswith(path + ":2:6: "), out)
        self.assertIn("(defun a …), from line 1", out)
        self.assertIn("line 2: add 1 `)`", out)
        self.assertEqual(text, self.read(path))

    def test_every_file_named_is_checked(self):
        good, bad = self.write("(a)"), self.write("(a))")
        done = self.check(bad, good, "/nonexistent.lisp", bad)
        self.assertEqual(1, done.returncode)
        self.assertEqual(2, done.stdout.decode().count(bad + ":1:"))
        self.assertIn(b"/nonexistent.lisp", done.stderr)

    def test_bytes_that_are_not_text_do_no_harm(self):
        done = self.check(self.write(b"(a \xff\xfe\x00 \x1b[2J\n"))
        self.assertEqual(1, done.returncode)
        self.assertNotIn(b"\x1b", done.stdout)
        done.stdout.decode()

    def test_anything_but_a_regular_file_is_refused_at_once(self):
        path = os.path.join(self.folder(), "pipe.lisp")
        os.mkfifo(path)
        done = self.check(path, "/dev/zero")
        self.assertEqual(1, done.returncode)
        self.assertEqual(2, done.stderr.count(b"is not a regular file"))

    def test_without_a_file_the_usage_is_shown(self):
        done = self.check()
        self.assertEqual(2, done.returncode)
        self.assertIn(b"check-parens", done.stderr)

    def test_two_faults_that_cancel_out_are_found(self):
        path = self.write("(defun a ()\n  (b)\n\n(defun c ()\n  d))\n")
        done = self.check(path)
        self.assertEqual(1, done.returncode)
        self.assertIn("line 2: add 1 `)`", done.stdout.decode())
        self.assertIn("line 5: remove 1 `)`", done.stdout.decode())

    def read(self, path):
        return mcp.read_bytes(path).decode("latin-1")

    def test_fix_makes_a_certain_repair_and_keeps_everything_else(self):
        text = b"\xef\xbb\xbf(defun a ()\r\n  (b) ; \xff\x00 (\r\n\t\r\n(defun c ()\r\n  d)"
        path = self.write(text)
        os.chmod(path, 0o751)
        done = self.check("--fix", path)
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        self.assertIn("%s:2:6: added 1 `)`" % path, done.stdout.decode())
        self.assertEqual(text.replace(b"(b)", b"(b))").decode("latin-1"), self.read(path))
        self.assertEqual(0o751, os.stat(path).st_mode & 0o7777)
        self.assertEqual(["a.lisp"], os.listdir(os.path.dirname(path)))
        again = self.check("--fix", path)
        self.assertEqual((0, b""), (again.returncode, again.stdout))

    def test_fix_makes_no_uncertain_repair(self):
        for text in (
            "(defun a ()\n  (foo (bar x y)\n\n(defun c ())\n",
            '(defun a ()\n  "b)\n\n(defun c ()\n  d)\n',
            "(defun a ()\n  #| b)\n\n(defun c ()\n  d)\n",
        ):
            with self.subTest(text):
                path = self.write(text)
                done = self.check("--fix", path)
                self.assertEqual(1, done.returncode)
                self.assertIn(b"was not changed", done.stderr)
                self.assertEqual(text, self.read(path))

    def test_valid_code_without_indentation_is_not_changed(self):
        for text in ("(defun a ()\n(print 1))\n", "(defpackage :foo\n(:use :cl)\n(:export #:a))\n", "(define-suite s\n(deftest a (is 1))\n(deftest b (is 2)))\n"):
            with self.subTest(text):
                path = self.write(text)
                done = self.check("--fix", path)
                self.assertEqual((0, b"", b""), (done.returncode, done.stdout, done.stderr))
                self.assertEqual(text, self.read(path))

    def test_fix_does_not_replace_a_link(self):
        text = "(defun a ()\n  (b)\n\n(defun c ())\n"
        path = self.write(text)
        link = os.path.join(self.folder(), "link.lisp")
        os.symlink(path, link)
        done = self.check("--fix", link)
        self.assertEqual(1, done.returncode)
        self.assertIn(b"symbolic link", done.stderr)
        self.assertEqual(text, self.read(path))
        self.assertTrue(os.path.islink(link))

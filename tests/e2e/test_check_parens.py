"""check-parens: what it reports of a file, and its exit status. No Lisp is started."""

import os
import subprocess

import mcp


class CheckParens(mcp.TestCase):
    def write(self, text, name="a.lisp"):
        path = os.path.join(self.folder(), name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def check(self, *arguments):
        return subprocess.run(
            [mcp.SERVER, "check-parens", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20 * mcp.STRETCH,
            # No Lisp is to be found: none is needed.
            env={"PATH": "/nonexistent"},
        )

    def test_a_good_file_is_passed_over_in_silence(self):
        done = self.check(self.write("(defun a () #\\( \"(\" #| ( |# |(|) ; )\n"), self.write(""), self.write("(a)\r\n"))
        self.assertEqual((0, b"", b""), (done.returncode, done.stdout, done.stderr))

    def test_a_fault_is_reported_with_its_place_and_the_open_form(self):
        path = self.write("(defun a ()\n  (b)\n\n(defun c ()\n  d)\n")
        done = self.check(path)
        self.assertEqual(1, done.returncode)
        out = done.stdout.decode()
        self.assertTrue(out.startswith(path + ":2:5: "), out)
        self.assertIn("(defun a …), from line 1", out)

    def test_every_file_named_is_checked(self):
        good, bad = self.write("(a)"), self.write("(a))")
        done = self.check(bad, good, "/nonexistent.lisp", bad)
        self.assertEqual(1, done.returncode)
        self.assertEqual(2, done.stdout.decode().count(bad + ":1:"))
        self.assertIn(b"/nonexistent.lisp", done.stderr)

    def test_bytes_that_are_no_text_do_no_harm(self):
        done = self.check(self.write(b"(a \xff\xfe\x00 \x1b[2J\n"))
        self.assertEqual(1, done.returncode)
        self.assertNotIn(b"\x1b", done.stdout)
        done.stdout.decode()

    def test_what_is_no_regular_file_is_refused_at_once(self):
        path = os.path.join(self.folder(), "pipe.lisp")
        os.mkfifo(path)
        done = self.check(path, "/dev/zero")
        self.assertEqual(1, done.returncode)
        self.assertEqual(2, done.stderr.count(b"is not a regular file"))

    def test_without_a_file_the_usage_is_shown(self):
        done = self.check()
        self.assertEqual(2, done.returncode)
        self.assertIn(b"check-parens", done.stderr)


if __name__ == "__main__":
    mcp.main()

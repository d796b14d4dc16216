"""The bytes of the commonest replies are those of the table in docs/reply-sizes.md: a reply that grows must be wanted.

usage: test_reply_sizes.py --write     puts what the replies have now into the table
"""

import os
import re

import mcp
import reply_table

HEAD = "| reply | bytes |"
PROJECT = "/home/ada/shop"  # counts instead of the test's directory

FILES = {
    "shop.asd": '(asdf:defsystem "shop" :components ((:file "shop")))\n'
    '(asdf:defsystem "shop/tests" :depends-on ("shop" "fiveam") :components ((:file "tests")))\n'
    '(asdf:defsystem "shop/failing" :depends-on ("shop/tests") :components ((:file "failing")))\n',
    "broken.asd": '(asdf:defsystem "broken" :components ((:file "broken")))\n',
    "shop.lisp": "(defpackage shop (:use cl) (:export total price))\n(in-package shop)\n\n"
    "(defun price (item)\n  (getf item :price))\n\n"
    '(defun total (items)\n  "The sum of the prices."\n  (reduce #\'+ items :key #\'price))\n',
    "tests.lisp": "(defpackage shop-tests (:use cl fiveam shop))\n(in-package shop-tests)\n(def-suite :shop)\n(in-suite :shop)\n"
    "(test nothing (is (= 0 (total '()))))\n(test one (is (= 5 (total '((:price 5))))))\n",
    "failing.lisp": "(in-package shop-tests)\n(test two (is (= 7 (total '((:price 5) (:price 3))))))\n",
    "broken.lisp": "(defpackage broken (:use cl))\n(in-package broken)\n\n(defun first-half (list)\n  (subseq list 0 (floor (length list) 2)))\n\n"
    "(defun broken (list\n  (first-half list))\n",
}
DEEP = "(defun a (x) (1+ (b x))) (defun b (x) (1+ (c x))) (defun c (x) (/ 10 x))"

# The name in the table; the calls, of which the last one is measured.
REPLIES = [
    ("a value: `(+ 1 2)`", [("evaluate-lisp", {"code": "(+ 1 2)"})]),
    ("a function defined", [("evaluate-lisp", {"code": "(defun f (x) (* 2 x))"})]),
    ("a line printed, and a list", [("evaluate-lisp", {"code": '(format t "10 items~%") (list 1 2 3)'})]),
    ("a function with an unused variable", [("evaluate-lisp", {"code": "(defun f (x y) (* 2 x))"})]),
    ("a variable that does not exist", [("evaluate-lisp", {"code": "(+ 1 undefined-thing)"})]),
    ("a function that does not exist", [("evaluate-lisp", {"code": "(frobnicate 1)"})]),
    ("an error three functions deep", [("evaluate-lisp", {"code": DEEP}), ("evaluate-lisp", {"code": "(a 0)"})]),
    ("a parenthesis missing", [("evaluate-lisp", {"code": "(defun f (x)\n  (list x)"})]),
    ("a time limit", [("evaluate-lisp", {"code": "(loop)", "timeout": 1})]),
    ("the end of the process", [("evaluate-lisp", {"code": "(sb-ext:exit :abort t)"})]),
    (
        "`get-backtrace` with locals",
        [("evaluate-lisp", {"code": DEEP}), ("evaluate-lisp", {"code": "(a 0)"}), ("get-backtrace", {"locals": True})],
    ),
    (
        "`evaluate-in-frame`",
        [("evaluate-lisp", {"code": DEEP}), ("evaluate-lisp", {"code": "(a 0)"}), ("evaluate-in-frame", {"frame": 0, "code": "x"})],
    ),
    (
        "`invoke-restart` with a value",
        [("evaluate-lisp", {"code": "(+ 1 undefined-thing)"}), ("invoke-restart", {"restart": "USE-VALUE", "value": "2"})],
    ),
    ("`load-system` of a loaded system", [("load-system", {"system": "shop"})] * 2),
    ("`load-system` of a file with an error", [("load-system", {"system": "broken"})]),
    ("`run-tests`, all pass", [("run-tests", {"system": "shop/tests"})]),
    ("`run-tests`, one fails", [("run-tests", {"system": "shop/failing"})]),
    ("`describe-symbol` of a function", [("load-system", {"system": "shop"}), ("describe-symbol", {"name": "shop:total"})]),
    ("`find-definition` of a function", [("load-system", {"system": "shop"}), ("find-definition", {"name": "shop:total"})]),
    ("`apropos-search`, two symbols", [("apropos-search", {"pattern": "with-open", "package": "cl"})]),
]


class ReplySizes(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.project = self.folder()
        for name, text in FILES.items():
            mcp.write(os.path.join(self.project, name), text)
        self.server = self.start_server("--directory", self.project)
        self.server.call("load-system", system="shop/failing", wait=120)  # so that FiveAM is compiled

    def text_of(self, calls):
        """The last reply, in a session of its own."""
        self.server.call("create-session", name="sizes")
        try:
            for tool, arguments in calls:
                reply = self.server.call(tool, dict(arguments, session="sizes"), wait=60)
        finally:
            self.server.call("close-session", session="sizes")
        return re.sub(r"\{[0-9A-F]{6,16}\}", "{1001234567}", reply.text.replace(self.project, PROJECT))

    def test_replies_have_the_bytes_of_the_table(self):
        table = {name: size for name, (size,) in reply_table.rows(HEAD).items()}
        most, least = (1.03, 0.9) if reply_table.is_measured_release(self.server) else (1.25, 0)
        self.assertEqual([name for name, _ in REPLIES], list(table), "the rows of the page")
        for name, calls in REPLIES:
            with self.subTest(name):
                text = self.text_of(calls)
                size = len(text.encode())
                # Ten bytes more or less: times are in some.
                self.assertLessEqual(size, table[name] * most + 10, text)
                self.assertGreaterEqual(size, table[name] * least - 10, "the table says more:\n" + text)

    def write(self):
        rows = []
        for name, calls in REPLIES:
            text = self.text_of(calls)
            print("== %s\n%s\n" % (name, text))
            rows.append((name, len(text.encode())))
        reply_table.write(HEAD, rows)


if __name__ == "__main__":
    reply_table.main(ReplySizes)

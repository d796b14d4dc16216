"""Three bugs in copies of real libraries, each found and mended by a fixed sequence of calls: every reply must have what
leads to the next call. docs/reply-sizes.md says how many calls and bytes each takes.

usage: test_planted_bugs.py --write     prints the replies, and puts the counts into the page
"""

import os
import shutil

import mcp
import reply_table

HEAD = "| bug | calls | bytes of all replies |"
LIBRARIES = "/usr/share/common-lisp/source"


class Bug:
    """`right` in `path` becomes `wrong`. `finding` and `checking` are calls: tool, arguments, what the reply must match."""

    def __init__(self, name, library, path, right, wrong, finding, checking):
        self.name, self.library, self.path = name, library, path
        self.right, self.wrong = right, wrong
        self.finding, self.checking = finding, checking


SPLIT = "(split-sequence:split-sequence 0 '(1 0 2 0 3) :end 4)"
SCAN = '(cl-ppcre:scan "ab" "xxab")'
WHEN_LET = "(alexandria:when-let ((a 1) (b (car '()))) (+ a b))"

BUGS = [
    Bug(
        "a wrong boundary in split-sequence",
        "cl-split-sequence",
        "list.lisp",
        "(end (when end (- end start)))\n        (list (nthcdr start list))",
        "(end (when end (- end start 1)))\n        (list (nthcdr start list))",
        [
            ("load-system", {"system": "split-sequence"}, r"=> T"),
            ("evaluate-lisp", {"code": SPLIT}, r"=> \(\(1\) \(2\)\)\n"),
            ("find-definition", {"name": "split-sequence:split-sequence"}, r"(?i)\(split-list "),
            ("find-definition", {"name": "split-sequence::split-list"}, r"(?i)\(split-list-from-start "),
            ("find-definition", {"name": "split-sequence::split-list-from-start"}, r"(?i)\(split-list-internal "),
            ("find-definition", {"name": "split-sequence::split-list-internal"}, r"/list\.lisp:\d+\n(.|\n)*\(- end start 1\)"),
        ],
        [
            # Its functions are inlined into other files, and the library does not say that these depend on this one.
            ("load-system", {"system": "split-sequence", "force": True}, r"=> T"),
            ("evaluate-lisp", {"code": SPLIT}, r"=> \(\(1\) \(2\) NIL\)\n"),
        ],
    ),
    Bug(
        "a wrong qualifier in cl-ppcre",
        "cl-ppcre",
        "regex-class.lisp",
        "(defmethod initialize-instance :after ((str str)",
        "(defmethod initialize-instance :before ((str str)",
        [
            ("load-system", {"system": "cl-ppcre"}, r"\[ERROR\] UNBOUND-SLOT(.|\n)*\n0: \(\(METHOD INITIALIZE-INSTANCE :BEFORE \(STR\)\) .*/regex-class\.lisp:258\n"),
            ("find-methods", {"class": "cl-ppcre::str"}, r"(?i):before(.|\n)*regex-class\.lisp"),
        ],
        [
            # The method that is no longer in the file would stay in this session.
            ("reset-session", {}, r"."),
            ("load-system", {"system": "cl-ppcre"}, r"=> T"),
            ("evaluate-lisp", {"code": SCAN}, r"=> 2\n=> 4\n"),
        ],
    ),
    Bug(
        "a wrong expansion in alexandria",
        "alexandria",
        "alexandria-1/binding.lisp",
        "`(let ,binding-list\n       (when (and ,@variables)",
        "`(let ,binding-list\n       (when (or ,@variables)",
        [
            ("load-system", {"system": "alexandria"}, r"=> T"),
            ("evaluate-lisp", {"code": WHEN_LET}, r"\[ERROR\] (SIMPLE-)?TYPE-ERROR\n.*NIL.* NUMBER"),
            ("macroexpand-form", {"form": WHEN_LET}, r"(?i)\(when \(or a b\)"),
            ("find-definition", {"name": "alexandria:when-let"}, r"/binding\.lisp:\d+\n(.|\n)*\(when \(or ,@variables\)"),
        ],
        [
            ("load-system", {"system": "alexandria"}, r"=> T"),
            ("evaluate-lisp", {"code": WHEN_LET}, r"=> NIL"),
        ],
    ),
]


def replace(path, old, new):
    text = mcp.read(path)
    assert text.count(old) == 1, "%s: %r is there %d times" % (path, old, text.count(old))
    mcp.write(path, text.replace(old, new))


class PlantedBugs(mcp.TestCase):
    def hunt(self, bug):
        """The replies, after the bug was planted, found and mended."""
        folder = self.folder()
        shutil.copytree(os.path.join(LIBRARIES, bug.library), os.path.join(folder, bug.library))
        path = os.path.join(folder, bug.library, bug.path)
        replace(path, bug.right, bug.wrong)
        self.server = self.start_server("--directory", folder)
        replies = []

        def make(calls):
            for tool, arguments, expected in calls:
                reply = self.server.call(tool, arguments, wait=120)
                text = reply.text.replace(folder, "/home/ada")
                self.assertRegex(text + "\n", expected, "%s %s" % (tool, arguments))
                replies.append((tool, text))

        make(bug.finding)
        replace(path, bug.wrong, bug.right)
        make(bug.checking)
        return replies

    def test_each_is_found_and_mended(self):
        table = reply_table.rows(HEAD)
        self.assertEqual([bug.name for bug in BUGS], list(table), "the rows of the page")
        for bug in BUGS:
            with self.subTest(bug.name):
                replies = self.hunt(bug)
                size = sum(len(text.encode()) for _, text in replies)
                calls, most = table[bug.name]
                self.assertEqual(calls, len(replies))
                self.assertLessEqual(size, most * (1.05 if reply_table.is_measured_release(self.server) else 1.5), replies)

    def write(self):
        rows = []
        for bug in BUGS:
            replies = self.hunt(bug)
            for tool, text in replies:
                print("== %s\n%s\n" % (tool, text))
            rows.append((bug.name, len(replies), sum(len(text.encode()) for _, text in replies)))
        reply_table.write(HEAD, rows)


if __name__ == "__main__":
    reply_table.main(PlantedBugs)

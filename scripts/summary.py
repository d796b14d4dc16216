"""Read what parts of a check recorded and report what passed and what failed: a line a suite, the names of what failed,
and the total.

usage: summary.py RECORD...
       summary.py --failed LOG     print the names of the tests in a log that failed, for Meson

A record is a text file of lines with tabs between their fields:
  log      LABEL PATH     a log of Meson's tests, testlog.json; beside it may be testlog-again.json, of the files with
                          failures, run once more: these results count instead
  tap      LABEL PATH     what tests printed, as TAP
  tests    LABEL NUMBER   how many tests the next log must have: a run that somebody ended has fewer
  failed   LABEL STEP     a step that is not a test and failed
  without  LABEL REASON   something that was left out as the caller wished
  end                     the part ran to its end; a record without this line counts as one failure

A test that speaks TAP counts as many as it has results; one that ended badly without a failed result (a crash, a time
limit, a wrong plan) counts as one failure more. The exit status is 1 if anything failed or nothing ran.
"""

import argparse
import collections
import json
import os
import re
import sys

RESULT = re.compile(r"^(not )?ok\b\s*\d*\s*(?:-\s*)?([^#]*)(#\s*(?:SKIP|TODO)\b.*)?$", re.IGNORECASE)
SHOWN_FAILURES, LINES_OF_A_FAILURE, LONGEST_LINE = 30, 40, 400  # what is shown of a test that failed
GOOD = {"OK", "EXPECTEDFAIL"}


def suite_and_name(full_name):
    """The first suite and the name of a test, from what Meson calls it.

    "project:suite / name" before Meson 1.10, "suite - project:name" since; a test of two suites has "suite+suite".
    """
    suites, separator, name = full_name.rpartition(" / ")
    if separator:
        suites = suites.rpartition(":")[2]
    else:
        suites, _, name = full_name.rpartition(" - ")
        name = name.rpartition(":")[2]
    return suites.split("+")[0] or "unnamed", name


def results_of(test):
    """The (name, "passed" | "failed" | "skipped", note) of one line of a log; the note of a failure is what it printed."""
    found = []
    for line in (test.get("stdout") or "").splitlines():
        match = RESULT.match(line)
        if match:
            note = (match.group(3) or "").lstrip("# ")
            state = "skipped" if note.upper().startswith("SKIP") else "failed" if match.group(1) else "passed"
            found.append((match.group(2).strip(), state, note))
        elif found and found[-1][1] == "failed" and line.startswith("#"):
            name, state, note = found[-1]
            found[-1] = (name, state, note + "\n" + line[:LONGEST_LINE])
    outcome = test["result"]
    if outcome == "SKIP":
        return found or [("the whole file", "skipped", "")]
    if outcome in GOOD:
        return found or [("the whole file", "passed", "")]
    if not any(state == "failed" for _, state, _ in found):
        found.append(("the file as a whole ended with %s" % outcome, "failed", ""))
    return found


def tests_of(path):
    with open(path, encoding="utf-8", errors="replace") as lines:
        return [json.loads(line) for line in lines]


def has_failed(test):
    return any(state == "failed" for _, state, _ in results_of(test))


class Total:
    def __init__(self):
        self.suites = collections.OrderedDict()
        self.failed, self.skipped, self.without, self.again = [], [], [], []
        self.details = []  # (name, lines) of tests that failed

    def add_log(self, label, path):
        """Count what a log of Meson's lists; return how many tests that are."""
        second = path[: -len(".json")] + "-again.json"
        repeated = {test["name"]: test for test in (tests_of(second) if os.path.exists(second) else [])}
        firsts = tests_of(path)
        for first in firsts:
            test = repeated.get(first["name"], first)
            suite, name = suite_and_name(test["name"])
            if has_failed(first) and not has_failed(test):
                for case, state, _ in results_of(first):
                    if state == "failed":
                        self.again.append("%s, %s: %s" % (label, name, case))
            counts = self.suites.setdefault((label, suite), collections.Counter())
            counts["files"] += 1
            counts["seconds"] += test.get("duration") or 0
            self.count(counts, "%s, %s" % (label, name), results_of(test))
        return len(firsts)

    def count(self, counts, title, results):
        for case, state, note in results:
            counts[state] += 1
            if state == "failed":
                self.failed.append("%s: %s" % (title, case))
                self.details.append((self.failed[-1], note.splitlines()))
            elif state == "skipped":
                self.skipped.append("%s: %s (%s)" % (title, case, note or "no reason given"))

    def add_tap(self, label, path):
        """Count the results in TAP that a machine printed, and after it with which status the tests ended."""
        with open(path, encoding="utf-8", errors="replace") as lines:
            text = lines.read()
        counts = self.suites.setdefault((label, "tap"), collections.Counter())
        counts["files"] += 1
        end = re.search(r"^machine: status (\d+)", text, re.M)
        result = "OK" if end and end[1] == "0" else "the status %s" % (end[1] if end else "of no end")
        self.count(counts, label, results_of({"stdout": text, "result": result}))

    def add_record(self, path):
        """Count what a record lists. A record or a log that cannot be read is a failure itself."""
        ended = False
        expected = None
        try:
            with open(path, encoding="utf-8") as record:
                lines = record.read().splitlines()
        except OSError:
            lines = []
        for line in lines:
            kind, *fields = line.split("\t")
            if kind == "end":
                ended = True
                continue
            label, text = fields
            if kind == "tests":
                expected = int(text)
            elif kind == "tap":
                self.add_tap(label, text)
            elif kind == "log":
                try:
                    found = self.add_log(label, text)
                    if expected is not None and found != expected:
                        self.failed.append("%s: %d of %d tests ran" % (label, found, expected))
                    expected = None
                except (OSError, ValueError, KeyError) as error:
                    self.failed.append("%s: the log of its tests cannot be read: %s" % (label, error))
            elif kind == "failed":
                self.failed.append("%s: the step '%s'" % (label, text))
            elif kind == "without":
                self.without.append("%s: %s" % (label, text))
        if not ended:
            part = os.path.basename(path).partition(".")[0]
            self.failed.append("%s: it did not run to its end" % part)

    def print(self):
        """Print the summary; whether all is well."""
        for name, lines in self.details[:SHOWN_FAILURES]:
            if lines:
                print("\n== %s" % name)
                print("\n".join(lines[:LINES_OF_A_FAILURE] + ["..."] * (len(lines) > LINES_OF_A_FAILURE)))
        print("\n== summary")
        for (label, suite), counts in self.suites.items():
            print("  %-18s %-6s %3d files %5d passed %3d failed %3d skipped %6.1f s" % (
                label, suite, counts["files"], counts["passed"], counts["failed"], counts["skipped"], counts["seconds"]))
        for title, names in (("left out", self.without), ("skipped", self.skipped),
                             ("failed at first, passed when run again", self.again), ("failed", self.failed)):
            if names:
                print("%s:" % title)
                for name in names:
                    print("  " + name)
        passed = sum(counts["passed"] for counts in self.suites.values())
        if not passed and not self.failed:
            self.failed.append("no test ran")
            print("no test ran")
        print("%d passed, %d failed" % (passed, len(self.failed)))
        return not self.failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("records", nargs="*")
    parser.add_argument("--failed", metavar="LOG")
    arguments = parser.parse_args()
    if arguments.failed:
        print(" ".join(suite_and_name(test["name"])[1] for test in tests_of(arguments.failed) if has_failed(test)))
        return
    total = Total()
    for path in arguments.records:
        total.add_record(path)
    sys.exit(0 if total.print() else 1)


main()

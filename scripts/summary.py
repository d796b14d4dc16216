"""Read Meson's test logs and say what passed and what failed: a line a suite, the names of what failed, and the total.

usage: summary.py [--failed-step NAME] build/meson-logs/testlog.json...

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
GOOD = {"OK", "EXPECTEDFAIL"}


def results_of(test):
    """The (name, "passed" | "failed" | "skipped", note) of one line of a log."""
    found = []
    for line in (test.get("stdout") or "").splitlines():
        match = RESULT.match(line)
        if match:
            note = (match.group(3) or "").lstrip("# ")
            state = "skipped" if note.upper().startswith("SKIP") else "failed" if match.group(1) else "passed"
            found.append((match.group(2).strip(), state, note))
    outcome = test["result"]
    if outcome == "SKIP":
        return found or [("the whole file", "skipped", "")]
    if outcome in GOOD:
        return found or [("the whole file", "passed", "")]
    if not any(state == "failed" for _, state, _ in found):
        found.append(("the file as a whole ended with %s" % outcome, "failed", ""))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed-step")
    parser.add_argument("logs", nargs="*")
    arguments = parser.parse_args()

    suites = collections.OrderedDict()
    failed, skipped = [], []
    for log in filter(os.path.exists, arguments.logs):
        folder = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(log))))
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                test = json.loads(line)
                # "project:suite / name"
                suite, _, name = test["name"].rpartition(" / ")
                suite = suite.rpartition(":")[2] or "unnamed"
                counts = suites.setdefault((folder, suite), collections.Counter())
                counts["files"] += 1
                counts["seconds"] += test.get("duration") or 0
                for case, state, note in results_of(test):
                    counts[state] += 1
                    if state == "failed":
                        failed.append("%s, %s: %s" % (folder, name, case))
                    elif state == "skipped":
                        skipped.append("%s, %s: %s (%s)" % (folder, name, case, note or "no reason given"))

    print()
    print("== summary")
    for (folder, suite), counts in suites.items():
        print("  %-18s %-6s %3d files %5d passed %3d failed %3d skipped %6.1f s" % (
            folder, suite, counts["files"], counts["passed"], counts["failed"], counts["skipped"], counts["seconds"]))
    for title, names in (("skipped", skipped), ("failed", failed)):
        if names:
            print("%s:" % title)
            for name in names:
                print("  " + name)
    passed = sum(counts["passed"] for counts in suites.values())
    failures = len(failed)
    if arguments.failed_step:
        print("the step '%s' failed" % arguments.failed_step)
        failures += 1
    elif not passed and not failures:
        print("no test ran")
        failures = 1
    print("%d passed, %d failed" % (passed, failures))
    sys.exit(1 if failures else 0)


main()

"""Run end-to-end test files, each in a process of its own with a time limit; output only of what failed.

usage: run.py [--tap] [--limit SECONDS] [--jobs N] [FILE[:PART-OF-A-NAME...]...]     all test_*.py beside this file unless named

--tap hands one file's TAP through, for Meson. A file that does not end in time counts as one failed test more, and every
process it left is ended.
"""

import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time

import mcp

HERE = os.path.dirname(os.path.abspath(__file__))


def run_file(path, limit, extra):
    """(lines of TAP, seconds)"""
    mark = "%d-%x" % (os.getpid(), random.SystemRandom().getrandbits(48))
    environment = dict(os.environ, CL_MCP_TEST_FILE_ID=mark, PYTHONDONTWRITEBYTECODE="1")
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "run_one.py"), path, *extra],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    late = False
    try:
        output, _ = process.communicate(timeout=limit * mcp.STRETCH)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)
        mcp.kill(*mcp.marked(mark))
        output, _ = process.communicate()
    lines = output.decode(errors="replace").splitlines()
    # The interpreter's own last words are no TAP.
    lines = [line if line.startswith(("ok ", "not ok ", "1..", "#")) else "# " + line for line in lines]
    count = sum(line.startswith(("ok ", "not ok ")) for line in lines)
    plan = next((int(line[3:]) for line in lines if line.startswith("1..")), None)
    lines = [line for line in lines if not line.startswith("1..")]
    if late:
        lines.append("not ok %d - the file ends within %g s" % (count + 1, limit * mcp.STRETCH))
    elif plan != count:
        lines.append("not ok %d - the file runs all of its tests (exit status %s)" % (count + 1, process.returncode))
    total = sum(line.startswith(("ok ", "not ok ")) for line in lines)
    return ["1..%d" % total] + lines, time.monotonic() - started


def main():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the servers would inherit that it is ignored
    parser = argparse.ArgumentParser()
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], help="a part of a test's name")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    files = arguments.files or sorted(
        os.path.join(HERE, name) for name in os.listdir(HERE) if name.startswith("test_") and name.endswith(".py")
    )

    failed_any = False
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        named = [file.split(":") for file in files]
        futures = [(path, pool.submit(run_file, path, arguments.limit, parts or arguments.only)) for path, *parts in named]
        for path, future in futures:
            lines, seconds = future.result()
            good = sum(line.startswith("ok ") and "# SKIP" not in line for line in lines)
            skips = sum(line.startswith("ok ") and "# SKIP" in line for line in lines)
            bad = sum(line.startswith("not ok ") for line in lines)
            passed, failed, skipped = passed + good, failed + bad, skipped + skips
            failed_any = failed_any or bad > 0
            if arguments.tap:
                print("\n".join(lines))
                continue
            print("%-42s %3d passed %3d failed %3d skipped %6.1f s" % (os.path.basename(path), good, bad, skips, seconds), flush=True)
            showing = False
            for line in lines:
                if line.startswith(("ok ", "not ok ", "1..")):
                    showing = line.startswith("not ok ") or "# SKIP" in line
                if showing or "seed" in line:
                    print("    " + line)
    if not arguments.tap:
        print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed_any else 0)


main()

"""Prints what the way through a joined image costs: (+ 1 2) by the server, beside the same asked of Swank itself, in turns."""

import statistics
import sys
import tempfile
import time

import joining
import mcp

ROUNDS, CALLS, MOST = 5, 60, 3


def median_ms(function):
    times = []
    for _ in range(CALLS):
        start = time.monotonic()
        function()
        times.append(time.monotonic() - start)
    return statistics.median(times) * 1000


def main():
    with tempfile.TemporaryDirectory(prefix="cl-mcp-bench-") as folder:
        image = joining.Image(folder)
        client = mcp.Client("--attach", image.address)
        try:
            person = image.person()
            client.evaluate("(+ 1 2)", wait=120)
            rounds = [
                (
                    median_ms(lambda: person.evaluate("(+ 1 2)")),
                    median_ms(lambda: client.evaluate("(+ 1 2)")),
                )
                for _ in range(ROUNDS)
            ]
        finally:
            client.close()
            image.end()
    swank, joined = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(ours / theirs for theirs, ours in rounds)
    print("== join: (+ 1 2) in a joined image, beside Swank itself")
    print("Swank %.2f ms, joined %.2f ms: %.1f times, at most %d: %s" % (swank, joined, ratio, MOST, "PASS" if ratio <= MOST else "miss"))


if __name__ == "__main__":
    sys.exit(main())

"""The tables of docs/reply-sizes.md: what a test compares with, and what it writes with --write.

rows(head)          the rows below the line `head`: {name: [number...]}
write(head, rows)   put `rows`, tuples of a name and numbers, in their place
main(case)          call the method `write` of `case`: for --write
"""

import os
import re

import mcp

PAGE = os.path.join(mcp.ROOT, "docs", "reply-sizes.md")
MEASURED_WITH = "2.2.9"  # other releases word their messages differently


def parts(head):
    """The page up to the rows, the rows, and the rest."""
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    start = page.index("\n", page.index(head + "\n| ---") + len(head) + 1) + 1
    end = start + re.match(r"(\|.*\n)*", page[start:]).end()
    return page[:start], page[start:end], page[end:]


def rows(head):
    cells = [line.strip("| ").split(" | ") for line in parts(head)[1].splitlines()]
    return {name: [int(number.replace(",", "")) for number in numbers] for name, *numbers in cells}


def write(head, rows):
    before, _, after = parts(head)
    text = "".join("| %s | %s |\n" % (name, " | ".join(format(number, ",") for number in numbers)) for name, *numbers in rows)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(before + text + after)


def is_measured_release(server):
    return MEASURED_WITH in server.evaluate("(values (lisp-implementation-version))").text


def main(case):
    writer = case("write")
    writer.setUp()
    try:
        writer.write()
    finally:
        writer.doCleanups()

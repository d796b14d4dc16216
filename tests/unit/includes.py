"""The includes of src/ go one way: between folders as STYLE.md states, and without a circle between files.

A file is a header together with its .c file.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder_order():
    """Return the folders that each folder may include, from the line of STYLE.md."""
    line = re.search(r"^- Dependencies go one way: (.*)$", (ROOT / "STYLE.md").read_text(), re.M).group(1)
    below = {}
    for chain in re.findall(r"`([^`]*->[^`]*)`", line):
        names = [part.split(", ") for part in chain.split(" -> ")]
        for (above,), under in zip(names, names[1:]):
            below.setdefault(above, set()).update(under)

    def reach(name):
        return {name}.union(*(reach(under) for under in below.get(name, ())))

    return {name: reach(name) for name in set(below).union(*below.values())}


def read_includes():
    includes = {}
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        name = str(path.relative_to(ROOT / "src").with_suffix(""))
        wanted = re.findall(r'^#include "(.+)\.h"', path.read_text(), re.M)
        includes.setdefault(name, set()).update(other for other in wanted if other != name)
    return includes


def find_circle(includes):
    """Return the files of a circle in order, the first one again at the end; None if there is no circle."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(includes.get(name, ())):
            circle = visit(other)
            if circle:
                return circle
        path.pop()
        done.add(name)
        return None

    for name in includes:
        circle = visit(name)
        if circle:
            return circle
    return None


def main():
    includes, order = read_includes(), folder_order()
    faults = []
    for name, others in includes.items():
        for other in sorted(others):
            for depth in range(1, name.count("/") + 1):
                folder, target = ("/".join(path.split("/")[:depth]) for path in (name, other))
                if "/" in other and target != folder and target not in order.get(folder, ()):
                    faults.append(f"src/{name} includes {other}.h, but STYLE.md has no way from {folder} to {target}")
                if target != folder:
                    break
    circle = find_circle(includes)
    if circle:
        faults.append("circle: " + " -> ".join(circle))
    print("\n".join(faults) or f"{len(includes)} files, no circle")
    return 1 if faults else 0


sys.exit(main())

"""Each function, macro and variable of the agent is defined once, in what is loaded into a process of ours and in what is
loaded into an image that is joined; and each file belongs to one of them.

All of the agent is in one package, and the Lisp takes the later of two functions of one name without a word.
"""

import pathlib
import re
import sys

AGENT = pathlib.Path(__file__).resolve().parents[2] / "agent"
DEFINITION = re.compile(r"\((defun|defmacro|defvar|defparameter|defconstant|define-operation|implement) (\S+)|\(sb-ext:(defglobal) (\S+)")
STRUCTURE = re.compile(r"\(defstruct \(?([^\s()]+)")  # defines a predicate, unless its first line says otherwise
BOOTSTRAP = ("probe.lisp", "install.lisp", "load.lisp", "receive.lisp")  # forms that are sent before the agent is there
FUNCTION_KINDS = {"defun", "defmacro", "define-operation", "implement"}


def read_definitions(path, text):
    """Yield the kind, name and place of each definition at the left margin that is not one of several for different Lisps."""
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = DEFINITION.match(line)
        if match and not before.startswith(("#+", "#-")):
            kind, name = [part for part in match.groups() if part]
            yield "function" if kind in FUNCTION_KINDS else "variable", name, "%s:%d" % (path, number)
        match = STRUCTURE.match(line)
        if match and ":predicate" not in line:
            yield "function", match[1] + "-p", "%s:%d" % (path, number)
        before = line


def find_repeated(files):
    places = {}
    for path, text in files:
        for kind, name, place in read_definitions(path, text):
            places.setdefault((kind, name), []).append(place)
    return ["%s %s: %s" % (*key, ", ".join(found)) for key, found in sorted(places.items()) if len(found) > 1]


def main():
    assert find_repeated([("a", "(defun f (x) x)"), ("b", "(defmacro f ())")]) == ["function f: a:1, b:1"]
    assert find_repeated([("a", "(defun f-p (x) x)"), ("b", "(defstruct (f (:copier nil))")]) == ["function f-p: a:1, b:1"]
    assert not find_repeated([("a", "#+x\n(defun f (x) x)\n#-x\n(defun f (y) y)\n(defvar f)")])
    loaded = {"build.lisp", "loaded.lisp"} | {"joined/" + name for name in BOOTSTRAP}
    wrong = []
    for name, port in (("files.txt", "sbcl"), ("joined/files.txt", "sbcl"), ("joined/files.txt", "swank")):
        names = [path for path in (AGENT / name).read_text().split()
                 if not path.startswith("ports/") or path.startswith("ports/%s/" % port)]
        assert len(names) > 50, "the agent's files were not found"
        wrong += find_repeated([(name, (AGENT / name).read_text()) for name in names])
        loaded |= set(names)
    wrong += ["%s is loaded nowhere" % path for path in sorted(AGENT.rglob("*.lisp"))
              if str(path.relative_to(AGENT)) not in loaded]
    print("\n".join(wrong) or "%d files: each name is defined once" % len(loaded))
    return len(wrong)


sys.exit(main() > 0)

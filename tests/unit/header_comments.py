"""Every function that a header of src/ declares is documented there with its present arguments, as STYLE.md shows.

Two mentions document several: x_NAME(a, b) all functions x_... with these arguments, and "needs x_fini()" a function that
frees. Types of callbacks are documented where they are passed.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECLARATION = re.compile(r"^(?!typedef|static|#)[A-Za-z_][\w \*]*?\b(\w+)\(([^;{}]*)\)\s*;", re.M)


def split_arguments(text):
    """Split at the commas that are not inside parentheses."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def argument_name(declaration):
    found = re.search(r"\(\*(\w+)\)", declaration) or re.search(r"(\w+|\.\.\.)\s*(\[[^\]]*\])*$", declaration)
    return found.group(1)


def find_faults(header):
    text = header.read_text()
    comments = " ".join(re.sub(r"\s*\n\s*\*? ?", " ", comment) for comment in re.findall(r"/\*(.*?)\*/", text, re.S))
    code = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    for name, arguments in DECLARATION.findall(code):
        if code[:code.index(name + "(")].rsplit("\n", 1)[-1].startswith("typedef"):
            continue
        wanted = [argument_name(argument) for argument in split_arguments(arguments)]
        mentions = re.findall(r"\b(?:%s|%s_NAME)\(([^()]*)\)" % (name, name.split("_")[0]), comments)
        given = [[part.strip().lstrip("&") for part in mention.split(",") if part.strip()] for mention in mentions]
        is_freeing = name.endswith(("_free", "_fini")) and mentions
        if wanted not in given and not is_freeing:
            yield "%s: %s(%s)" % (header.relative_to(ROOT), name, ", ".join(wanted))


def main():
    headers = sorted((ROOT / "src").rglob("*.h"))
    faults = [fault for header in headers for fault in find_faults(header)]
    print("\n".join(faults) or "%d headers" % len(headers))
    return 1 if faults else 0


sys.exit(main())

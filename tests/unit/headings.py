"""No C file but src/report/section.h contains a heading of a reply: any other is not protected from what code prints."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
HEADING = re.compile(r'(?:"|\\n)(\[[A-Za-z][A-Za-z ]{2,}\])(?:"|\\n| )')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def main():
    table = SOURCE / "report" / "section.h"
    known = HEADING.findall(table.read_text())
    faults = [f"{path}: {heading}"
              for folder in ("report", "session", "tools")
              for path in sorted((SOURCE / folder).rglob("*.[ch]")) if path != table
              for string in STRING.findall(path.read_text())
              for heading in HEADING.findall(string)]
    if len(known) < 20:
        faults.append(f"{table}: its table was not understood")
    print("\n".join(faults) or f"{len(known)} headings")
    return 1 if faults else 0


sys.exit(main())

"""Transcripts in the documents: calls of tools and their replies, as docs/tools.md shows them.

A transcript is a fenced block without a language whose first line begins with "> ". In it

  > TOOL  name: value, name: value     is a call; `> TOOL  text` gives the text as `code`
  >   text                             continues with the value before it, line by line

and the lines up to the next call are its reply. A line `...` in a reply stands for any lines; a call with nothing
behind it has no reply to compare. A fenced block in Lisp, right behind a line that is nothing but a path in
backquotes and a colon, is a file of the project.

Comments, which readers of the page do not see:

  <!-- varies: PATTERN -->      differs from run to run, in the replies of the section; before all sections: of the page
  <!-- options: OPTIONS -->     what follows is said to a new server, which has these options
  <!-- unseen
  > TOOL  ...
  -->                           calls that are made and not shown; `<!-- unseen, 300 times` makes them so often,
                                `<!-- unseen, until: PATTERN` makes one until its reply has the pattern in it
"""

import json
import re

FENCE = re.compile(r"^```(\w*)\s*$")
PATH = re.compile(r"^`([^`]+)`:$")
VARIES = re.compile(r"^<!-- varies: (.*) -->$")
OPTIONS = re.compile(r"^<!-- options: (.*) -->$")
UNSEEN = re.compile(r"^<!-- unseen(?:, (?:(\d+) times|until: (.*)))?$")


class Call:
    def __init__(self, line, tool, text):
        self.line, self.tool, self.text = line, tool, text
        self.more = []
        self.reply = []
        self.times = 1
        self.until = None

    def arguments(self, schema):
        """The arguments, read with the help of the tool's schema."""
        properties = schema["properties"]
        text = self.text
        name = re.compile(r"(?:^|, )(%s):(?: |$)" % "|".join(map(re.escape, properties)))
        pieces = list(name.finditer(text)) if properties else []
        if not pieces or pieces[0].start() != 0:
            code = "\n".join(([text] if text else []) + self.more)
            return {"code": code} if code else {}
        values = {}
        for piece, behind in zip(pieces, [*pieces[1:], None]):
            values[piece.group(1)] = text[piece.end():behind.start() if behind else len(text)]
        if self.more:
            last = pieces[-1].group(1)
            values[last] = "\n".join(([values[last]] if values[last] else []) + self.more)
        for name, value in values.items():
            if properties[name]["type"] != "string":
                values[name] = json.loads(value)
        return values


def read(path):
    """What a page holds, in order: ("file", name, text), ("section",), ("varies", pattern), ("options", list),
    ("call", Call)."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    language, block, start, behind_path, unseen = None, [], 0, None, None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if unseen:
            if line != "-->":
                block.append(line)
                continue
            for _, call in calls(block, start):
                call.times, call.until = int(unseen.group(1) or 1), unseen.group(2)
                yield ("call", call)
            unseen = None
        elif language is None:
            unseen = UNSEEN.match(line)
            if unseen:
                block, start = [], number
            elif fence:
                language, block, start = fence.group(1), [], number
            elif line.startswith("## "):
                yield ("section",)
            elif OPTIONS.match(line):
                yield ("options", OPTIONS.match(line).group(1).split())
            elif VARIES.match(line):
                yield ("varies", VARIES.match(line).group(1))
            elif PATH.match(line):
                behind_path = PATH.match(line).group(1)
            elif line:
                behind_path = None
        elif fence and not fence.group(1):
            if language == "lisp" and behind_path:
                yield ("file", behind_path, "\n".join(block) + "\n")
            elif not language and block and block[0].startswith("> "):
                yield from calls(block, start)
            language, behind_path = None, None
        else:
            block.append(line)


def calls(block, start):
    call = None
    for number, line in enumerate(block, start + 1):
        if line == ">" or line.startswith(">   "):
            call.more.append(line[4:])
        elif line.startswith("> "):
            if call:
                yield ("call", call)
            tool, _, text = line[2:].partition("  ")
            call = Call(number, tool, text.strip())
        else:
            call.reply.append(line)
    yield ("call", call)


def matches(expected, got, normal):
    """Is this the reply? `...` on a line of its own stands for any lines."""
    while expected and not expected[-1]:
        expected = expected[:-1]
    if not expected:
        return True
    pattern = ""
    for line in normal("\n".join(expected)).split("\n"):
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line) + r"\n"
    return re.fullmatch(pattern, normal(got).rstrip("\n") + "\n") is not None

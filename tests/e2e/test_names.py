"""Nothing that a person or a model reads names a tool that is not listed, or an argument that its schema does not have.

Checked: instructions, prompts, guide, skill, documents, the strings of the server and of the agent.
"""

import glob
import os
import re

import mcp

OLD_PAGES = {"CHANGES.md", os.path.join("docs", "tools.md"), os.path.join("docs", "agent-protocol.md")}
TEXTS = ["src/mcp/texts/*.txt", "src/tools/guide/*.txt", "plugin/**/*.md", "docs/**/*.md", "*.md", "docs/*.1", "src/cli/completions/*.txt"]
CODE = {"src/**/*.c": r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*', "src/**/*.js": r"'((?:[^'\\\n]|\\.)*)'", "agent/**/*.lisp": r'"((?:[^"\\]|\\.)*)"'}


def former_names():
    with open(os.path.join(mcp.ROOT, "src", "tools", "tools.def"), encoding="utf-8") as f:
        return re.findall(r'^FORMER\("([^"]+)"', f.read(), re.MULTILINE)


def files(pattern):
    for path in sorted(glob.glob(os.path.join(mcp.ROOT, pattern), recursive=True)):
        name = os.path.relpath(path, mcp.ROOT)
        if name not in OLD_PAGES:
            with open(path, encoding="utf-8") as f:
                yield name, f.read()


def words_of(name, text):
    """The texts in a file that somebody reads."""
    for pattern, string in CODE.items():
        if name.endswith(os.path.splitext(pattern)[1]):
            for found in re.finditer(string, text):
                whole = re.sub(r'"\s*"', "", found.group()[1:-1])
                if " " in whole:  # a name alone is an operation of the agent's, or a call of the window's
                    yield whole
            return
    yield text


class Names(mcp.TestCase):
    @classmethod
    def setUpClass(cls):
        client = mcp.Client()
        cls.tools = {tool["name"]: tool["inputSchema"]["properties"] for tool in client.request("tools/list")["tools"]}
        client.close()

    def check(self, patterns, wrong):
        found = []
        for pattern in patterns:
            for name, text in files(pattern):
                for words in words_of(name, text):
                    found.extend("%s: %s" % (name, fault) for fault in wrong(words))
        self.assertEqual([], found)

    def test_no_text_names_a_former_tool(self):
        former = re.compile(r"(?<![\w:*.-])(?<!action: )(%s)(?![\w-])" % "|".join(map(re.escape, former_names())))
        self.check([*TEXTS, *CODE], lambda words: [m.group() for m in former.finditer(words)])

    def test_arguments_that_are_named_with_a_tool_are_in_its_schema(self):
        def wrong(words):
            for tool, argument in re.findall(r"\b([a-z]+(?:-[a-z]+)+) (?:with|\() ?`?([a-z][a-z-]+)(?=`?:)", words):
                if tool in self.tools and argument not in self.tools[tool]:
                    yield "%s %s" % (tool, argument)

        self.check([*TEXTS, *CODE], wrong)


if __name__ == "__main__":
    mcp.main()

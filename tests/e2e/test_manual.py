"""The manual page: it has every option, subcommand and environment variable of the program and no other, and mandoc
finds nothing to object to in it.
"""

import glob
import os
import re
import shutil
import subprocess
import unittest

import mcp

PAGE = os.path.join(mcp.ROOT, "docs", "cl-mcp-server.1")


def plain(macros):
    """The words of some lines of mdoc, without its macros."""
    macros = re.sub(r"(?m)^\.[A-Z][a-z] ", "", macros)
    macros = re.sub(r"(?<= )(?:Ns|Ar|Cm|Pa|Fl|Dv|Ev) ", "", macros)
    return re.sub(r"\s+", " ", macros)


class Manual(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.page = mcp.read(PAGE)
        self.help = mcp.run("--help", "all", check=True).stdout

    def section(self, name):
        return re.search(r"(?ms)^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % name, self.page).group(1)

    def test_it_has_the_options_with_their_arguments_and_defaults(self):
        helped = {}
        for name, rest in re.findall(r"(?m)^  --([a-z-]+)(.*)$", self.help):
            default = re.search(r"; default: (.*?)(?:; repeatable)?$", rest)
            has_argument = re.match(r" \S", rest) is not None and not rest.startswith("  ")
            helped[name] = (has_argument, default and default.group(1), rest.endswith("; repeatable"))
        described = {}
        for name, argument, text in re.findall(r"(?ms)^\.It Fl -([a-z-]+)(.*?)\n(.*?)(?=^\.It |^\.El)", self.page):
            described[name] = (argument.strip() != "", plain(text))
        self.assertGreater(len(helped), 30)
        self.assertEqual(sorted(helped), sorted(described))
        for name, (has_argument, default, is_repeatable) in helped.items():
            self.assertEqual(has_argument, described[name][0], name)
            self.assertEqual(is_repeatable, "Can be repeated." in described[name][1], name)
            if default is not None:
                self.assertRegex(described[name][1], r"The default is (the )?%s\b" % re.escape(default), name)

    def test_it_has_the_subcommands(self):
        commands = re.search(r"(?ms)^Commands:\n(.*?)\n\n", self.help).group(1)
        helped = re.findall(r"(?m)^  ([a-z][a-z-]*)", commands)
        subsection = re.search(r"(?ms)^\.Ss Subcommands\n(.*?)^\.Ss ", self.page).group(1)
        self.assertEqual(sorted(helped), sorted(re.findall(r"(?m)^\.It Cm ([a-z-]+)", subsection)))
        self.assertLessEqual(set(helped), set(re.findall(r"(?m)^\.Cm ([a-z-]+)", self.section("SYNOPSIS"))))

    def test_it_has_the_environment(self):
        read = set()
        for path in glob.glob(os.path.join(mcp.ROOT, "src", "**", "*.c"), recursive=True):
            read |= set(re.findall(r'(?:getenv|user_directory)\("(\w+)"[,)]', mcp.read(path)))
        for path in glob.glob(os.path.join(mcp.ROOT, "agent", "**", "*.lisp"), recursive=True):
            read |= set(re.findall(r'getenvp? "(\w+)"\)', mcp.read(path)))
        read -= {"CL_MCP_SANDBOX", "CL_MCP_SESSION"}  # the server sets these for its Lisps
        named = set(re.findall(r"\b[A-Z_]{4,}\b", " ".join(re.findall(r"(?m)^\.It Ev (.*)$", self.section("ENVIRONMENT")))))
        self.assertEqual(read, named)

    @unittest.skipUnless(shutil.which("mandoc"), "there is no mandoc here")
    def test_mandoc_reports_no_problem(self):
        done = subprocess.run(["mandoc", "-T", "lint", PAGE], stdout=subprocess.PIPE, text=True, timeout=20 * mcp.STRETCH)
        # Whether the pages referred to are in an index is no matter of this page.
        said = [line for line in done.stdout.splitlines() if not re.search("outdated mandoc.db|referenced manual not found", line)]
        self.assertEqual([], said)

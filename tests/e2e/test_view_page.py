"""The page of `cl-mcp-server view` in a real browser, with real sessions; tests/view has the script."""

import os
import shutil
import subprocess
import unittest

import joining
import mcp
from test_official_clients import node

VIEW = os.path.join(mcp.ROOT, "tests", "view")
PAGE = os.path.join(mcp.ROOT, "src", "view", "page")


def run_script(test, browser, least, script, *arguments):
    if node() is None or shutil.which(browser) is None or not os.path.isdir(os.path.join(VIEW, "node_modules")):
        test.fail("the browser %s or what drives it is not installed: run scripts/setup" % browser)
    folder = test.folder()
    os.chmod(folder, 0o700)
    environment = mcp.clean_environment(XDG_RUNTIME_DIR=folder, CL_MCP_SERVER=mcp.SERVER, HOME=folder, TMPDIR=folder)
    try:
        done = subprocess.run(
            [node(), os.path.join(VIEW, script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
            timeout=150 * mcp.STRETCH,
        )
    except subprocess.TimeoutExpired as late:
        test.fail("%s %s did not end, and printed until then:\n%s" % (script, browser, (late.stdout or b"").decode(errors="replace")))
    test.assertEqual(0, done.returncode, done.stdout)
    test.assertNotIn("not ok", done.stdout)
    test.assertGreaterEqual(done.stdout.count("ok - "), least, done.stdout)


class ViewPage(mcp.TestCase):
    def test_every_view_and_action_works(self):
        run_script(self, "chromium", 23, "page.mjs")

    @unittest.skipIf(joining.why_not(), joining.why_not())
    def test_the_page_at_an_image_that_a_person_runs(self):
        image = joining.Image(self.folder())
        self.addCleanup(image.end)
        run_script(self, "chromium", 5, "joined.mjs", image.address)

    def test_the_page_is_small_and_makes_no_markup_of_data(self):
        names = sorted(os.listdir(PAGE))
        texts = {}
        for name in names:
            with open(os.path.join(PAGE, name), encoding="utf-8") as f:
                texts[name] = f.read()
        self.assertLess(sum(len(text.encode()) for text in texts.values()), 150_000)
        for name, text in texts.items():
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http:", "https:"):
                with self.subTest(name, word=word):
                    self.assertNotIn(word, text.replace("http://www.w3.org/2000/svg", ""))
        self.assertNotRegex(texts["index.html"], r"<script(?! type=\"module\" src=)|\sstyle=|\son[a-z]+=|<style")

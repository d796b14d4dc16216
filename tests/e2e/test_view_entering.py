"""Who comes in by the link of `cl-mcp-server view`, and what pages on other ports get, in real browsers; tests/view has the script."""

import mcp
from test_view_page import run_script


class Entering(mcp.TestCase):
    def test_a_person_comes_in_and_other_pages_do_not(self):
        run_script(self, "chromium", 9, "entering.mjs", "chrome")

    def test_the_same_in_firefox(self):
        run_script(self, "firefox-esr", 9, "entering.mjs", "firefox")

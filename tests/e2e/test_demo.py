"""scripts/demo tells the truth: every reply is as the story says."""

import os
import subprocess
import sys

import mcp


class Demo(mcp.TestCase):
    def test_every_reply_is_as_the_story_says(self):
        mark = mcp.file_mark() + "-demo."
        done = subprocess.run(
            [sys.executable, os.path.join(mcp.ROOT, "scripts", "demo_story.py"), mcp.SERVER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(mcp.clean_environment(), CL_MCP_TEST_FILE_ID=mark),
            timeout=60 * mcp.STRETCH,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertNotIn("\033", done.stdout)
        self.assertIn("reset-session", done.stdout)
        mcp.assert_none_left(mark)

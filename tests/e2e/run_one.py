"""Run one file of tests in this process, print TAP, and check that no process is left: run_one.py FILE [PART-OF-A-NAME...]

A file may have a function prepare(), which is called first. The agent's tests use the core beside the server, as the build made it.
"""

import glob
import importlib
import os
import sys

import mcp


def prepare_for_agent():
    cores = glob.glob(os.path.join(os.path.dirname(mcp.SERVER), "agent-*.core"))
    if len(cores) != 1:
        sys.exit("there should be one core beside the server, and there are: %s" % cores)
    os.environ["CL_MCP_AGENT_CORE"] = cores[0]
    os.environ[mcp.MARK] = mcp.file_mark()


def main():
    path, *wanted = sys.argv[1:]
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.basename(folder) == "agent":
        prepare_for_agent()
    sys.path.insert(0, folder)
    module = importlib.import_module(name.removesuffix(".py"))
    if hasattr(module, "prepare"):
        module.prepare()
    mcp.main(module, wanted)


main()

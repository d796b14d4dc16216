"""Run tests/agent/test_agent.py, print TAP, and check that no process is left: run_agent_tests.py FILE [PART-OF-A-NAME...]

The core is the one beside the server, as the build made it.
"""

import glob
import importlib.util
import os
import sys

import mcp


def main():
    path, *wanted = sys.argv[1:]
    cores = glob.glob(os.path.join(os.path.dirname(mcp.SERVER), "agent-*.core"))
    if len(cores) != 1:
        sys.exit("there should be one core beside the server, and there are: %s" % cores)
    os.environ["CL_MCP_AGENT_CORE"] = cores[0]
    os.environ[mcp.MARK] = mcp.file_mark()
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    specification = importlib.util.spec_from_file_location("test_agent", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules["test_agent"] = module
    specification.loader.exec_module(module)
    mcp.main(module, wanted)


main()

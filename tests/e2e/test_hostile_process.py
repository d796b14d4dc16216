"""Hostile evaluations: what code does to its process, its descriptors, its company and its time."""

import os

import mcp
from hostile import company, descriptors, driver, endings, loops

# With the memory layer off a part will do: the cases about memory are in test_hostile_lisp.py.
IS_PART = mcp.SANITIZED or os.environ.get("CL_MCP_MEMORY_LAYER") == "off"
Hostile = driver.cases_of(endings, descriptors, loops, company, every=3 if IS_PART else 1)

if __name__ == "__main__":
    mcp.main()

"""Hostile evaluations: what code does to memory, to the Lisp around the agent, and to reports."""

import mcp
from hostile import driver, environment, memory, values

Hostile = driver.cases_of(memory, environment, values)

if __name__ == "__main__":
    mcp.main()

"""Hostile evaluations: what code does to memory, to the Lisp around the agent, and to reports."""

from hostile import driver, environment, memory, values

Hostile = driver.cases_of(memory, environment, values)

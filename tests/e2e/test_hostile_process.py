"""Hostile evaluations: what code does to its process, its descriptors, its company and its time."""

from hostile import company, descriptors, driver, endings, loops

Hostile = driver.cases_of(endings, descriptors, loops, company)

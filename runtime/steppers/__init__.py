"""Runs that are advanced by their caller."""

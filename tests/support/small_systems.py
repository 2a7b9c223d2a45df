"""The systems of the catalogue that tests of every form, language and method go through."""

from __future__ import annotations

import chaplygin as cg

SMALL = tuple(name for name in cg.examples() if not cg.example(name).large)
"""Without trees and loops of many bodies, which have tests of their own."""

"""Control flow that stays rolled: loops and branches as nodes that hold bodies."""

from ._build import build_branch, build_count, build_scan, build_while
from ._records import BRANCH, LOOP, RESULT, TAPE
from ._tidy import tidy

__all__ = [
    "BRANCH",
    "LOOP",
    "RESULT",
    "TAPE",
    "build_branch",
    "build_count",
    "build_scan",
    "build_while",
    "tidy",
]

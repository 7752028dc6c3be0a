"""SciPy's own module of constants: who changes every import of a file finds it here, too."""

from __future__ import annotations

import sys

import scipy.constants
from scipy.constants import *  # noqa: F403 - for tools that load files by themselves

sys.modules[__name__] = scipy.constants

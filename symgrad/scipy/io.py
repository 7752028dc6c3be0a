"""SciPy's own module of files: who changes every import of a file finds it here, too."""

from __future__ import annotations

import sys

import scipy.io
from scipy.io import *  # noqa: F403 - for tools that load files by themselves

sys.modules[__name__] = scipy.io

"""SciPy's own module of files: who changes every import of a file finds it here, too."""

from __future__ import annotations

import sys

import scipy.io

sys.modules[__name__] = scipy.io

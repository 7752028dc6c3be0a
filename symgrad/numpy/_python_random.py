"""Python's ``random``, which draws nothing while a function is traced."""

from __future__ import annotations

import random as python

from .random import drawing

globals().update({k: v for k, v in vars(python).items() if not k.startswith("__")})
globals().update({
    name: drawing(function, f"random.{name}")
    for name, function in vars(python).items()
    if isinstance(getattr(function, "__self__", None), python.Random)
})  # fmt: skip

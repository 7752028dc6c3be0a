"""A time limit that holds inside SymPy.

SymPy's simplifications have no time limit of their own, and a single one may take minutes.
A profile function is called by Python at every call and return of this thread; here it looks
at the clock and raises when time is up. Unlike a signal it works in every thread, and unlike
a second process it needs no pickling; it costs about a fifth of SymPy's time.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds that simplification may take before it is left at what was found.
SECONDS = 2.0


class _TimeIsUpError(BaseException):
    """Raised at the deadline; no ``except Exception`` inside SymPy may catch it."""


class Patience:
    """Seconds that simplification may take, over all that is simplified with it.

    Parameters
    ----------
    seconds:
        From now on.

    Attributes
    ----------
    gave_up:
        Whether something was left as it was since time had run out.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.gave_up = False

    @classmethod
    def of_a_reader(cls) -> Patience:
        """Return the time that a reader waits for a formula."""
        return cls(SECONDS)

    def over(self) -> bool:
        """Tell whether the time has run out; if so, something is being given up."""
        if time.monotonic() > self.deadline:
            self.gave_up = True
        return self.gave_up

    def attempt(self, function: Callable[[Any], T], argument: Any, otherwise: T) -> T:
        """Return ``function(argument)``, or ``otherwise`` if the time runs out in it."""
        if sys.getprofile() is not None:
            # Somebody is profiling: the clock is then read between the steps only.
            return function(argument)
        deadline, clock = self.deadline, time.monotonic
        own = ("sympy.", "mpmath.", function.__module__)

        def watch(frame: FrameType, *_: Any) -> None:
            # What is raised in a generator that the collector closes, or in a callback of its,
            # would only be printed, and the limit would be lost.
            if (
                clock() > deadline
                and not frame.f_code.co_flags & inspect.CO_GENERATOR
                and frame.f_globals.get("__name__", "").startswith(own)
            ):
                raise _TimeIsUpError

        sys.setprofile(watch)
        try:
            return function(argument)
        except _TimeIsUpError:
            self.gave_up = True
            return otherwise
        finally:
            sys.setprofile(None)

"""Threads that meet a specialisation at once: it counts as one trace."""

from __future__ import annotations

import threading
import time
from typing import Any
from weakref import WeakSet

import numpy as np

import symgrad as sg


class Slow(WeakSet[Any]):
    """Gives other threads time between a question and what comes of the answer."""

    def __contains__(self, item: Any) -> bool:
        found = super().__contains__(item)
        time.sleep(0.05)
        return found


class Known:
    """A specialisation, as far as it is counted."""

    said = ()


def test_it_counts_once() -> None:
    g: Any = sg.compile(np.sin)
    g._met, known = Slow(), Known()
    threads = [threading.Thread(target=g._meet, args=(known,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert g.traces == 1

"""A word to whoever waits for a first call: which stage it is in, and which line is behind it.

After two seconds a line is written where a person reads it, and logged; after ten a warning says
it in scripts, too. Stages are timed on the way, which is what ``sg.show`` prints.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .._core.base.state import now, within
from .._core.graph import Node, Where, count_of_nodes, lines_of_nodes, warn_user
from ..errors import SlowWarning

#: Seconds after which a line is written, and after which it is worth a warning.
AFTER, LONG = 2.0, 10.0

#: A line is named if so many operations, and this part of all, come of it.
MANY, MOST = 200, 0.25


class Clock:
    """The stages of a first call, and how long each has taken.

    ``steps`` are those that are compiled; None: nodes are being made, and these count.
    """

    def __init__(self, doing: str, steps: Callable[[], Iterable[Node]] | None = None) -> None:
        self.doing, self.stage = doing, doing
        self._steps = steps
        self.seconds: dict[str, float] = {}
        self.lines: Counter[Where] = Counter()
        self.nodes = 0
        self._begun = self._since = time.perf_counter()
        self._before = count_of_nodes()
        self._warned = False

    def begin(self, stage: str) -> str:
        """Note that a stage begins, and return the one that it is in until then."""
        moment = time.perf_counter()
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + moment - self._since
        before, self.stage, self._since = self.stage, stage, moment
        return before

    def begin_warned(self, stage: str) -> str:
        """Do that, and warn if it has taken long."""
        before = self.begin(stage)
        if self._since - self._begun > LONG and not self._warned:
            self._warned = True
            warn_user(f"the first call takes long: {self.text()}", SlowWarning)
        return before

    def text(self) -> str:
        """Say how long it has taken, in which stage it is, and what would help."""
        seconds = time.perf_counter() - self._begun
        stage = "" if self.stage == self.doing else f", and is at the stage {self.stage!r}"
        text = f"{self.doing} takes more than {int(seconds)} s{stage}. "
        line, count, total = self.busiest()
        if line is None:
            return f"{text}sg.show(f, ..., timings=True) has the seconds of each stage"
        return (
            f"{text}{count:,} of {total:,} operations come of {line}. If Python writes a loop out "
            "there, sg.fori_loop, sg.scan or compile(f, control_flow=True) keep the program short"
        )

    def busiest(self) -> tuple[Where | None, int, int]:
        """Return the line of which most operations have come, with their number and that of all."""
        if self._steps is None:
            lines = lines_of_nodes(self._before)
        else:
            lines = Counter(node.where for node in self._steps() if node.where is not None)
        total = sum(lines.values())
        if total >= self.nodes:  # nodes go with what they were made for
            self.lines, self.nodes = lines, total
        for line, count in self.lines.most_common(1):
            if count >= max(MANY, MOST * self.nodes):
                return line, count, self.nodes
        return None, 0, self.nodes


def _say(clock: Clock) -> None:
    text = f"symgrad: {clock.text()}"
    if _somebody_waits():
        with contextlib.suppress(OSError, ValueError):  # closed meanwhile
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
    logger = _logger()
    if logger is not None:
        logger.info(text)


def _somebody_waits() -> bool:
    """Tell whether a person reads what is written: not in files, pipes and tests."""
    if sys.stderr is None or sys.stderr.closed:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


def _logger() -> Any:
    """Return the logger of this package, None if nobody has asked for what it says."""
    logging = sys.modules.get("logging")  # who has asked has imported it
    found = None if logging is None else logging.getLogger("symgrad")
    return found if found is not None and found.isEnabledFor(logging.INFO) else None  # type: ignore[union-attr]


class told_if_slow(within):  # noqa: N801 - a block
    """Say what takes so long, if the block does."""

    __slots__ = "_doing", "_staged", "_timer"

    def __init__(self, doing: str, steps: Callable[[], Iterable[Node]] | None = None) -> None:
        self._doing, self._timer = doing, None
        staged = now().staged
        if staged is not None:  # who times the stages is told of this one
            self._staged, self._doing = staged, staged(doing)
            super().__init__()
            return
        clock = Clock(doing, steps)
        self._staged = clock.begin_warned
        if _somebody_waits() or _logger() is not None:
            self._timer = threading.Timer(AFTER, _say, (clock,))
            self._timer.daemon = True
            self._timer.start()
        super().__init__(staged=self._staged)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._timer is not None:
            self._timer.cancel()
        if error[0] is None:
            self._staged(self._doing)  # the stage of before; or a clock's, which may warn now

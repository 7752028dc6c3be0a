"""The demo: NIST's certified regression problems, from the text of a formula to 11 digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..errors import MissingExtraError
from . import _report
from ._kernels import Kernels, compile_kernels
from ._library import load, load_all
from ._measure import GOAL, Outcome, explain, measure
from ._problem import Problem

if TYPE_CHECKING:
    from rich.console import Console


def run(
    problem: str | None = None,
    console: Console | None = None,
    data: str | Path | None = None,
    *,
    make: Callable[[Problem], Kernels] = compile_kernels,
) -> int:
    """Fit NIST's nonlinear regression problems and print what came out.

    Every model is read from the text in its file, compiled with its Jacobian, fitted from
    both of NIST's starting points, compared with the certified values, verified against the
    exact symbolic derivative, and timed.

    Parameters
    ----------
    problem:
        The name of one problem, which is then shown in full. Default: a table of all.
    console:
        Where to print; default: standard output.
    data:
        A folder of StRD files, or one file. Default: NIST's 27, which come with symgrad.
    make:
        How to get a problem's residual and Jacobian.

    Returns
    -------
    int
        0 if every problem reached 9.5 digits from start 2, else 1.

    Raises
    ------
    MissingExtraError
        rich is not installed: ``pip install "symgrad[cli]"``.
    DataError
        A data file is damaged or foreign, or there is no such problem.
    VerificationError
        A compiled Jacobian disagrees with the exact one.
    """
    if console is None:
        console = _console()
    folder = None if data is None else Path(data)
    if problem is None:
        problems: Sequence[Problem] = load_all(folder)
    else:
        problems = [load(problem, folder)]
        text = _report.describe(problems[0], console.width, _has_unicode(console))
        _print(console, [*text, ""])
    outcomes = []
    with _progress(console, len(problems)) as step:
        for one in problems:
            outcomes.append(measure(one, make, step=partial(step, one.name)))
            step(one.name, None)
    if problem is None:
        _print_table(console, outcomes)
    else:
        _print(console, [*_report.solution(outcomes[0]), str(outcomes[0].report), ""])
        _print(console, _report.timings(outcomes[0]))
    for outcome in outcomes:
        if outcome.reached[0] < GOAL:
            _print(console, ["", f"{outcome.problem.name} from start 1: {explain(outcome)}"])
    return 0 if all(outcome.reached[1] >= GOAL for outcome in outcomes) else 1


def _console() -> Console:
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtraError("rich", "cli", "the demo") from error
    return Console()


def _print(console: Console, lines: Sequence[str]) -> None:
    # As it stands: no mark-up in data, and in a pipe no line breaks at a made-up width.
    for line in lines:
        text = _encodable(console, line)
        console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _encodable(console: Console, text: str) -> str:
    """The text with what the console's encoding does not have replaced."""
    if _has_unicode(console):
        return text
    return text.replace("µ", "u").encode(console.encoding, "replace").decode(console.encoding)


def _has_unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _print_table(console: Console, outcomes: Sequence[Outcome]) -> None:
    if console.is_terminal:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for k, heading in enumerate(_report.HEADINGS):
            justify: Literal["left", "right"] = "right" if k else "left"
            table.add_column(_encodable(console, "\n".join(heading)), justify=justify, no_wrap=True)
        for row in _report.rows(outcomes):
            cells = [Text(text, style="" if row[1] else "dim") for text in row]
            for cell in cells[1:3]:
                reached = bool(cell.plain) and float(cell.plain) >= GOAL
                cell.stylize("green" if reached else "red")
            table.add_row(*cells)
        console.print(table)
    else:
        _print(console, _report.table(outcomes))
    _print(console, ["", *_report.LEGEND.splitlines(), "", *_report.summary(outcomes)])


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[str, str | None], None]]:
    """A progress bar on a terminal, nothing in a pipe.

    Gives a function to call with a problem's name and what is being done to it, None when it
    is finished.
    """
    if not console.is_terminal:
        yield lambda name, what: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shape = (TextColumn("{task.description:30}"), BarColumn(), MofNCompleteColumn())
    with Progress(*shape, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(name: str, what: str | None) -> None:
            if what is None:
                bar.advance(task)
            else:
                bar.update(task, description=f"{name}: {what}")

        yield step

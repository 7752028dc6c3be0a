"""``symgrad verify``: compiled derivatives against exact ones."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from .._api._verify import recheck, verify
from .._verify import Certificate, Report
from ..errors import ArgumentError, VerificationError
from . import _target
from ._output import Output, complain

SAYS = "compare compiled values and derivatives with exact ones, in units in the last place"

EXAMPLES = f"""{_target.HELP}

examples:
  symgrad verify "x*sin(x)" --args 1.5                      at one point
  symgrad verify "x*sin(x)" --domain -3:3                   all over an interval
  symgrad verify "x**y" --domain x=0.1:3 y=-2:2 --json certificate.json
  symgrad verify model.py:energy --args "rand(5)" 2.0
  symgrad verify model.py:energy --args "rand(5)" 2.0 --domain x=0:1 --points 100 --seed 1
  symgrad verify --recheck certificate.json                 compute everything anew

exit status: 0 all entries are as exact as allowed; 1 one is not; 2 a mistake in the input"""


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    _target.add_target(command, optional=True)
    _target.add_wrt(command)
    command.add_argument(
        "--domain", metavar="NAME=LOW:HIGH", nargs="+",
        help="intervals of the arguments; LOW:HIGH alone is for all",
    )  # fmt: skip
    command.add_argument("--points", type=int, default=32, help="random points of the domain")
    command.add_argument("--seed", type=int, default=0, help="of the random points")
    command.add_argument("--digits", type=int, default=50, help="of the exact values; default: 50")
    command.add_argument("--samples", type=int, default=256, help="elements of each result")
    command.add_argument("--limit", type=float, default=16.0, help="allowed error in ulp")
    command.add_argument("--json", metavar="PATH", type=Path, help="also write the report there")
    command.add_argument("--recheck", metavar="PATH", type=Path, help="check a saved certificate")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    try:
        report = _again(options) if options.recheck is not None else _verified(options)
    except VerificationError as error:
        complain(str(error))
        return 1
    Output().table(report.table())
    if options.json is not None:
        try:
            options.json.write_text(report.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"--json {options.json}: {error.strerror}") from None
    return 0


def _again(options: argparse.Namespace) -> Certificate:
    if options.target is not None:
        target = _target.load(options.target)
        return recheck(_existing(options.recheck), target.function,
                       *_target.arguments(options.args))  # fmt: skip
    return recheck(_existing(options.recheck))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}")
    return path


def _verified(options: argparse.Namespace) -> Report | Certificate:
    if options.target is None:
        raise ArgumentError("what is to be verified? Give a TARGET, or --recheck certificate.json")
    target = _target.load(options.target)
    f, arguments = target.function, _target.arguments(options.args)
    if target.formula is not None and not arguments and options.domain is None:
        intervals = " ".join(f"{s.name}=0.5:2" for s in target.symbols)
        numbers = " ".join("1.5" for _ in target.symbols)
        raise ArgumentError(
            "where is the formula to be verified? Over a domain, with --domain "
            f"{intervals}, or at a point, with --args {numbers}"
        )
    if arguments or options.domain is None:
        _target.matched(f, arguments)
    given: dict[str, Any] = {
        "wrt": options.wrt, "digits": options.digits, "samples": options.samples,
        "limit": options.limit,
    }  # fmt: skip
    if options.domain is not None:
        given |= {"domain": _domain(options.domain), "points": options.points,
                  "seed": options.seed}  # fmt: skip
    found: Report | Certificate = verify(f, *arguments, **given)
    return found


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INTERVAL = re.compile(rf"(?:(?P<name>\w+)=)?(?P<low>{_NUMBER}):(?P<high>{_NUMBER})")


def _domain(texts: list[str]) -> Any:
    """Return the intervals by name, or the one for all."""
    found: dict[str | None, tuple[float, float]] = {}
    for entry in texts:
        match = _INTERVAL.fullmatch(entry.strip())
        if match is None:
            raise ArgumentError(f"--domain {entry}: write NAME=LOW:HIGH, such as x=-1:2.5")
        if match["name"] in found:
            raise ArgumentError(f"--domain {entry}: a second interval for the same argument")
        found[match["name"]] = float(match["low"]), float(match["high"])
    if None not in found:
        return found
    if len(found) > 1:
        raise ArgumentError("--domain: one LOW:HIGH is for all arguments; write each NAME=LOW:HIGH")
    return found[None]

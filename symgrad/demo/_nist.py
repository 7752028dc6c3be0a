"""Reads NIST's certified nonlinear regression problems (StRD files).

Source: NIST/ITL Statistical Reference Datasets, nonlinear regression,
https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml (public domain). A file is plain text:
a header that says in which lines things stand, the model as a formula, two starting points,
the certified least-squares solution to 11 digits, and the observations.

Nothing is guessed: what the header says is compared with what the file holds, and a file that
is damaged, or no StRD file at all, gets a DataError with the file, the line and what was
expected there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..errors import DataError, ParseError
from ._model import Model, read_model
from ._problem import DIFFICULTIES, Problem, Vector

_MAX_BYTES = 10_000_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_RANGE = re.compile(r"(Starting Values|Certified Values|Data)\s+\(lines\s+(\d+)\s+to\s+(\d+)\)")


def read(path: Path | Traversable) -> Problem:
    """Read one StRD file.

    Raises
    ------
    DataError
        The file cannot be read, is damaged, or is no StRD file.
    """
    return _Reader(path).problem()


class _Reader:
    """The lines of one file, counted from 1 as the header counts them."""

    def __init__(self, path: Path | Traversable):
        self.path = path
        try:
            with path.open("rb") as stream:
                content = stream.read(_MAX_BYTES + 1)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        if len(content) > _MAX_BYTES:
            raise DataError(f"{path}: more than {_MAX_BYTES} bytes; StRD files are small")
        try:
            text = content.decode("ascii")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            byte = content[error.start]
            self.fail(line, f"byte 0x{byte:02x} is not ASCII; expected a NIST StRD text file")
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.ranges: dict[str, tuple[int, int]] = {}

    def fail(self, line: int, what: str) -> NoReturn:
        raise DataError(f"{self.path}, line {line}: {what}")

    def line(self, number: int) -> str:
        return self.lines[number - 1] if number <= len(self.lines) else ""

    def find(self, start: str, first: int, last: int) -> int:
        """The number of the line that begins with ``start``."""
        for number in range(first, min(last, len(self.lines)) + 1):
            if self.line(number).startswith(start):
                return number
        self.fail(min(last, len(self.lines)), f"expected a line {start!r} up to here")

    def section(self, start: str, first: int, last: int) -> tuple[int, list[str]]:
        """A headed block: its line number, and its lines without the heading."""
        number = self.find(start, first, last)
        block = [self.line(number)[len(start) :].strip()]
        for following in range(number + 1, last + 1):
            if re.match(r"[A-Z][A-Za-z ]*:", self.line(following)):
                break
            block.append(self.line(following).strip())
        return number, block

    def number(self, line: int, token: str) -> float:
        value = float(token) if _NUMBER.fullmatch(token) else math.nan
        if not math.isfinite(value):
            self.fail(line, f"expected a number, found {token!r}")
        return value

    # ------------------------------------------------------------ the file, from the top

    def problem(self) -> Problem:
        if self.line(1).strip() != "NIST/ITL StRD":
            self.fail(1, f"expected 'NIST/ITL StRD', found {self.line(1)[:60].strip()!r}")
        match = re.match(r"Dataset Name:\s+(\w+)", self.line(2))
        if match is None:
            self.fail(2, f"expected 'Dataset Name:  ...', found {self.line(2)[:60].strip()!r}")
        self.read_ranges()
        head = self.ranges["Starting Values"][0] - 1
        _, description = self.section("Description:", 3, head)
        _, reference = self.section("Reference:", 3, head)
        at, facts = self.section("Data:", 3, head)
        count, observations, difficulty = self.read_facts(at, facts)
        at, model = self.section("Model:", at, head)
        parameters = self.read_parameter_count(at, model)
        start1, start2, certified, deviations = self.read_parameters(parameters)
        predictors, columns = self.read_data(count, observations)
        rss, dof = self.read_sums(observations, len(parameters))
        equation = self.read_model(at, model, predictors, parameters)
        y = columns[0]
        return Problem(
            name=match.group(1),
            difficulty=difficulty,
            model_class=" ".join(word for word in model[0].split() if word != "Class"),
            description=" ".join(filter(None, description)),
            reference=" ".join(filter(None, reference)),
            formula=equation.formula,
            response=equation.response,
            model=equation.model,
            predictors=predictors,
            parameters=parameters,
            start1=start1,
            start2=start2,
            certified=certified,
            deviations=deviations,
            rss=rss,
            dof=dof,
            x=tuple(columns[1:]),
            y=y,
            target=self.read_target(equation, y),
        )

    def read_ranges(self) -> None:
        for number in range(3, 21):
            match = _RANGE.search(self.line(number))
            if match is None:
                continue
            what, first, last = match.group(1), int(match.group(2)), int(match.group(3))
            if not number < first <= last:
                self.fail(number, f"lines {first} to {last} are no range after this line")
            end = len(self.lines) - (self.lines[-1] == "")
            if last > end:
                self.fail(
                    end,
                    f"the file ends here, but its line {number} puts {what.lower()} in lines "
                    f"{first} to {last}: it is truncated",
                )
            self.ranges[what] = first, last
        for what in ("Starting Values", "Certified Values", "Data"):
            if what not in self.ranges:
                self.fail(min(20, len(self.lines)), f"expected '{what} (lines m to n)' up to here")

    def read_facts(self, at: int, facts: list[str]) -> tuple[int, int, str]:
        """Number of predictors and observations, and the difficulty."""
        text = "\n".join(facts)
        predictors = re.search(r"^(\d{1,6})\s+Predictor", text, re.MULTILINE)
        observations = re.search(r"^(\d{1,6})\s+Observations", text, re.MULTILINE)
        difficulty = re.search(r"^(\w+) Level of Difficulty", text, re.MULTILINE)
        if predictors is None:
            self.fail(at, "expected '... Predictor Variable' in this block")
        if observations is None:
            self.fail(at, "expected '... Observations' in this block")
        if difficulty is None or difficulty.group(1) not in DIFFICULTIES:
            self.fail(at, "expected 'Lower, Average or Higher Level of Difficulty' in this block")
        return int(predictors.group(1)), int(observations.group(1)), difficulty.group(1)

    def read_parameter_count(self, at: int, model: list[str]) -> tuple[str, ...]:
        match = re.match(r"(\d{1,3})\s+Parameters?\b", model[1]) if len(model) > 1 else None
        if match is None:
            self.fail(at + 1, "expected the number of parameters: '3 Parameters (b1 to b3)'")
        return tuple(f"b{k}" for k in range(1, int(match.group(1)) + 1))

    def read_parameters(self, parameters: Sequence[str]) -> tuple[Vector, Vector, Vector, Vector]:
        first, last = self.ranges["Starting Values"]
        if last - first + 1 != len(parameters):
            self.fail(
                first,
                f"the header has starting values in lines {first} to {last}, but the model has "
                f"{len(parameters)} parameters",
            )
        rows = []
        for number, name in enumerate(parameters, first):
            left, _, right = self.line(number).partition("=")
            tokens = right.split()
            if left.strip() != name or len(tokens) != 4:
                self.fail(
                    number,
                    f"expected '{name} = start1 start2 certified deviation', found "
                    f"{self.line(number).strip()!r}",
                )
            rows.append([self.number(number, token) for token in tokens])
        start1, start2, certified, deviations = (_frozen(column) for column in zip(*rows))  # noqa: B905
        return start1, start2, certified, deviations

    def read_sums(self, observations: int, parameters: int) -> tuple[float, int]:
        """The certified residual sum of squares, and the degrees of freedom."""
        first, last = self.ranges["Starting Values"][1], self.ranges["Certified Values"][1]
        values = {}
        for label in (
            "Residual Sum of Squares:",
            "Residual Standard Deviation:",
            "Number of Observations:",
        ):
            number = self.find(label, first, last)
            values[label] = number, self.number(number, self.line(number)[len(label) :].strip())
        (_, rss), (at, deviation), (at_count, count) = values.values()
        if count != observations:
            self.fail(at_count, f"{count:g} observations here, {observations} in the header")
        # Not the file's own line: Rat43 says 9 for 15 observations and 4 parameters.
        dof = observations - parameters
        if dof < 1:
            self.fail(at_count, f"{observations} observations for {parameters} parameters")
        # Both are given to 11 digits, so this is a check sum over the two lines.
        if rss < 0 or not math.isclose(math.sqrt(rss / dof), deviation, rel_tol=1e-9):
            self.fail(at, "not the root of (sum of squares)/(degrees of freedom)")
        return rss, dof

    def read_data(self, count: int, observations: int) -> tuple[tuple[str, ...], list[Vector]]:
        first, last = self.ranges["Data"]
        heading = self.line(first - 1).split()
        if len(heading) != count + 2 or heading[:2] != ["Data:", "y"]:
            self.fail(first - 1, f"expected 'Data:  y' and the names of {count} predictors")
        if last - first + 1 != observations:
            self.fail(
                first,
                f"the header has data in lines {first} to {last}, but {observations} observations",
            )
        for number in range(last + 1, len(self.lines) + 1):
            if self.line(number).strip():
                self.fail(number, f"expected the end of the file after line {last}")
        rows = []
        for number in range(first, last + 1):
            tokens = self.line(number).split()
            if len(tokens) != count + 1:
                self.fail(
                    number, f"expected {count + 1} numbers, found {self.line(number).strip()!r}"
                )
            rows.append([self.number(number, token) for token in tokens])
        return tuple(heading[2:]), [_frozen(column) for column in zip(*rows)]  # noqa: B905

    def read_model(
        self, at: int, block: list[str], predictors: Sequence[str], parameters: Sequence[str]
    ) -> Model:
        """The formula, which may span lines and be preceded by lines such as ``pi = 3.14``."""
        statements: list[tuple[int, str]] = []
        for number, line in enumerate(block[2:], at + 2):
            if line.lower().startswith("start"):
                break  # the heading of the parameter table
            if "=" in line:
                statements.append((number, line))
            elif line and statements:
                begun, text = statements[-1]
                statements[-1] = begun, f"{text} {line}"
            elif line:
                self.fail(number, f"expected the model's formula, found {line!r}")
        if not statements:
            self.fail(at, "expected the model's formula below this line")
        definitions: dict[str, float] = {}
        for number, text in statements[:-1]:
            name, _, value = (part.strip() for part in text.partition("="))
            if not name.isidentifier():
                self.fail(number, f"expected 'name = number' above the formula, found {text!r}")
            definitions[name] = self.number(number, value)
        number, text = statements[-1]
        try:
            return read_model(text, predictors, parameters, definitions)
        except ParseError as error:
            self.fail(number, f"the model cannot be read: {error}")

    def read_target(self, model: Model, y: Vector) -> Vector:
        with np.errstate(all="ignore"):
            target = model.evaluate_response(y)
        if not np.all(np.isfinite(target)):
            row = int(np.argmin(np.isfinite(target)))
            self.fail(
                self.ranges["Data"][0] + row, f"{model.response} is not finite for y = {y[row]}"
            )
        return _frozen(target)


def _frozen(values: Sequence[float] | Vector) -> Vector:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array

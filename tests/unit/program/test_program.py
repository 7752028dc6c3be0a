"""Programs: names in source, numbers in files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.base.size_text import parse_relation, parse_size, relation_text, size_text
from symgrad._core.base.sizes import Dim, as_dim, evaluate_dim, evaluated, floor_div
from symgrad._core.graph import Input, apply
from symgrad._core.op import Bodied, Code, registry
from symgrad._core.program import schedule
from symgrad._core.program._json import number_to_json
from symgrad._core.program._read import number_from_json
from symgrad._core.program._source import function_name
from symgrad.errors import (
    DataError,
)
from tests.shared import executed

Program = sg.Program


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", registry.ops)
@pytest.mark.quick
def test_every_op_can_be_spelled(name: str) -> None:
    op = registry.ops[name]
    if not isinstance(op, Bodied):  # else its bodies are functions in the source
        assert Code.of(op).source is not None or function_name(op).startswith(("np.", "special."))


def test_source_of_names_that_are_not_unique() -> None:
    a, b = Input("x", (), np.float64), Input("x", (), np.float64)
    add = registry.ops["Subtract"]
    program = schedule([a, b], [apply(add, (a, b), (), (), a.dtype)])
    assert executed(program)(5.0, 3.0) == 2.0


NUMBERS = [0.1, -0.0, 1e300, 5e-324, np.inf, -np.inf, np.nan, 3.0, -2.5]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "?"])
def test_numbers_in_files_keep_their_bits(dtype: str) -> None:
    numbers = [*NUMBERS, 1 / 3, -np.pi] if dtype[0] == "f" else [0, 1, 2**64 - 1, -(2**63)]
    for number in numbers:
        value = np.asarray(number).astype(dtype)[()]
        text = json.loads(json.dumps(number_to_json(value)))
        assert number_from_json(text, value.dtype, "x").tobytes() == value.tobytes()
    odd = np.frombuffer(b"\x01\x02\x03\x04\x05\x06\xf7\xff", "f8")[0]  # a nan with a message
    assert number_from_json(number_to_json(odd), odd.dtype, "x").tobytes() == odd.tobytes()


# ---------------------------------------------------------------- sizes as text


N, M = Dim("n", 7), Dim("m", 5)
SIZES = {"n": N, "m": M}
EXPRESSIONS = [
    5, N, N - 1, 1 - N, -N, 2 * N - 3 * M, -2 * N * M, N * (N + 1), (N + 1) ** 2 - N, N**2,
    floor_div(N + 1, 2), 2 * floor_div(N, 2) - 1, floor_div(floor_div(N, 2), 3),
    floor_div(N * M, 3), floor_div(N * (N - 1), 2), N - 1 - 2 * floor_div(N + 1, 2),
    floor_div(N, M), -floor_div(-N, 2), sp.Mod(N, 3) * 2, sp.Mod(N + M, 4), sp.Max(N, M - 1),
    sp.Min(3, N) * M, N * floor_div(M, 2),
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_sizes_as_text(expression: Any) -> None:
    text = size_text(expression)
    back = parse_size(text, SIZES)
    assert back == as_dim(expression)
    assert str(back) == str(expression)
    for n, m in ((7, 5), (2, 9), (4, 2)):
        sizes = {N: n, M: m}
        assert eval(text, {"n": n, "m": m}) == evaluate_dim(expression, sizes)
        assert evaluate_dim(expression, sizes) == sp.sympify(expression).xreplace(sizes)


@pytest.mark.parametrize("relation", [sp.Eq, sp.Ne, sp.Lt, sp.Le, sp.Gt, sp.Ge])
def test_relations_as_text(relation: Any) -> None:
    guard = relation(N - 1, 3, evaluate=False)
    assert parse_relation(relation_text(guard), SIZES) == guard
    for n in (3, 4, 5):
        assert evaluated(guard, {N: n}.__getitem__) is bool(guard.xreplace({N: sp.Integer(n)}))


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('x')", "n.hint", "n[0]", "9**9**9", "(9)**64", "1.5", "n/2", "k",
     "n if n else m", "max()", "max(n, key=m)", "n//0", "n % 0", "lambda: 1", "(" * 300,
     "-" * 3000 + "1", "(n + m)*" * 20 + "1", "(n + m)**60", "True", "9" * 30, "n < m", "",
     "n and m", "[n]", "f'{n}'", "n := 3", "n + " * 2000 + "n", "abs(n)", "'n'", "n\0"],
)  # fmt: skip
def test_text_that_is_no_size(text: str) -> None:
    with pytest.raises(DataError, match="is no size"):
        parse_size(text, SIZES)


def test_what_has_no_text() -> None:
    with pytest.raises(DataError, match="cannot be written"):
        size_text(sp.sqrt(N))
    with pytest.raises(DataError, match="no comparison"):
        relation_text(sp.And(N > 9, M > 9))

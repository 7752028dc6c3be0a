"""Where values and derivatives were further off than the aim of docs/accuracy.md allows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import symgrad as sg
from symgrad._op import registry

PAGE = Path(__file__).parents[1] / "docs" / "build_accuracy.py"
#: The op, the number of the real operand to differentiate by or None, the point.
POINTS: list[tuple[str, int | None, tuple[float, ...]]] = [
    ("Cbrt", None, (6.530748266090969,)),
    ("Cbrt", 0, (-2.048322678115049,)),
    ("Bei2", 0, (2.3183018695725064,)),
    ("Beip", 0, (2.108624238623803,)),
    ("Ber2", None, (2.061955627013721,)),
    ("CosineIntegral", None, (3.88635212803603,)),
    ("CosineIntegral", None, (1.6700657732839952,)),
    ("Erfi", None, (-0.012506258425982963,)),
    ("Expi", None, (4.682785012875907,)),
    ("FresnelC", None, (-1.0057209071640685,)),
    ("Gamma", None, (1.4035236535747175,)),
    ("HyperbolicSineIntegral", None, (0.8544262050254565,)),
    ("I1e", None, (1.6019500929748336,)),
    ("I1e", 0, (0.652724588579751,)),
    ("Binom", 1, (4.932506041150751, 0.30081186328869186)),
]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_accuracy", PAGE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "by", "at"), POINTS)
def test_within_the_aim(
    build: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    by: int | None,
    at: tuple[float, ...],
) -> None:
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", "0")
    op = registry.ops[name]
    f, _, _ = build.function_of(op)
    own = build.Conditioning(op)
    value, slopes = sg.value_and_grad(f, argnums=tuple(range(len(at))))(*at)
    found = float(value if by is None else slopes[by])
    operands = dict(own.fixed)
    operands.update({k: own.context.mpf(x) for k, x in zip(own.free, at, strict=True)})
    formula = own.rule.value if by is None else own.rule.slopes[own.free[by]]
    want = formula(own.context, [operands[k] for k in range(op.arity)])
    ulp = float(abs(own.context.mpf(found) - want)) / np.spacing(abs(float(want)))
    assert ulp <= build.SCALAR * (1 + own.at(by, at))

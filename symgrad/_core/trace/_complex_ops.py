"""How ops act on complex values: on pairs of traced real ones, as their records say."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError, UnsupportedError
from ..op import Linear, Map, Op
from ..ops import CAST
from ._bind import bind
from ._complex import Complex, complex_of, is_complex, lifted
from ._traced import Traced

_LINEAR = ("view", "assemble", "gather", "scatter", "reduce", "scan", "map")


def bind_complex(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Apply an op to operands of which one is complex, part by part."""
    if not any(map(is_complex, operands)):
        if op is not CAST or np.dtype(params["dtype"]).kind != "c":
            return Traced(bind(op, operands, params))
        operands = (complex_of(*operands),)
    if op.parts is not None:
        result = op.parts(*map(lifted, operands), **params)
        if not isinstance(result, tuple):
            return result
        # A part may be that of an operand, which keeps its own name.
        return Complex.of(*(x.own(x.layout) if isinstance(x, Traced) else x for x in result))
    if op.kind == "contract":
        a, b = map(lifted, operands)
        return _bilinear(op, a, b, params)
    if op.kind in _LINEAR and op.linear is not None:
        return _linear(op, op.linear, operands, params)
    raise UnsupportedError(
        f"{op.name} is not defined for complex values"
        f"{'' if isinstance(op, Map) else ' here'}: take z.real, z.imag or np.abs(z), or write it "
        "in functions that are (see the page on complex numbers, docs/complex.md)"
    )


def _linear(op: Op, rule: Linear, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Apply an op that is linear in its operands, or some of them, to each part."""
    places = rule.places(len(operands))
    values = [complex_of(x) if k in places else x for k, x in enumerate(operands)]
    for k, x in enumerate(operands):
        if k not in places and is_complex(x):
            raise DTypeError(f"{op.name}: a complex value cannot be a condition or an index")
    return Complex.of(
        *(
            op(*(getattr(x, part) if k in places else x for k, x in enumerate(values)), **params)
            for part in ("real", "imag")
        )
    )


def _bilinear(op: Op, a: Any, b: Any, params: dict[str, Any]) -> Any:
    """Apply a product of two operands: four real products, or two if one of them is real."""
    if not isinstance(a, Complex):
        return Complex.of(op(a, b.real, **params), op(a, b.imag, **params))
    if not isinstance(b, Complex):
        return Complex.of(op(a.real, b, **params), op(a.imag, b, **params))
    return Complex.of(
        op(a.real, b.real, **params) - op(a.imag, b.imag, **params),
        op(a.real, b.imag, **params) + op(a.imag, b.real, **params),
    )

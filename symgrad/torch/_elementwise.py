"""Elementwise functions by PyTorch's names.

On tensors they go straight to the op; NumPy's way to it takes half a microsecond more. On
arrays, numbers and traced values they are NumPy's and SciPy's own universal functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

from .._core.op import Evidence, Op, registry
from .._core.trace import Traced
from .._tensor._record import Step, apply, bind
from .._tensor._tensor import Tensor
from ._arguments import example

_NONE: dict[str, Any] = {}
_WHERE = registry.ops["Where"]
_RELU = Step(_WHERE, {})
_RELU.mixes = _RELU.copies = False  # the condition is of its own


def _elementwise(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    record: Any = registry.handlers[ufunc]
    function = (_unary if ufunc.nin == 1 else _binary)(ufunc, record)
    module = "np" if getattr(np, ufunc.__name__, None) is ufunc else "special"
    numbers = ", ".join(str(low + (high - low) * 0.75) for low, high in Evidence.of(record).samples)
    tensors = ", ".join(f"torch.tensor({x})" for x in numbers.split(", "))
    where = "import numpy as np" if module == "np" else "from scipy import special"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Apply ``{module}.{ufunc.__name__}``, element by element.

    On arrays, numbers and traced values it is that function.

    Examples
    --------
    >>> {where}
    >>> import symgrad.torch as torch
    >>> bool(torch.{name}({tensors}) == {module}.{ufunc.__name__}({numbers}))
    True
    """
    return function


def _unary(ufunc: np.ufunc, op: Op) -> Callable[..., Any]:
    def function(input: Any, /, **options: Any) -> Any:
        if isinstance(input, Tensor) and not options:
            return bind(op, (input,), _NONE)
        return ufunc(input, **options)

    return function


def _binary(ufunc: np.ufunc, op: Op) -> Callable[..., Any]:
    def function(input: Any, other: Any, /, **options: Any) -> Any:
        if "alpha" in options:  # add(x, y, alpha=2) is x + 2 y
            other = options.pop("alpha") * other
        if isinstance(input, Tensor) and not options and not isinstance(other, Traced):
            return bind(op, (input, other), _NONE)
        return ufunc(input, other, **options)

    return function


abs = _elementwise("abs", np.absolute)
acos = arccos = _elementwise("acos", np.arccos)
acosh = arccosh = _elementwise("acosh", np.arccosh)
add = _elementwise("add", np.add)
asin = arcsin = _elementwise("asin", np.arcsin)
asinh = arcsinh = _elementwise("asinh", np.arcsinh)
atan = arctan = _elementwise("atan", np.arctan)
atan2 = arctan2 = _elementwise("atan2", np.arctan2)
atanh = arctanh = _elementwise("atanh", np.arctanh)
ceil = _elementwise("ceil", np.ceil)
cos = _elementwise("cos", np.cos)
cosh = _elementwise("cosh", np.cosh)
digamma = _elementwise("digamma", special.psi)
div = divide = true_divide = _elementwise("div", np.divide)
eq = _elementwise("eq", np.equal)
erf = _elementwise("erf", special.erf)
erfc = _elementwise("erfc", special.erfc)
erfinv = _elementwise("erfinv", special.erfinv)
exp = _elementwise("exp", np.exp)
exp2 = _elementwise("exp2", np.exp2)
expm1 = _elementwise("expm1", np.expm1)
floor = _elementwise("floor", np.floor)
floor_divide = _elementwise("floor_divide", np.floor_divide)
fmod = _elementwise("fmod", np.fmod)
ge = _elementwise("ge", np.greater_equal)
gt = _elementwise("gt", np.greater)
heaviside = _elementwise("heaviside", np.heaviside)
hypot = _elementwise("hypot", np.hypot)
isfinite = _elementwise("isfinite", np.isfinite)
isinf = _elementwise("isinf", np.isinf)
isnan = _elementwise("isnan", np.isnan)
le = _elementwise("le", np.less_equal)
lgamma = _elementwise("lgamma", special.gammaln)
log = _elementwise("log", np.log)
log10 = _elementwise("log10", np.log10)
log1p = _elementwise("log1p", np.log1p)
log2 = _elementwise("log2", np.log2)
logaddexp = _elementwise("logaddexp", np.logaddexp)
logical_and = _elementwise("logical_and", np.logical_and)
logical_not = _elementwise("logical_not", np.logical_not)
logical_or = _elementwise("logical_or", np.logical_or)
logical_xor = _elementwise("logical_xor", np.logical_xor)
lt = _elementwise("lt", np.less)
maximum = _elementwise("maximum", np.maximum)
minimum = _elementwise("minimum", np.minimum)
mul = multiply = _elementwise("mul", np.multiply)
ne = _elementwise("ne", np.not_equal)
neg = negative = _elementwise("neg", np.negative)
pow = _elementwise("pow", np.power)
remainder = _elementwise("remainder", np.remainder)
sigmoid = _elementwise("sigmoid", special.expit)
sign = _elementwise("sign", np.sign)
sin = _elementwise("sin", np.sin)
sinh = _elementwise("sinh", np.sinh)
sqrt = _elementwise("sqrt", np.sqrt)
square = _elementwise("square", np.square)
sub = subtract = _elementwise("sub", np.subtract)
tan = _elementwise("tan", np.tan)
tanh = _elementwise("tanh", np.tanh)
trunc = _elementwise("trunc", np.trunc)


# ---------------------------------------------------------------- of several


@example("torch.relu(torch.tensor([-1.0, 2.0]))", "tensor([0., 2.])")
def relu(input: Any) -> Any:
    """Return the positive part, and nan of nan; its derivative at 0 is 0."""
    if isinstance(input, Tensor):
        return apply(_RELU, (input._data <= 0, 0.0 if input.dtype.kind == "f" else 0, input))
    return _WHERE(input <= 0, 0.0, input)


@example(
    "torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0.0, 1.0)", "tensor([0.0000, 0.5000, 1.0000])"
)
def clamp(input: Any, min: float | None = None, max: float | None = None) -> Any:
    """Return the elements limited to a range."""
    return np.clip(input, min, max)


_reciprocal = _elementwise("reciprocal", np.reciprocal)


@example("torch.reciprocal(torch.tensor([2, -4]))", "tensor([ 0.5000, -0.2500])")
def reciprocal(input: Any) -> Any:
    """Return one over each element, also of integers (for which NumPy's has no fractions)."""
    return _reciprocal(input) if np.result_type(input).kind == "f" else 1.0 / input


@example("torch.rsqrt(x[1, 1])", "tensor(0.5000)")
def rsqrt(input: Any) -> Any:
    """Return one over the square root."""
    return 1 / np.sqrt(input)


@example("torch.lerp(x[0], x[1], 0.5)", "tensor([2.5000, 2.5000])")
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Return ``start`` plus ``weight`` of the way to ``end``."""
    return input + weight * (end - input)


@example("torch.addcmul(x[0], x[0], x[1], value=0.5)", "tensor([6., 3.])")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """Return ``input`` plus ``value`` times the product of two tensors."""
    product = tensor1 * tensor2
    return input + (product if value == 1 else value * product)


@example("torch.addcdiv(x[0], x[0], x[1], value=4)", "tensor([9., 2.])")
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """Return ``input`` plus ``value`` times the quotient of two tensors."""
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else value * quotient)


@example("torch.frac(x / 2)", "tensor([[0.5000, 0.5000],\n        [0.0000, 0.0000]])")
def frac(input: Any) -> Any:
    """Return the elements without their whole parts, with their signs."""
    return input - np.trunc(input)


@example("torch.round(x / 2)", "tensor([[2., 0.],\n        [1., 2.]])")
def round(input: Any, *, decimals: int = 0) -> Any:
    """Return the elements rounded to so many decimals; halves to even numbers."""
    return np.round(input, decimals)


@example("torch.nan_to_num(x[0] * float('inf'), posinf=9.0)", "tensor([9., 9.])")
def nan_to_num(
    input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Return the elements, with numbers for nan and infinities."""
    return np.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


# ---------------------------------------------------------------- questions


@example("torch.isclose(x[0], x[0] + 1e-12)", "tensor([True, True])")
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    """Tell for each element whether it is nearly that of the other."""
    return np.isclose(input, other, rtol, atol)


@example("torch.allclose(x, x + 1e-12)", "True")
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Tell whether all elements are nearly those of the other."""
    return bool(np.allclose(input, other, rtol, atol))


@example("torch.equal(x, x + 1e-12)", "False")
def equal(input: Any, other: Any) -> bool:
    """Tell whether two tensors have one shape and the same elements."""
    return bool(np.array_equal(input, other))


@example("torch.is_tensor(x)", "True")
def is_tensor(obj: Any) -> bool:
    """Tell whether a value is a tensor."""
    return isinstance(obj, Tensor)


@example("torch.numel(x)", "4")
def numel(input: Any) -> int:
    """Return the number of elements."""
    return int(np.size(input))


__all__ = [
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "allclose", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "ceil",
    "clamp", "cos", "cosh", "digamma", "div", "divide", "eq", "equal", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "floor", "floor_divide", "fmod", "frac", "ge", "gt", "heaviside",
    "hypot", "is_tensor", "isclose", "isfinite", "isinf", "isnan", "le", "lerp", "lgamma", "log",
    "log1p", "log2", "log10", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "maximum", "minimum", "mul", "multiply", "nan_to_num", "ne", "neg",
    "negative", "numel", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "sigmoid",
    "sign", "sin", "sinh", "sqrt", "square", "sub", "subtract", "tan", "tanh", "true_divide",
    "trunc",
]  # fmt: skip

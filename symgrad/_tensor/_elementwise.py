"""Elementwise functions by PyTorch's names: NumPy's and SciPy's own universal functions.

They work on tensors, arrays, numbers and traced values alike, since ``sg.sin`` is ``np.sin``.
"""

import numpy as np
import scipy.special as special

abs = np.absolute  # noqa: A001
acos = np.arccos
acosh = np.arccosh
add = np.add
asin = np.arcsin
asinh = np.arcsinh
atan = np.arctan
atan2 = np.arctan2
atanh = np.arctanh
ceil = np.ceil
cos = np.cos
cosh = np.cosh
div = np.divide
erf = special.erf
erfc = special.erfc
exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
floor = np.floor
isnan = np.isnan
log = np.log
log10 = np.log10
log1p = np.log1p
log2 = np.log2
matmul = np.matmul
maximum = np.maximum
minimum = np.minimum
mul = np.multiply
neg = np.negative
pow = np.power  # noqa: A001
reciprocal = np.reciprocal
sigmoid = special.expit
sign = np.sign
sin = np.sin
sinh = np.sinh
sqrt = np.sqrt
square = np.square
sub = np.subtract
tan = np.tan
tanh = np.tanh

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "div",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "matmul",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "pow",
    "reciprocal",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
]

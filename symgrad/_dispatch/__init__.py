"""Compiled functions: dispatch on the kinds of arguments, kernels, and finding those on disk."""

from .._capture._adaptation import adapted
from .._capture._call import Call, Given
from .._core.codegen.cache import loaded, usable_folder
from ._foreign import c_names
from ._function import Function
from ._options import Arrays, Differentiable, P, R, S, Ufunc, X, backend
from ._recall import Stored, remove, stored
from ._specialization import Specialization

"""A NumPy function as a primitive of JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.base.fork_safety import undisturbed
from ..errors import MissingExtraError, ShapeError
from ._flat import Bridge, Flat, Kind, Nest, UnfitLeafError, places_of, with_constants
from ._xla import NUMBER, TARGET, Entry, registered


def to_jax(f: Callable[..., Any]) -> JaxFunction:
    """Return a NumPy function as a function of JAX arrays, which JAX transforms.

    The value and all derivatives are compiled by symgrad, and run on the CPU.

    Parameters
    ----------
    f:
        A NumPy function of arrays, numbers and containers of them, or one that symgrad made. It
        is pure, and returns arrays and numbers, nested as needed.

    Returns
    -------
    JaxFunction
        Call it like ``f``, with arrays of JAX's or NumPy's among the arguments; Python's numbers
        and other hashable values are constants. Its results are arrays of JAX's, nested as those
        of ``f``. ``jax.jit``, ``grad``, ``jvp``, ``vjp``, ``linearize``, ``jacfwd``, ``jacrev``,
        ``hessian`` and ``vmap`` work, in any nesting and to any order.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.
    ArgumentError, DTypeError
        When called, for arguments that are neither arrays nor hashable, for element types that
        NumPy does not have, and for results that are neither arrays nor numbers.
    ShapeError
        If results have other shapes than in the trace that told JAX of them.

    Notes
    -----
    A primitive: under ``jit`` on the CPU it is a call by XLA's foreign function interface,
    elsewhere a ``jax.pure_callback``. Its derivatives are such primitives again, and that of a
    batch is compiled as a batch. JAX asks for the shapes of results before
    there are values, so ``f`` is traced with ones in place of the arguments. Element types follow
    JAX: float32, unless ``jax_enable_x64`` is set.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> import jax  # doctest: +SKIP
    >>> area = sg.to_jax(lambda p: np.sqrt(np.prod(p)))  # doctest: +SKIP
    >>> jax.jit(jax.grad(area))(np.array([2.0, 8.0]))  # doctest: +SKIP
    Array([1.  , 0.25], dtype=float32)
    """
    return JaxFunction(f)


class JaxFunction(Bridge):
    """A NumPy function of JAX arrays; made by :func:`symgrad.to_jax`."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._jax, self._primitive = _loaded()
        super().__init__(f, to_jax)

    def _applied(self, flat: Flat, leaves: list[Any]) -> Any:
        operands, constants = [], []
        for k, leaf in enumerate(leaves):
            if isinstance(leaf, list):  # of numbers
                leaf = np.asarray(leaf)
            if isinstance(leaf, self._jax.Array | np.ndarray | np.generic):
                operands.append(self._jax.numpy.asarray(leaf))
                continue
            try:
                hash(leaf)
            except TypeError:
                raise UnfitLeafError(
                    k,
                    f"is a {type(leaf).__name__}, and not an array, a number or another hashable "
                    "value, by which JAX finds what it has compiled",
                ) from None
            constants.append((k, type(leaf), leaf))
        call = Call(flat, tuple(constants))
        found = self._primitive.bind(*operands, call=call)
        _, nest = call.kinds(operands)
        assert nest is not None
        return nest.pack(found)


@dataclass(frozen=True)
class Call:
    """A function of the arrays among the leaves: the parameter of the primitive.

    Attributes
    ----------
    flat:
        The function of all leaves.
    constants:
        Those that are no arrays: position, type and value.
    moved:
        Of a function that pushes tangents forward: the function whose tangents they are, and
        the positions among its arrays to which tangents belong. They are the last arrays.
    """

    flat: Flat
    constants: tuple[tuple[int, type, Any], ...]
    moved: tuple[Call, tuple[int, ...]] | None = None

    def leaves(self, arrays: Sequence[Any]) -> list[Any]:
        """Return all leaves."""
        return with_constants(arrays, ((k, value) for k, _, value in self.constants))

    def _places(self, wrt: Sequence[int]) -> tuple[int, ...]:
        """Return the positions of some of the arrays among the leaves."""
        return places_of(wrt, self.flat.count, (k for k, *_ in self.constants))

    def kinds(self, arrays: Sequence[Any]) -> tuple[list[Kind], Nest | None]:
        """Return the kinds of the results, for arrays of which only the kinds are read."""
        ones = [np.ones(x.shape, x.dtype) for x in arrays]
        key = self.constants, *((x.shape, x.dtype) for x in ones)
        known = self.flat.known
        if key not in known:
            known[key] = self.flat.kinds(self.leaves(ones))
        return known[key]

    def results(self, kinds: Sequence[Kind], *arrays: Any) -> list[np.ndarray[Any, Any]]:
        """Return the results, of these kinds."""
        found, _ = self.flat(self.leaves([np.asarray(x) for x in arrays]))
        shapes, told = [x.shape for x in found], [kind.shape for kind in kinds]
        if shapes != told:
            raise ShapeError(
                f"to_jax: results of shapes {told} were announced to JAX, where the function was "
                f"traced with ones, and now they are {shapes}: shapes must not depend on values"
            )
        return [np.asarray(x, kind.dtype) for x, kind in zip(found, kinds, strict=True)]

    def pullback(self, wrt: tuple[int, ...], cotangents: int) -> Call:
        """Return ``(*arrays, *cotangents) -> cotangents of the arrays wrt``."""
        return Call(self.flat.pullback(self._places(wrt), cotangents), self.constants)

    def pushforward(self, wrt: tuple[int, ...]) -> Call:
        """Return ``(*arrays, *tangents) -> tangents of the real results``."""
        return Call(self.flat.pushforward(self._places(wrt)), self.constants, (self, wrt))

    def batched(self, axes: Sequence[int | None]) -> Call:
        """Return the function of a batch."""
        every = with_constants(axes, ((k, None) for k, *_ in self.constants))
        return Call(self.flat.batched(tuple(every)), self.constants)


@functools.cache
def _loaded() -> tuple[Any, Any]:
    """Return JAX, and the primitive of which ``call`` is the parameter."""
    with undisturbed():
        try:
            import jax  # noqa: PLC0415
            import jax.numpy as jnp  # noqa: PLC0415
            from jax.extend.core import Primitive  # noqa: PLC0415
            from jax.interpreters import ad, batching, mlir  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("jax", "jax", "to_jax") from error

    primitive = Primitive("symgrad")
    primitive.multiple_results = True

    def announced(arrays: Sequence[Any], call: Call) -> list[Kind]:
        """Return the kinds of results as JAX has them."""
        kinds, _ = call.kinds(arrays)
        return [Kind(x.shape, jax.dtypes.canonicalize_dtype(x.dtype)) for x in kinds]

    def run(*arrays: Any, call: Call) -> list[Any]:
        return [jnp.asarray(x) for x in call.results(announced(arrays, call), *arrays)]

    primitive.def_impl(run)

    def abstract(*arrays: Any, call: Call) -> list[Any]:
        return [jax.core.ShapedArray(*kind) for kind in announced(arrays, call)]

    primitive.def_abstract_eval(abstract)

    def lowered(*arrays: Any, call: Call) -> Any:
        kinds = announced(arrays, call)
        shapes = [jax.ShapeDtypeStruct(*kind) for kind in kinds]
        return jax.pure_callback(functools.partial(call.results, kinds), shapes, *arrays)

    mlir.register_lowering(primitive, mlir.lower_fun(lowered, multiple_results=True))

    def lowered_for_xla(context: Any, *operands: Any, call: Call) -> Any:
        """Lower to a call of the handler, which lives as long as the compiled program."""
        arguments = [Kind(x.shape, np.dtype(x.dtype)) for x in context.avals_in]
        kinds = announced(arguments, call)
        entry = Entry(functools.partial(call.results, kinds), arguments, kinds)
        context.module_context.add_keepalive(entry)
        rule = jax.ffi.ffi_lowering(TARGET)
        return rule(context, *operands, **{NUMBER: np.int64(entry.number)})

    if registered():
        mlir.register_lowering(primitive, lowered_for_xla, platform="cpu")

    def moves(tangent: Any) -> bool:
        """Tell whether a tangent is not the zero of JAX's, nor that of integers."""
        return type(tangent) is not ad.Zero and tangent.dtype != jax.dtypes.float0

    def still(x: Any) -> Any:
        """Return the zero tangent of a result."""
        dtype = x.dtype if Kind(x.shape, x.dtype).real else jax.dtypes.float0
        return ad.Zero(jax.core.ShapedArray(x.shape, dtype))

    def pushed(arrays: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> Any:
        results = primitive.bind(*arrays, call=call)
        wrt = tuple(k for k, x in enumerate(tangents) if moves(x))
        moved: Iterator[Any] = iter(())
        if wrt:
            given = (tangents[k] for k in wrt)
            moved = iter(primitive.bind(*arrays, *given, call=call.pushforward(wrt)))
        reals = [wrt and Kind(x.shape, x.dtype).real for x in results]
        return results, [
            next(moved) if real else still(x) for x, real in zip(results, reals, strict=True)
        ]

    ad.primitive_jvps[primitive] = pushed

    def pulled(cotangents: Sequence[Any], *arrays: Any, call: Call) -> list[Any]:
        """Return the cotangents of arrays in which the function is linear."""
        free = tuple(k for k, x in enumerate(arrays) if ad.is_undefined_primal(x))
        seeds = [ad.instantiate_zeros(x) for x in cotangents]
        if call.moved is not None and free[0] >= len(arrays) - len(call.moved[1]):
            origin, wrt = call.moved
            first = len(arrays) - len(wrt)
            chosen = tuple(wrt[k - first] for k in free)
            given, call = list(arrays[:first]), origin.pullback(chosen, len(seeds))
        else:
            given = [jnp.zeros(x.aval.shape, x.aval.dtype) if k in free else x
                     for k, x in enumerate(arrays)]  # fmt: skip
            call = call.pullback(free, len(seeds))
        found = dict(zip(free, primitive.bind(*given, *seeds, call=call), strict=True))
        return [found.get(k) for k in range(len(arrays))]

    ad.primitive_transposes[primitive] = pulled

    def batched(arrays: Sequence[Any], axes: Sequence[Any], *, call: Call) -> Any:
        found = primitive.bind(*arrays, call=call.batched(axes))
        return found, [0] * len(found)

    batching.primitive_batchers[primitive] = batched
    return jax, primitive

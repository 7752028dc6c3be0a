"""What error messages say, and that nothing is half-done after an error."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special as sc
import scipy.stats

import symgrad as sg
import symgrad.numpy as snp
from symgrad import errors
from symgrad.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    NumberError,
    PathsWarning,
    ShapeError,
    SymgradError,
    TraceError,
    UnsupportedError,
)

x5 = np.arange(1.0, 6.0)
A = np.ones((2, 3))


def raises(make: Callable[..., Any], function: Callable[..., Any], *args: Any) -> SymgradError:
    """Return the error; it names a line of the function, and leaves the function usable."""
    g = make(function)
    messages = []
    for _ in range(2):  # the second time it fails the same way
        with pytest.raises(SymgradError) as caught:
            g(*args)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert g.traces == 0
    lines, first = inspect.getsourcelines(inspect.unwrap(function))
    match = re.search(r"\[test_errors\.py:(\d+)\]$", messages[0])
    assert match, messages[0]
    assert first <= int(match[1]) < first + len(lines)
    assert caught.value.where == match[0][1:-1]
    return caught.value


def traced_batch(function: Callable[..., Any]) -> Any:
    """Return what is traced with a batch in it: there examples are not computed one by one."""
    batch = sg.vmap(function)
    return sg.compile(lambda *args: batch(*args))


def says(error: SymgradError, kind: type, *parts: str) -> None:
    assert type(error) is kind
    for part in parts:
        assert part in str(error)


# ---------------------------------------------------------------- what needs a number


class Hidden:
    np, float, complex = np, float, complex


#: NumPy as a function finds it where no copy of the function has another in its place.
OF = weakref.proxy(Hidden)


def assigned(x: Any) -> Any:
    out = OF.np.zeros(5)
    out[0] = x[0]
    return out


def assigned_row(x: Any) -> Any:
    out = OF.np.zeros((5, 5))
    out[0] = x
    return out


def added_to_array(x: Any) -> Any:
    out = OF.np.zeros(5)
    out += x
    return out


TRUTH = ("a truth value", "`if`", "np.where(condition, a, b)")
LEAKS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "and": (lambda x: (x > 0) and x, (*TRUTH, "`&` for `and`")),
    "not": (lambda x: not x, TRUTH),
    "chained": (lambda x: 0 < x < 3, TRUTH),
    "in": (lambda x: 1.0 in x, TRUTH),
    "max": (lambda x: max(x[0], x[1], key=abs), TRUTH),
    "sorted": (lambda x: sorted(x), TRUTH),
    "float": (lambda x: OF.float(x[0]), ("a Python float", "Write instead: x itself", "np.sin(x)")),
    "int": (lambda x: int(x[0]), ("a Python int", "np.floor(x), np.rint(x), or x.astype(int)")),
    "whole": (lambda x: int(np.argmax(x)), ("a Python int", "x itself, which is whole already")),
    "complex": (lambda x: OF.complex(x[0]), ("a Python complex",)),
    "range": (lambda x: list(range(np.argmax(x))), ("an index", "np.take(array, x)")),
    "list index": (lambda x: [1, 2][x[0]], ("an index", "np.take(array, x)")),
    "array": (lambda x: OF.np.array([x[0], x[1]]), ("an array of numbers", "np.stack")),
    "asarray": (lambda x: OF.np.asarray(x), ("an array of numbers", "the traced argument x")),
    "item": (lambda x: x.item(), ("x.item()", "the value itself")),
    "format": (lambda x: f"{x[0]:.3f}", ("text", "sg.debug_print(x)")),
    "assigned": (assigned, ("assigned into a plain array", "within the function")),
    "assigned row": (assigned_row, ("an array of numbers", "made within the function")),
}  # fmt: skip


#: Decisions on a number take the side of the example, guarded; in a batch there is no one side.
GUARDED = {"in", "max", "sorted", "int", "whole", "range"}


@pytest.mark.parametrize("name", LEAKS)
def test_what_needs_a_number(name: str) -> None:
    function, parts = LEAKS[name]
    if name not in GUARDED:
        says(raises(sg.compile, function, x5), TraceError, *parts)
    else:
        batch = raises(traced_batch, function, np.stack([x5, x5]))
        says(batch, TraceError, *parts, "differ between the examples of a batch")


def test_the_message_has_shape_and_origin() -> None:
    error = raises(sg.compile, lambda x: OF.float(np.outer(x, x[1:])[0, 0] * 2), x5)
    assert re.search(r"a traced value \(shape \(\), made at test_errors\.py:\d+\)", str(error))
    error = raises(sg.compile, lambda weights: bool(weights), A)
    assert "the traced argument weights (shape (2, 3))" in str(error)


def test_errors_of_the_user_pass_unchanged() -> None:
    def f(x: Any) -> Any:
        raise ValueError("mine", 3)

    for function, kind in [
        (f, ValueError),
        (lambda x: 1 / 0, ZeroDivisionError),
        (lambda x: {}[x.ndim], KeyError),
        (lambda x: x.foo, AttributeError),
    ]:
        g = sg.compile(function)
        with pytest.raises(kind) as caught:
            g(x5)
        assert "test_errors" not in str(caught.value)
    with pytest.raises(TraceError, match=r"`x\.byteswap\(\)`.*Write instead"):
        sg.compile(lambda x: x.byteswap())(x5)
    with pytest.raises(TypeError, match="unsupported operand"):
        sg.compile(lambda x: x + "text")(x5)


def test_wrong_calls_are_pythons_errors() -> None:
    for args, kwargs, text in [((x5,), {}, "missing 1 required positional argument: 'y'"),
                               ((x5,) * 3, {}, "takes 2 positional arguments but 3 were given"),
                               ((x5,), {"z": 1}, "unexpected keyword argument 'z'")]:  # fmt: skip
        with pytest.raises(TypeError, match=text):
            sg.compile(lambda x, y: x)(*args, **kwargs)


# ---------------------------------------------------------------- what is not traced


def batched(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``f`` of one example of a batch, whose numbers decide nothing."""
    return lambda x: sg.vmap(f)(x[None])


UNSUPPORTED: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "bits": (np.packbits, ("numpy.packbits cannot be traced", "op table (docs/ops.md)")),
    "unique": (np.unique, ("numpy.unique", "depends on their values")),
    "nonzero": (batched(np.nonzero), ("numpy.nonzero", "Write instead: np.where(mask")),
    "where": (batched(np.where), ("numpy.where", "with one argument it gives places")),
    "returned mask": (
        batched(lambda x: x[x > 2]), ("x[mask] as a result", "np.where(mask, x, 0.0)"),
    ),
    "histogram2d": (lambda x: np.histogram2d(x, x), ("np.searchsorted", "np.bincount")),
    "scipy": (lambda x: sc.itairy(x), ("scipy.special.itairy cannot be traced",)),
    "add.at": (lambda x: np.add.at(OF.np.zeros(5), [0], x[:1]), ("np.add.at writes",)),
    "reduce": (np.power.reduce, ("numpy.power.reduce", "depends on the processor")),
    "out": (lambda x: np.sin(x, out=OF.np.zeros(5)), ("np.sin(..., out=)", "write `a = a + x`")),
    "augmented": (added_to_array, ("np.add(..., out=)", "augmented assignment")),
    "ufunc where": (lambda x: np.sin(x, where=x > 1), ("np.sin(..., where=)", "np.where")),
    "ufunc option": (lambda x: np.sin(x, signature="d->d"), ("np.sin(..., signature=)",)),
    "ufunc dtype": (lambda x: np.less(x, 1, dtype=float), ("np.less(..., dtype=float64)",)),
    "nansum where": (
        lambda x: np.nansum(x, where=[True] * 5), ("nansum: the option where=", "keepdims"),
    ),
    "sum out": (lambda x: np.sum(x, out=OF.np.zeros(())), ("np.sum(..., out=)", "symgrad.numpy")),
    "ptp initial": (lambda x: np.ptp(x, initial=3.0), ("ptp: the option initial=",)),
    "order": (lambda x: x.reshape(5, 1, order="K"), ("order='K'", "order='C' or order='F'")),
}  # fmt: skip


def test_data_that_decide_are_bound_as_errors_say() -> None:
    """Of an example of a batch the numbers are unknown; of what is bound they are known."""

    def selected(x: Any, data: Any) -> Any:
        return x**2 * len(data[data > 0])

    def placed(x: Any, data: Any) -> Any:
        return x**2 * len(np.flatnonzero(data > 0))

    data = np.array([1.0, -1.0, 2.0])
    for f in (selected, placed):
        batch = np.full(2, 3.0), np.stack([data, -data])
        said = "functools.partial(f, data=data)"
        says(raises(lambda f: traced_batch(sg.grad(f)), f, *batch), UnsupportedError, said)
        with pytest.warns(PathsWarning, match="one by one: .*test_errors.py"):
            np.testing.assert_array_equal(sg.vmap(sg.grad(f))(*batch), [12.0, 6.0])
        assert sg.grad(f)(3.0, data) == 12.0
        assert sg.grad(functools.partial(f, data=data))(3.0) == 12.0
        assert sg.grad(lambda x, f=f: f(x, data))(3.0) == 12.0


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_traced(name: str) -> None:
    function, parts = UNSUPPORTED[name]
    if getattr(function, "__module__", "") != __name__:
        function = wrapped(function)
    says(raises(sg.compile, function, x5), UnsupportedError, *parts)


@pytest.mark.parametrize(
    ("function", "kind", "parts"),
    [
        (lambda x: np.sum(x, where=x), ArgumentError, ("an array of truth values", "float64")),
        (lambda x: np.max(x, where=x > 1), NumberError, ("np.max(..., where=)", "initial=")),
        (lambda x: np.add(x, 1, out=snp.zeros(5, int)), DTypeError, ("out=)", "'same_kind'")),
    ],
    ids=["mask of numbers", "extremum of none", "out of another type"],
)
def test_options_that_numpy_refuses(
    function: Callable[[Any], Any], kind: type, parts: tuple[str, ...]
) -> None:
    says(raises(sg.compile, function, x5), kind, *parts)


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of this file that calls ``function``."""
    return lambda x: function(x)


# ---------------------------------------------------------------- shapes, indices, types


SHAPES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[str, ...]]] = {
    "add": (lambda x: x + np.ones(4), (x5,), ("Add", "(n=5,) (4,)")),
    "add arguments": (lambda x, y: x + y, (x5, x5[:3]), ("Add", "(n=5,) (m=3,)")),
    "where": (lambda x: np.where(x > 0, x, np.ones(3)), (x5,), ("Where", "(n=5,)", "(3,)")),
    "matmul": (lambda x, y: x @ y, (x5, x5[:3]), ("matmul", "(n=5,)", "(m=3,)", "differ")),
    "matmul 0-d": (lambda x: np.matmul(x, 2.0), (x5,), ("matmul",)),
    "einsum": (lambda x: np.einsum("ij,j->i", x, x), (x5,), ("einsum", "'ij'", "(n=5,)")),
    "reshape": (lambda x: x.reshape(2, 2), (x5,), ("(n=5,)", "(2, 2)", "cannot reshape")),
    "axis": (lambda x: np.sum(x, axis=3), (x5,), ("sum", "axis 3", "dimension 1")),
    "axis twice": (lambda x: np.sum(x, axis=(0, 0)), (A,), ("sum", "duplicate", "(0, 0)")),
    "concatenate": (lambda x: np.concatenate([x, A]), (x5,), ("concatenate", "(n=5,)", "(2, 3)")),
    "stack": (lambda x: np.stack([x, x[:2]]), (x5,), ("stack", "(n=5,)", "(2,)")),
    "transpose": (lambda x: x.transpose(0, 2), (A,), ("transpose", "2")),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 4)), (x5,), ("(n=5,)", "(2, 4)")),
    "squeeze": (lambda x: np.squeeze(x, 0), (A,), ("squeeze", "axis 0")),
    "split": (lambda x: np.split(x, 2), (x5,), ("split",)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit(name: str) -> None:
    function, args, parts = SHAPES[name]
    error = raises(sg.compile, function, *args)
    says(error, ShapeError, *parts)
    assert isinstance(error, ValueError)  # what ported code catches


INDICES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "too large": (lambda x: x[7], ("index 7", "axis 0", "size 5")),
    "too small": (lambda x: x[-7], ("index -7", "axis 0", "size 5")),
    "too many": (lambda x: x[0, 1], ("too many indices", "1-dimensional", "2 were indexed")),
    "in a list": (lambda x: x[[1, 9]], ("index 9", "size 5")),
    "float": (lambda x: x[1.5], ("cannot index with 1.5", "only integers, slices")),
    "text": (lambda x: x["a"], ("cannot index with 'a'",)),
    "dots": (lambda x: x[..., ...], ("single ellipsis",)),
    "short mask": (lambda x: x[np.array([True, False])], ("axis 0 has size 5", "mask has 2")),
    "take": (lambda x: np.take(x, 9), ("take", "index 9", "size 5")),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_that_do_not_fit(name: str) -> None:
    function, parts = INDICES[name]
    error = raises(sg.compile, function, x5)
    says(error, IndexingError, *parts)
    assert isinstance(error, IndexError)


TYPES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "complex": (lambda x: x.__setitem__(0, 1j), ("imaginary part", "dtype=complex", "z.real")),
    "astype": (lambda x: x.astype(np.float16), ("astype", "float16")),
    "object": (lambda x: x + {}, ("{}", "object", ".astype(np.float64)")),
    "array of text": (lambda x: x + np.array(["a"] * 5), ("<U1",)),
    "half": (lambda x: x * np.ones(5, np.float16), ("float16", "np.float32")),
    "bits of reals": (lambda x: x & 1, ("BitwiseAnd", "float64")),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_that_do_not_fit(name: str) -> None:
    function, parts = TYPES[name]
    says(raises(sg.compile, function, x5), DTypeError, *parts)


# ---------------------------------------------------------------- transformations


ONE_NUMBER = "needs a function that returns one real number"
RESULTS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "array": (lambda x: x * 2, (ONE_NUMBER, "array of shape (n=5,)", "sg.jacobian")),
    "one element": (lambda x: x[:1], (ONE_NUMBER, "shape (1,)", "index it")),
    "integer": (lambda x: np.argmax(x), (ONE_NUMBER, "int64")),
    "boolean": (lambda x: np.all(x > 0), (ONE_NUMBER, "bool")),
    "tuple": (lambda x: (x[0], x[1]), (ONE_NUMBER, "tuple of 2 values", "has_aux=True")),
    "dict": (lambda x: {"a": x[0]}, (ONE_NUMBER, "dict of 1 values")),
    "nothing": (lambda x: None, ("NoneType", "`return`")),
    "text": (lambda x: "text", ("not str",)),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("make", [sg.grad, sg.value_and_grad, sg.hessian], ids=lambda f: f.__name__)
def test_gradients_of_what_is_no_number(make: Any, name: str) -> None:
    function, parts = RESULTS[name]
    error = raises(make, function, x5)
    says(error, ArgumentError, *parts)
    if ONE_NUMBER in parts:
        assert str(error).startswith(make.__name__)


def test_aux_that_is_none() -> None:
    error = raises(functools.partial(sg.grad, has_aux=True), lambda x: x[0], x5)
    says(error, ArgumentError, "has_aux=True", "(value, extra)")


def test_arguments_to_differentiate_by() -> None:
    f = lambda x, y: np.sum(x * 1.0) * y  # noqa: E731
    for bad in (True, np.arange(3), np.array([True])):
        error = raises(sg.grad, f, bad, 2.0)
        says(error, ArgumentError, "argument x", "real numbers", "3.0 or x.astype(float)")
    error = raises(functools.partial(sg.grad, argnums=2), f, x5, 2.0)
    says(error, ArgumentError, "argnums=2", "2 positional arguments")
    for bad in (1.0, (0, 2.5)):
        with pytest.raises(ArgumentError, match=r"argnums is the position .*" + repr(bad)[1:-1]):
            sg.grad(f, argnums=bad)


def test_functions_that_are_none() -> None:
    for make in (sg.compile, sg.grad, sg.value_and_grad, sg.jacobian, sg.hessian, sg.vmap):
        name = make.__name__
        with pytest.raises(ArgumentError, match=rf"not float64: write sg\.{name}\(f\)\(x\)"):
            make(np.sum(x5))
    for at in (lambda: sg.jvp(2.0, (x5,), (x5,)), lambda: sg.vjp(2.0, x5),
               lambda: sg.hvp(2.0, (x5,), (x5,))):  # fmt: skip
        with pytest.raises(ArgumentError, match="takes a function, not float"):
            at()


def test_jacobian_options() -> None:
    with pytest.raises(ArgumentError, match="mode is 'auto', 'forward' or 'reverse', not 'fwd'"):
        sg.jacobian(np.sin, mode="fwd")
    error = raises(sg.jacobian, lambda x: np.argsort(x) if x is None else np.argmax(x), x5)
    says(error, ArgumentError, "Jacobian", "int64")


def test_backends() -> None:
    with pytest.raises(ArgumentError, match="'llvm', 'numba' or 'numpy', not 'cuda'"):
        sg.compile(np.sin, backend="cuda")
    with pytest.raises(ArgumentError, match="not 'cuda'"), sg.backend("cuda"):  # type: ignore[arg-type]
        pass


def test_the_backend_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_BACKEND", "cuda")
    with pytest.raises(ArgumentError, match="'llvm', 'numba' or 'numpy', not 'cuda'"):
        sg.compile(np.sin)(1.0)


class Model(NamedTuple):
    scale: Any
    layers: Any


NESTED: dict[str, tuple[Any, str]] = {
    "element type": (np.array(["a"]), "has element type <U1"),
    "ragged": ([[1.0, 2.0], [3.0]], "is a ragged nested list"),
    "masked": (np.ma.array([1.0], mask=[True]), "MaskedArray"),
    "set": ({1.0}, "of type set"),
    "whole": (np.arange(2), "of type int64"),
    "axis": (np.ones(()), "axis 0"),
}


@pytest.mark.parametrize("make", [sg.compile, sg.grad, sg.vmap, sg.jacobian, sg.verify, sg.show])
@pytest.mark.parametrize("case", NESTED)
def test_what_is_nested_is_named_as_it_is_written(case: str, make: Any) -> None:
    """The third array of four is an element of the first argument."""
    bad, said = NESTED[case]
    if case == "whole" and make not in (sg.grad, sg.jacobian):
        return
    if case == "axis" and make is not sg.vmap:
        return
    f = lambda model, *more: np.sum(model.scale) * np.sum(more[1])  # noqa: E731
    good = Model(np.ones(2), {"w": [np.ones(2), np.ones(2)]})
    model = Model(np.ones(2), {"w": [np.ones(2), bad]})

    def call(*args: Any) -> Any:
        return make(f, *args) if make in (sg.verify, sg.show) else make(f)(*args)

    with pytest.raises(errors.SymgradError) as caught:
        call(model, np.ones(2), np.ones(2))
    assert "argument model.layers['w'][1]" in str(caught.value)
    assert said in str(caught.value)
    if case not in ("whole", "axis"):
        with pytest.raises(errors.SymgradError, match=r"argument more\[1\]\['b'\]"):
            call(good, np.ones(2), {"b": bad})


def test_arguments_of_functions_whose_parameters_nobody_knows_are_numbered() -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y

    f.__signature__ = None  # type: ignore[attr-defined]
    with pytest.raises(DTypeError, match=r"argument (1|y) has element type <U1"):
        sg.compile(f)(1.0, np.array(["a"]))
    with pytest.raises(DTypeError, match=r"argument (1|x2) has element type <U1"):
        sg.compile(np.add)(1.0, np.array(["a"]))


def test_vmap_axes() -> None:
    def vmap(**options: Any) -> Any:
        return functools.partial(sg.vmap, **options)

    both = lambda x, y: x + y  # noqa: E731
    one = lambda x: x * 2  # noqa: E731
    says(raises(vmap(in_axes=2), one, x5), ShapeError, "axis 2 of argument x", "(n=5,)",
         "in_axes=None")  # fmt: skip
    says(raises(vmap(), one, 2.0), ShapeError, "axis 0 of argument x", "()")
    says(raises(vmap(in_axes=None), one, x5), ArgumentError, "at least one argument")
    says(raises(vmap(in_axes=(0, 0)), one, x5), ArgumentError, "in_axes has 2 axes for 1 arguments")
    says(raises(vmap(), both, x5, x5[:3]), ShapeError, "different lengths", "n=5", "m=3")
    says(raises(vmap(out_axes=(0, 0)), one, x5), ArgumentError, "out_axes has 2 axes for 1 results")
    says(raises(vmap(out_axes=None), one, x5), ArgumentError, "out_axes=None", "(n=5,)")
    says(raises(vmap(out_axes=3), one, x5), ShapeError, "axis 3")
    says(raises(vmap(in_axes="rows"), one, x5), ArgumentError, "in_axes is an axis", "'rows'")
    says(raises(vmap(), lambda x: OF.float(x), x5), TraceError, "a Python float")


def test_tangents_and_cotangents() -> None:
    for bad, kind, text in [
        ((np.ones(4),), ShapeError, r"tangents must have the shapes .*\(m=4,\) .* \(n=5,\)"),
        ((x5, x5), ArgumentError, "1 arrays are needed, 2 were given"),
        ((), ArgumentError, "1 arrays are needed, 0 were given"),
        (("text",), ArgumentError, "tangents must be a number or an array, not str"),
    ]:
        with pytest.raises(kind, match=text):
            sg.jvp(np.sin, (x5,), bad)
    for bad in (x5, 2.0):
        with pytest.raises(ArgumentError, match=r"primals is a tuple .*write \(x,\)"):
            sg.jvp(np.sin, bad, (x5,))
        with pytest.raises(ArgumentError, match=r"tangents is a tuple .*write \(x,\)"):
            sg.hvp(np.sin, (x5,), bad)
    _, pullback = sg.vjp(lambda x: (x, x * 2), x5)
    with pytest.raises(ArgumentError, match="tuple with 2 arrays, not leaf with 1"):
        pullback(x5)
    with pytest.raises(ShapeError, match="the cotangent must have the shapes"):
        pullback((x5, np.ones(2)))
    np.testing.assert_array_equal(pullback((x5, x5))[0], 3 * x5)


# ---------------------------------------------------------------- nothing is half-done


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_function_works_after_an_error(backend: str) -> None:
    calls = []

    def f(x: Any, how: str) -> Any:
        calls.append(how)
        y = np.sin(x) * 2
        if how == "leak":
            return OF.float(y[0])
        if how == "shape":
            return np.sum(y + np.ones(77))
        if how == "user":
            raise RuntimeError("mine")
        if how == "type":
            return np.sum(y * np.ones(5, np.float16))
        return np.sum(y)

    with sg.backend(backend):  # type: ignore[arg-type]
        for make in (sg.value_and_grad, sg.grad, sg.compile):
            g = make(f)
            for how in ("leak", "shape", "user", "type"):
                with pytest.raises((SymgradError, RuntimeError)):
                    g(x5, how)
                with pytest.raises((SymgradError, RuntimeError)):
                    g(x5, how)
            want, count = 2 * np.cos(x5), calls.count("good")
            got = g(x5, "good")
            if make is sg.compile:
                assert got == pytest.approx(np.sum(2 * np.sin(x5)))
            else:
                np.testing.assert_allclose(got[1] if isinstance(got, tuple) else got, want)
            assert g.traces <= 2
            assert calls.count("good") == count + 1
            for bad in (np.array(["a"]), np.ma.array([1.0], mask=[True]), {1.0}):
                with pytest.raises(SymgradError):
                    g(bad, "good")
            g(x5 * 2, "good")
            assert g.traces <= 2  # the list of calls is unread from then on
            assert {*calls} == {"good"}  # failed calls leave nothing


def test_an_error_leaves_no_line_behind() -> None:
    """A pass that fails must not give its line to the nodes made after it."""
    broken = sg.grad(lambda x: np.sum(np.sin(x)))

    class Bad:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no array")

    for _ in range(2):
        with pytest.raises(Exception, match="no array"):
            broken(Bad())
        with pytest.raises(ShapeError):
            sg.grad(lambda x: np.sum(np.sin(x)) @ x)(x5)
    program = sg.compile(lambda x: np.cos(x)).program(x5)
    assert [n.where.line for n in program.steps] == [inspect.currentframe().f_lineno - 1]  # type: ignore[union-attr]


def test_errors_inside_other_functions_are_placed_once() -> None:
    inner = sg.grad(lambda x: np.sum(x) * OF.float(x[0]))

    def outer(x: Any) -> Any:
        return np.sum(inner(x))

    error = raises(sg.compile, inner.__wrapped__, x5)
    text = str(error)
    with pytest.raises(TraceError) as caught:
        sg.compile(outer)(x5)
    assert str(caught.value).count("test_errors.py:") == 2  # where it was made, where it leaked
    assert text.count("[") == 1 + text.count("x[i]")


def test_every_error_is_in_the_hierarchy() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    builtin = {TypeError, ValueError, IndexError, RuntimeError, AssertionError, ImportError,
               MemoryError, OSError}  # fmt: skip
    warned = [kind for kind in kinds if issubclass(kind, Warning)]
    for kind in [kind for kind in kinds if kind not in warned]:
        assert issubclass(kind, SymgradError)
        assert kind is SymgradError or any(issubclass(kind, b) for b in builtin)
        assert kind.__name__ in (errors.__doc__ or "")
    defined = {v for v in vars(errors).values() if isinstance(v, type)}
    assert defined == set(kinds)


@pytest.mark.parametrize(
    ("name", "function", "instead"),
    [
        ("stats.matrix_normal.pdf", scipy.stats.matrix_normal.pdf, "sg.pure_callback"),
        (
            "interpolate.AAA",
            lambda x: scipy.interpolate.AAA(np.arange(3), x),
            "another one (BSpline",
        ),
    ],
)
def test_functions_of_scipy_are_named(name: str, function: Any, instead: str) -> None:
    """Not the place inside SciPy where it goes wrong, but the call and the user's line."""
    with pytest.raises(sg.errors.TraceError) as caught:
        sg.grad(lambda x: function(np.sin(x)))(np.ones(3))
    message = str(caught.value)
    assert message.startswith(f"scipy.{name}: an array of numbers was asked")
    assert f"Write instead: {instead}" in message
    assert re.search(r" \[test_errors.py:\d+\]$", message)


@pytest.mark.parametrize("solver", ["fmin_powell"])
def test_a_solver_that_is_not_traced_meets_no_traced_value(solver: str, capfd: Any) -> None:
    """A refusal inside of it would be an exception with which C goes on, or prints."""
    solve = getattr(scipy.optimize, solver)

    def rate(price: Any) -> Any:
        return solve(lambda r: (1 + r) ** -3 - price, 0.5)

    with pytest.raises(sg.errors.UnsupportedError, match=rf"scipy.optimize.{solver} .* traced"):
        sg.grad(rate)(0.5)
    assert not capfd.readouterr().err


def _reaching(y: Any) -> Any:
    event: Any = lambda t, y: y  # noqa: E731
    event.terminal = True
    return scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y, events=event).t[-1]


#: Solvers of one number that are given arrays, and what the error calls these.
OF_ONE_NUMBER: dict[str, Callable[[Any], Any]] = {
    "what brentq's function": lambda p: scipy.optimize.brentq(lambda x: x**2 - p, 0.0, 5.0),
    "an end of brentq's bracket": lambda p: scipy.optimize.brentq(lambda x: x**2 - 2, 0.0, p),
    "what newton's function": lambda p: scipy.optimize.newton(lambda x: x**2 - p, 1.0),
    "what minimize_scalar's function": lambda p: (
        scipy.optimize.minimize_scalar(lambda x: (x - p) ** 2).x
    ),
    "quad's integrand": lambda p: scipy.integrate.quad(lambda x: np.exp(-p * x), 0.0, 1.0)[0],
    "a limit of an integral": lambda p: scipy.integrate.quad(np.exp, 0.0, p)[0],
    "an event": _reaching,
}


@pytest.mark.parametrize("what", OF_ONE_NUMBER)
def test_solvers_of_one_number_say_what_is_none(what: str) -> None:
    """They said that an array could not be reshaped, or stacked."""
    f = OF_ONE_NUMBER[what]
    with pytest.raises(sg.errors.ShapeError, match=rf"{what}.* is one number, not an array"):
        sg.grad(lambda p: np.sum(f(p)))(np.array([1.0, 2.0]))


#: What is refused, and what computes the same, written as the error says.
REPLACED: dict[str, tuple[Callable[..., Any], str]] = {
    "distinct": (lambda x: len(np.unique(x)), "1 + np.count_nonzero(np.diff(np.sort(x)))"),
    "groups": (
        lambda x: np.array([np.sum(x[x == v]) for v in np.unique(x)]),
        "np.bincount(inverse, x, minlength=n)",
    ),
    "union": (lambda x: np.union1d(x, [9.0, 7.0]), "np.sort(np.concatenate([x, y]))"),
    "intersection": (lambda x: np.sum(np.intersect1d(x, [5.0, 3.0])), "x[np.isin(x, y)]"),
    "difference": (lambda x: np.sum(np.setdiff1d(x, [5.0, 3.0])), "x[~np.isin(x, y)]"),
    "places": (lambda x: np.flatnonzero(x > 2)[0], "np.argmax(mask)"),
    "how many": (lambda x: len(np.where(x > 2)[0]), "np.count_nonzero(mask)"),
    "extract": (lambda x: np.sum(np.extract(x > 2, x)), "x[mask]"),
    "repeat": (lambda x: np.repeat(x, (x > 2) + 1), "x[places]"),
    "delete": (lambda x: np.delete(x, np.argmax(x)), "x[i + (i >= k)]"),
    "delete by a mask": (lambda x: np.sum(np.delete(x, x > 2)), "x[~mask]"),
    "insert": (
        lambda x: np.insert(x, np.argmax(x), 7.0),
        "np.where(i == k, v, x[np.minimum(i - (i > k), len(x) - 1)])",
    ),
    "arange": (lambda x: np.arange(x[0], x[0] + 3), "start + step * np.arange(n)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_what_errors_say_to_write_instead_is_the_same(name: str) -> None:
    f, instead = REPLACED[name]
    x = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    with pytest.raises((UnsupportedError, ArgumentError), match=re.escape(instead)):
        sg.compile(batched(f))(x)
    given = {"np": np, "sg": sg, "k": 3, "v": 7.0, "step": 1.0}
    given["places"] = np.repeat(np.arange(5), (x > 2) + 1)
    given["i"] = np.arange(4 if name == "delete" else 6)
    given["n"] = 3 if name == "arange" else 5
    given["inverse"] = np.unique(x, return_inverse=True)[1]
    given["y"] = np.array([9.0, 7.0] if name == "union" else [5.0, 3.0])
    total = "np.sum({})" if instead.startswith(("x[mask]", "x[np.isin", "x[~")) else "{}"

    def same(x: Any) -> Any:
        return eval(total.format(instead), given | {"x": x, "mask": x > 2, "start": x[0]})

    found = sg.compile(same)(x)
    np.testing.assert_allclose(found, f(x), rtol=1e-15)


def test_names_are_those_that_users_import() -> None:
    gap = np.ma.masked
    cases = {
        "a numpy.MaskedArray computes": lambda x: gap * x,
        "scipy.sparse.linalg.lsqr": lambda x: scipy.sparse.linalg.lsqr(np.eye(3), x)[0],
        "scipy.stats.gamma.fit": lambda x: scipy.stats.gamma.fit(x)[0],
        "scipy.stats.kstest": lambda x: scipy.stats.kstest(x, "norm")[0],
        "a numpy.MaskedArray": lambda x: np.ma.masked_array([1.0, 2.0, 3.0]) * x,
    }
    for name, f in cases.items():
        with pytest.raises(sg.errors.SymgradError, match=rf"^{re.escape(name)} "):
            sg.compile(f)(np.ones(3))


def in_a_package(first: str, last: str) -> Any:
    """Return what an installed package has: a function, and an object that is not adapted."""
    text = (
        f"{first}\ndef plain(*args):\n    {last}\n\n"
        "class Fixed:\n    def __new__(cls):\n        return object.__new__(cls)\n\n"
        f"    def __call__(self, *args):\n        {last}\n"
    )
    names: dict[str, Any] = {"__name__": "package"}
    exec(compile(text, "/usr/lib/site-packages/package.py", "exec"), names)
    return names["plain"], names["Fixed"]()


def test_what_is_selected_and_packages_that_take_numbers() -> None:
    plain, fixed = in_a_package("import numpy as np", "return np.asarray(args[0], float)")
    assert sg.compile(lambda x: np.sum(plain(x[x > 1])))(np.arange(4.0)) == 5.0
    with pytest.raises(UnsupportedError, match="how many elements a traced mask selects"):
        sg.compile(lambda x: np.sum(fixed(x[x > 1])))(np.arange(3.0))


@pytest.mark.parametrize(
    ("solver", "given"),
    [(name, (0.0, 5.0)) for name in ("brentq", "brenth", "ridder", "bisect")]
    + [("fsolve", (1.0,)), ("leastsq", (1.0,))],
)
def test_packages_that_solve_in_c_for_traced_functions(solver: str, given: Any) -> None:
    plain, fixed = in_a_package(f"from scipy.optimize import {solver}", f"return {solver}(*args)")
    if solver != "leastsq":
        root = sg.grad(lambda x: np.sum(plain(lambda t: t**2 - x, *given)))
        np.testing.assert_allclose(root(2.0), 0.5 / np.sqrt(2.0), rtol=1e-9)
    with pytest.raises(sg.errors.TraceError, match=rf"{solver}: .*implicit_root.* \[package"):
        sg.grad(lambda x: fixed(lambda t: t**2 - x, *given))(2.0)
    if len(given) == 2:
        with pytest.raises(sg.errors.TraceError, match=rf"{solver}: .*implicit_root.* \[package"):
            sg.grad(lambda x: fixed(lambda t: t**2 - 2.0, 0.0, x))(2.0)


# ---------------------------------------------------------------- tracebacks


def files_of(error: BaseException) -> list[str]:
    """Return the files of a traceback's lines, with "symgrad" for all of symgrad's."""
    found = traceback.extract_tb(error.__traceback__)
    home = str(Path(sg.__file__).parent)
    return ["symgrad" if x.filename.startswith(home) else Path(x.filename).name for x in found]


def crooked(x: Any) -> Any:
    return helper_of(x)


def helper_of(x: Any) -> Any:
    return x[0] if np.ndim(x) else {}["missing"]


@pytest.mark.parametrize("make", [sg.grad, sg.compile, sg.jacobian, sg.vmap, sg.hessian])
def test_tracebacks_have_the_users_lines(make: Callable[..., Any]) -> None:
    with pytest.raises(KeyError) as caught:
        make(crooked)(np.ones(3) if make is sg.vmap else 2.0)
    here = Path(__file__).name
    assert files_of(caught.value) == [here, "symgrad", here, here]
    with pytest.raises(SymgradError) as refused:
        sg.grad(lambda x: np.unique(crooked(x) * x))(x5)
    assert len(files_of(refused.value)) <= 4, files_of(refused.value)
    with pytest.raises(SymgradError) as refused:
        sg.compile(lambda x: sg.vmap(lambda y: np.unique(crooked(y)))(x)).kernel(A)
    assert files_of(refused.value).count("symgrad") <= 2


def test_all_frames_are_shown_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_TRACEBACK", "full")
    with pytest.raises(KeyError) as caught:
        sg.grad(crooked)(2.0)
    assert files_of(caught.value).count("symgrad") > 5


def test_errors_of_symgrad_itself_keep_their_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "moveaxis", None)
    with pytest.raises(TypeError) as caught:
        sg.vmap(lambda x: x)(x5)
    assert files_of(caught.value)[-1] == "symgrad"


def test_tracebacks_in_notebooks_are_short() -> None:
    kind = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    shell = kind.instance()
    shell.colors = "nocolor"
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        shell.run_cell("import numpy as np, symgrad as sg\ndef f(x):\n    return x * 2")
        shell.run_cell("sg.grad(f)(np.ones(3))")
        shell.run_cell("sg.grad(lambda x: f(x) @ np.ones(4))(np.ones(3))", store_history=True)
    kind.clear_instance()
    text = written.getvalue()
    assert "one real number" in text
    assert re.search(r"ShapeError: .* \[In\[\d+\]:1\]", text)
    assert len(text.splitlines()) < 45, text


def test_warnings_are_at_the_users_line() -> None:
    last: list[Any] = [0.0]

    def remembering(x: Any) -> Any:
        y, last[0] = x + last[0], x
        return y

    def looping(x: Any) -> Any:
        return sg.fori_loop(0, 3, lambda _, y: np.sin(y), x)

    branching = sg.compile(lambda x: x * sum(x > k for k in range(8) if x > k))
    calls: list[tuple[type[Warning], Callable[[], Any]]] = [
        (errors.CaptureWarning, lambda: sg.vmap(remembering)(np.ones(2))),
        (errors.PathsWarning, lambda: [branching(k + 0.5) for k in range(6)]),
        (errors.SparsityWarning, lambda: sg.jacobian(looping, sparse=True)(np.ones(20))),
    ]
    for kind, call in calls:
        with pytest.warns(kind) as said:
            call()
        assert {w.filename for w in said} == {__file__}


def test_code_in_c_that_takes_no_traced_value() -> None:
    """What it says of a type that no user knows is told as a refusal, with the line."""
    with pytest.raises(sg.errors.TraceError, match=r"not Python.*pure_callback.*test_errors\.py"):
        sg.grad(lambda x: np.frombuffer(memoryview(x))[0])(np.ones(2))

    def wrong(x: Any) -> Any:
        raise TypeError(f"no such type: {type(x).__name__} or Traced")

    with pytest.raises(TypeError, match="no such type") as found:
        sg.grad(wrong)(1.0)
    assert not isinstance(found.value, sg.errors.SymgradError)


def test_what_compiled_modules_ask_for_is_said_at_the_users_line() -> None:
    def volume(x: Any) -> Any:
        return scipy.spatial.ConvexHull(np.array([[0, 0], [x[0], 0], [0, x[1]]])).volume

    says(raises(sg.compile, volume, x5), TraceError, "an array of numbers")


def test_a_value_kept_from_a_trace_says_so() -> None:
    queue: Any = SimpleQueue()  # in C, into which nobody sees

    def loss(x: Any) -> Any:
        queue.put(2 * x)
        return np.sum(x**2)

    sg.grad(loss)(np.ones(2))
    kept = [queue.get()]
    for use in (np.asarray, bool, lambda x: float(x[0])):
        with pytest.raises(TraceError, match="it was kept when the function that made it returned"):
            use(kept[0])

"""What stands for a generator of random numbers in a function that is traced.

Its methods draw as the generator's do, see :mod:`._draws`. Where a parameter is traced, numbers
of the standard distribution are drawn, and the parameter enters by NumPy's own formula of them:
``rng.normal(mu, s)`` is ``mu + s*z``, so it has a derivative with respect to both.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from ...errors import OutsideError, ShapeError, UnsupportedError
from ..base.broadcast import broadcast, show
from ..base.sizes import Shape, Size, agree, as_dim
from ..base.stand_in_types import StandIn, stands_for
from ..base.state import now
from ..graph import Constant
from ..ops.np_common import as_array, holds_traced
from ._bind import as_node
from ._constants import known_value
from ._draws import WITHOUT_PYTHON, Draws
from ._traced import Traced

#: Draws standard numbers by the method of this name, with parameters.
Standard = Callable[..., Any]


def _triangular(standard: Standard, left: Any, mode: Any, right: Any) -> Any:
    u, base = standard("random_sample"), right - left
    rising = left + np.sqrt(np.where(u * base <= mode - left, u, 0.0) * (mode - left) * base)
    falling = np.where(u * base <= mode - left, 0.0, 1.0 - u) * base * (right - mode)
    return np.where(u * base <= mode - left, rising, right - np.sqrt(falling))


#: NumPy's methods as formulas of standard numbers, with NumPy's parameters.
FORMULAS: dict[str, Callable[..., Any]] = {
    "normal": lambda z, loc=0.0, scale=1.0: loc + scale * z("standard_normal"),
    "uniform": lambda z, low=0.0, high=1.0: low + (high - low) * z("uniform"),
    "exponential": lambda z, scale=1.0: scale * z("standard_exponential"),
    "lognormal": lambda z, mean=0.0, sigma=1.0: np.exp(mean + sigma * z("standard_normal")),
    "laplace": lambda z, loc=0.0, scale=1.0: loc + scale * z("laplace"),
    "logistic": lambda z, loc=0.0, scale=1.0: loc + scale * z("logistic"),
    "gumbel": lambda z, loc=0.0, scale=1.0: loc + scale * z("gumbel"),
    "rayleigh": lambda z, scale=1.0: scale * z("rayleigh"),
    "weibull": lambda z, a: z("standard_exponential") ** (1.0 / a),
    "pareto": lambda z, a: np.expm1(z("standard_exponential") / a),
    "power": lambda z, a: (-np.expm1(-z("standard_exponential"))) ** (1.0 / a),
    "gamma": lambda z, shape, scale=1.0: scale * z("standard_gamma", shape=shape),
    "triangular": _triangular,
}  # fmt: skip

#: The same for Python's ``random``.
PYTHON: dict[str, Callable[..., Any]] = {
    "uniform": lambda z, a, b: a + (b - a) * z("random"),
    "gauss": lambda z, mu=0.0, sigma=1.0: mu + z("gauss") * sigma,
    "normalvariate": lambda z, mu=0.0, sigma=1.0: mu + z("normalvariate") * sigma,
    "lognormvariate": lambda z, mu=0.0, sigma=1.0: np.exp(mu + z("normalvariate") * sigma),
    "expovariate": lambda z, lambd=1.0: z("expovariate", 1.0) / lambd,
    "weibullvariate": lambda z, alpha, beta: alpha * z("expovariate", 1.0) ** (1.0 / beta),
    "paretovariate": lambda z, alpha: (1.0 - z("random")) ** (-1.0 / alpha),
    "gammavariate": lambda z, alpha, beta: z("gammavariate", alpha, 1.0) * beta,
}

#: Parameters of NumPy's other methods before ``size``.
_BEFORE_SIZE = {
    name: words.split()
    for name, words in {
        "standard_normal": "", "standard_exponential": "", "standard_cauchy": "", "random": "",
        "random_sample": "", "tomaxint": "", "standard_gamma": "shape", "standard_t": "df",
        "integers": "low high", "randint": "low high", "random_integers": "low high",
        "beta": "a b", "binomial": "n p", "chisquare": "df", "dirichlet": "alpha",
        "f": "dfnum dfden", "geometric": "p", "hypergeometric": "ngood nbad nsample",
        "logseries": "p", "multinomial": "n pvals", "negative_binomial": "n p",
        "multivariate_hypergeometric": "colors nsample", "noncentral_chisquare": "df nonc",
        "noncentral_f": "dfnum dfden nonc", "poisson": "lam", "vonmises": "mu kappa",
        "wald": "mean scale", "zipf": "a", "choice": "a", "multivariate_normal": "mean cov",
        "permuted": "x",
    }.items()
}  # fmt: skip

#: Methods of Python's ``random`` that return numbers.
_PYTHON_NUMBERS = frozenset((
    "random", "uniform", "triangular", "betavariate", "expovariate", "gammavariate", "gauss",
    "lognormvariate", "normalvariate", "vonmisesvariate", "paretovariate", "weibullvariate",
    "randint", "randrange", "getrandbits", "binomialvariate",
))  # fmt: skip

_UNITS = {
    np.random.Generator: "Generator", np.random.RandomState: "RandomState",
    random.Random: "Random",
}  # fmt: skip


class RandomGenerator(metaclass=StandIn):
    """Stands for a generator of random numbers.

    Parameters
    ----------
    draws:
        What notes the draws; None where a program has no generators.
    kind:
        The generator's class.
    leaf, generator:
        The number of the argument's leaf, or the object that is always the same.
    home:
        How errors call it.
    """

    def __init__(
        self, draws: Draws | None, kind: type, leaf: int | None = None, generator: Any = None,
        home: str = "",
    ) -> None:  # fmt: skip
        self._draws, self._kind = draws, kind
        self._leaf, self._generator = leaf, generator
        self._home = home or _UNITS[kind]

    __class__ = stands_for(lambda self: self._kind)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._kind, name)
        if not callable(found):
            self._refuse(name)
        return functools.wraps(found)(functools.partial(_called, self, name))

    def _refuse(self, name: str) -> NoReturn:
        raise OutsideError(
            f"{self._home}.{name} is of the generator itself, which a traced function draws from "
            "and does not look into. Write instead: what asks for it, or sets it, outside"
        )

    def __copy__(self) -> NoReturn:
        self._refuse("copy")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self._refuse("copy")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse("copy")


def _called(source: RandomGenerator, name: str, *args: Any, **named: Any) -> Any:
    """Call a generator's method while a function is traced."""
    called, draws = f"{source._home}.{name}", source._draws
    if source._leaf is None:
        draws = now().draws
    if draws is None and now().guards is None and source._generator is not None:
        return getattr(source._generator, name)(*args, **named)
    if draws is None:
        raise OutsideError(f"{called}: {WITHOUT_PYTHON}")
    one = _Call(source, draws, called)
    if source._kind is random.Random:
        return one.of_python(name, args, named)
    return one.of_numpy(name, args, named)


class _Call:
    """A method's call."""

    def __init__(self, source: RandomGenerator, draws: Draws, name: str) -> None:
        self._draws, self.name = draws, name
        self._new = source._kind is np.random.Generator
        self._source = draws.source(source._leaf, source._generator)

    def _draw(
        self, method: str, args: Any = (), named: Mapping[str, Any] | None = None,
        size: Shape | None = None,
    ) -> Any:  # fmt: skip
        return self._draws.draw(self.name, self._source, method, args, named or {}, size)

    def _refuse(self, parameter: str) -> NoReturn:
        raise UnsupportedError(
            f"{self.name} draws with {parameter}, which is traced. The numbers are drawn before "
            f"the program runs, and none is a formula of {parameter} and of numbers that are "
            "drawn without it. Write instead: draw them outside and pass them as an argument; or "
            "a distribution that has such a formula (normal, uniform, exponential, lognormal, "
            "laplace, logistic, gumbel, weibull)"
        )

    def _plain(self, parameter: str, value: Any) -> Any:
        """Return a parameter that has to be known."""
        found = _known(value)
        if isinstance(found, Traced) or holds_traced(found):
            self._refuse(parameter)
        return found

    # ---------------------------------------------------------------- NumPy

    def of_numpy(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if name in ("rand", "randn"):
            method = "random_sample" if name == "rand" else "standard_normal"
            return self._draw(method, size=tuple(map(as_dim, map(_known, args))) or None)
        if named.get("out") is not None:
            raise UnsupportedError(
                f"{self.name} writes to out=, which a traced function does not. Write instead: "
                "out[...] = rng.random(out.shape)"
            )
        if name in ("permutation", "shuffle"):
            return self._permuted(name, *args, **named)
        if name == "seed":
            return self._seeded(args, named)
        if name in FORMULAS:
            return self._by_formula(name, FORMULAS[name], args, named)
        words = _BEFORE_SIZE.get(name)
        if words is None:
            raise UnsupportedError(
                f"{self.name} draws no numbers that a traced function computes with. Write "
                "instead: call it outside, and pass what it returns as an argument"
            )
        names = [*words, "size", *_BEHIND_SIZE.get(name, ())]
        given = dict(zip(names, args, strict=False)) | named
        size = _shape(given.pop("size", None))
        if name == "multivariate_normal":
            return self._multivariate(given, size)
        if name == "choice" and holds_traced(_known(given["a"])):
            return self._chosen(given, size)
        return self._draw(name, (), {k: self._plain(k, x) for k, x in given.items()}, size)

    def _seeded(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        given = [self._plain("seed", x) for x in args]
        self._draw("seed", given, {k: self._plain(k, x) for k, x in named.items()})

    def _by_formula(
        self, name: str, formula: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        parameters = list(inspect.signature(formula).parameters.values())[1:]
        names = [p.name for p in parameters]
        given = dict(zip([*names, "size"], args, strict=False)) | named
        if len(args) > len(names) + 1 or given.keys() - {*names, "size"}:
            raise TypeError(f"{self.name}() takes the arguments {', '.join(names)} and size")
        size = _shape(given.pop("size", None))
        given = {k: _known(x) for k, x in given.items()}
        if not any(map(holds_traced, given.values())):
            return self._draw(name, [], given, size)
        values = {k: _real(x) for k, x in given.items()}
        shape = broadcast(*[as_node(x).shape for x in values.values()])
        if size is not None and not agree(broadcast(shape, size), size):
            raise ShapeError(
                f"{self.name}: size {show(size)} is not compatible with the parameters' shape "
                f"{show(shape)}"
            )
        whole = size if size is not None else shape or None

        def standard(method: str, **parameters: Any) -> Any:
            known = {k: self._plain(k, given[k]) for k in parameters}
            if method == "random_sample" and self._new:
                method = "random"
            return self._draw(method, [], known, whole)

        result = formula(standard, **values)
        return Traced(as_node(result), weak=float) if whole is None else result

    def _multivariate(self, given: dict[str, Any], size: Shape | None) -> Any:
        mean, cov = _known(given.pop("mean")), _known(given.pop("cov"))
        if not holds_traced(mean) and not holds_traced(cov):
            return self._draw("multivariate_normal", (mean, cov), given, size)
        mean = _real(mean)
        if not holds_traced(cov):
            zero = np.zeros(len(cov))
            return mean + self._draw("multivariate_normal", (zero, cov), given, size)
        if not self._new or given.get("method") != "cholesky":
            raise UnsupportedError(
                f"{self.name} draws with cov, which is traced, and factors it by its singular "
                "values, whose derivatives are unbounded where two are equal. Write instead: "
                "rng.multivariate_normal(mean, cov, n, method='cholesky') of np.random."
                "default_rng(), or mean + rng.standard_normal((n, d)) @ np.linalg.cholesky(cov).T"
            )
        cov = _real(cov)
        z = self._draw("standard_normal", size=(*(size or ()), as_node(cov).shape[0]))
        return mean + z @ np.linalg.cholesky(cov).T

    def _chosen(self, given: dict[str, Any], size: Shape | None) -> Any:
        """Return elements of a traced array: it is their places that are drawn."""
        values = as_array(given.pop("a"))
        axis = given.pop("axis", 0)
        known = {k: self._plain(k, x) for k, x in given.items()}
        return np.take(values, self._draw("choice", (values.shape[axis],), known, size), axis)

    def _permuted(self, name: str, x: Any, axis: int = 0) -> Any:
        x = _known(x)
        if isinstance(x, (int, np.integer)) or (name == "permutation" and isinstance(x, Size)):
            return self._draw(name, (x,), size=None)
        if isinstance(x, np.ndarray) and name == "permutation":
            return self._draw(name, (x,), {} if not axis else {"axis": axis})
        if not isinstance(x, Traced):
            raise UnsupportedError(
                f"{self.name} puts a {type(x).__name__} in another order. Write instead: "
                "x[rng.permutation(len(x))] of an array x"
            )
        order = self._draw("permutation", (x.shape[axis],))
        if name == "permutation":
            return np.take(x, order, axis)
        x[...] = np.take(x, order, axis)
        return None

    # ---------------------------------------------------------------- Python's random

    def of_python(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if name == "seed":
            return self._seeded(args, named)
        if name == "choice":
            return self._element(*args, **named)
        if name not in _PYTHON_NUMBERS:
            raise UnsupportedError(
                f"{self.name} returns no number. Write instead: random.random(), "
                "random.randrange(n) for an index, or NumPy's rng.permutation(n)"
            )
        given = [*map(_known, args)], {k: _known(x) for k, x in named.items()}
        if not holds_traced(given[0]) and not holds_traced(list(given[1].values())):
            return self._draw(name, *given)
        if name not in PYTHON:
            self._refuse("a parameter")
        formula = PYTHON[name]

        def standard(method: str, *parameters: Any) -> Any:
            return self._draw(method, [self._plain("alpha", x) for x in parameters])

        return Traced(as_node(formula(standard, *given[0], **given[1])), weak=float)

    def _element(self, seq: Any) -> Any:
        values = as_array(seq)
        return values[self._draw("choice", (range(len(seq)),))]


#: Parameters behind ``size``.
_BEHIND_SIZE = {
    "integers": ("dtype", "endpoint"), "randint": ("dtype",), "random": ("dtype", "out"),
    "standard_normal": ("dtype", "out"), "standard_exponential": ("dtype", "method", "out"),
    "standard_gamma": ("dtype", "out"), "choice": ("replace", "p", "axis", "shuffle"),
    "multivariate_normal": ("check_valid", "tol"),
}  # fmt: skip


def _known(value: Any) -> Any:
    """Return a parameter: a constant as NumPy's, others as they are."""
    if isinstance(value, Traced):
        if isinstance(value.node, Constant):
            return value.node.array
        found = known_value(value.node)
        if found is None:
            return value
        return value.weak(found) if value.weak is not None else found
    return value


def _real(value: Any) -> Any:
    """Return a parameter as NumPy's methods take it: in double precision."""
    if isinstance(value, Traced) and value.dtype == np.float64:
        return value
    if isinstance(value, (int, float)) and not isinstance(value, Traced):
        return float(value)
    return as_array(value).astype(np.float64)


def _shape(size: Any) -> Shape | None:
    """Return ``size`` as dimensions."""
    size = _known(size)
    if size is None:
        return None
    if isinstance(size, np.ndarray):
        size = tuple(size.tolist()) if size.ndim else int(size)
    if isinstance(size, (tuple, list)):
        return tuple(as_dim(_known(d)) for d in size)
    return (as_dim(size),)


def in_trace(kind: type, leaf: int | None = None, generator: Any = None, home: str = "") -> Any:
    """Return what stands for a generator in the trace that runs."""
    return RandomGenerator(now().draws, kind, leaf, generator, home)

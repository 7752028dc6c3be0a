"""Functions that return what they are given, in as many ways as Python and NumPy have.

Each row is a name and a function of ``v``: an expression, or the lines of a body. To rounding, its
value is ``v``, and its derivative 1, so it can stand around any expression of its kind.
"""

from __future__ import annotations

#: Definitions that the functions use, at the top of the module.
HEAD = """
import abc, collections, contextlib, contextvars, copy, dataclasses, enum, functools, io
import itertools, logging, math, operator, threading, types, typing, warnings
import numpy as np

class Point(typing.NamedTuple):
    u: typing.Any
    w: typing.Any = 0.0

Pair = collections.namedtuple("Pair", "u w")

@dataclasses.dataclass
class Held:
    value: typing.Any
    other: typing.Any = 0.0
    def get(self):
        return self.value
    @property
    def seen(self):
        return self.value
    @classmethod
    def of(cls, v):
        return cls(v)
    @staticmethod
    def same(v):
        return v

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    value: typing.Any

class Called:
    def __call__(self, v):
        return v

class Doubled:
    __slots__ = ("v",)
    def __init__(self, v):
        self.v = v
    def __add__(self, other):
        return self.v + other
    def __radd__(self, other):
        return other + self.v
    def __getitem__(self, k):
        return self.v
    def __len__(self):
        return 1
    def __contains__(self, v):
        return True
    def __iter__(self):
        yield self.v
    def __enter__(self):
        return self.v
    def __exit__(self, *error):
        return False
    def __matmul__(self, other):
        return self.v
    def __bool__(self):
        return True

class Lazy:
    def __init__(self, v):
        self.__dict__["v"] = v
    def __getattr__(self, name):
        if name == "late":
            return self.__dict__["v"]
        raise AttributeError(name)

class Descriptor:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, it, owner=None):
        return getattr(it, self.name)
    def __set__(self, it, v):
        setattr(it, self.name, v)

class Described:
    v = Descriptor()
    def __init__(self, v):
        self.v = v

class Cached:
    def __init__(self, v):
        self.v = v
    @functools.cached_property
    def once(self):
        return self.v

class Root(abc.ABC):
    @abc.abstractmethod
    def run(self, v): ...

class Leaf(Root):
    def run(self, v):
        return v

class Leaves(Leaf):
    def run(self, v):
        return super().run(v)

class Steps:
    def __init__(self, v):
        self.v, self.n = v, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.n:
            raise StopIteration
        self.n += 1
        return self.v

class Carrier(Exception):
    pass

class Way(enum.Enum):
    PLUS = "plus"
    MINUS = "minus"

STATE = contextvars.ContextVar("STATE")
LOCAL = threading.local()
STORE = {}
LOG = logging.getLogger("edits")

def decorated(g):
    @functools.wraps(g)
    def inner(*args, **kwargs):
        return g(*args, **kwargs)
    return inner

@contextlib.contextmanager
def around(v):
    try:
        yield v
    finally:
        pass

def gen(v):
    yield v
    yield 0.0

def delegated(v):
    return (yield from gen(v))

def echo():
    got = yield
    while True:
        got = yield got

def finished(v):
    yield 0.0
    return v

async def later(v):
    return v

async def latest(v):
    return await later(v)
"""

#: Of any value: Python's containers, calls, classes and statements.
ANY: dict[str, str] = {
    "tuple, index": "(v, 0)[0]",
    "list, index": "[0, v][-1]",
    "list, slice": "[0, v, 1][1:2][0]",
    "dict, key": "{'k': v}['k']",
    "dict of keywords": "dict(k=v)['k']",
    "dict.get": "{'k': v}.get('k', 0.0)",
    "dict.setdefault": "{}.setdefault('k', v)",
    "dict.pop": "{'k': v}.pop('k')",
    "dict merged": "{**{'k': 0.0}, 'k': v}['k']",
    "dict united": "({'k': 0.0} | {'k': v})['k']",
    "dict.values": "next(iter({'k': v}.values()))",
    "dict.items": "[u for _, u in {'k': v}.items()][0]",
    "dict comprehension": "{k: u for k, u in [('k', v)]}['k']",
    "list comprehension": "[u for u in [v]][0]",
    "nested comprehension": "[w for u in [[v]] for w in u][0]",
    "comprehension of comprehensions": "[[u for u in [w]] for w in [v]][0][0]",
    "generator expression": "next(u for u in [v])",
    "filtered generator": "next((u for u in [v] if True), None)",
    "iterator": "next(iter([v]))",
    "reversed": "next(reversed([v]))",
    "map": "list(map(lambda u: u, [v]))[0]",
    "filter": "list(filter(lambda u: True, [v]))[0]",
    "zip": "next(zip([v]))[0]",
    "zip of several": "[a for a, b in zip([v], [1], strict=True)][0]",
    "unzip": "list(zip(*[(v, 1), (v, 2)]))[0][1]",
    "enumerate": "[u for _, u in enumerate([v])][0]",
    "sorted by key": "sorted([v], key=lambda u: 0)[0]",
    "max by key": "max([v], key=lambda u: 0)",
    "min by key": "min([v], key=lambda u: 0)",
    "reduce": "functools.reduce(lambda a, b: b, [0, v])",
    "chain": "next(itertools.chain([v], [0]))",
    "islice": "list(itertools.islice([0, v, 1], 1, 2))[0]",
    "accumulate": "list(itertools.accumulate([0, v], lambda a, b: b))[1]",
    "starmap": "list(itertools.starmap(lambda a, b: a, [(v, 0)]))[0]",
    "repeat": "next(itertools.repeat(v))",
    "takewhile": "list(itertools.takewhile(lambda u: True, [v]))[0]",
    "product of lists": "list(itertools.product([v], [0]))[0][0]",
    "zip_longest": "list(itertools.zip_longest([v], [0, 1]))[0][0]",
    "groupby": "[list(g) for _, g in itertools.groupby([v], lambda u: 0)][0][0]",
    "star arguments": "(lambda *t: t[0])(v)",
    "star call": "(lambda a, b: a)(*(v, 0))",
    "keyword arguments": "(lambda **t: t['k'])(k=v)",
    "double star call": "(lambda k: k)(**{'k': v})",
    "keyword-only argument": "(lambda *, t: t)(t=v)",
    "positional-only argument": "(lambda t, /: t)(v)",
    "default argument": "(lambda t=v: t)()",
    "partial": "functools.partial(lambda a, b: b, 0)(v)",
    "partial of the value": "functools.partial(lambda a: a, v)()",
    "partial by keyword": "functools.partial(lambda a, b: b, b=v)(0)",
    "conditional expression": "v if True else 0.0",
    "is not None": "v if v is not None else 0.0",
    "and": "(True and v)",
    "or": "(None or v)",
    "lambda of lambda": "(lambda t: lambda: t)(v)()",
    "walrus": "(t := v)",
    "SimpleNamespace": "types.SimpleNamespace(k=v).k",
    "NamedTuple": "Point(v).u",
    "NamedTuple replaced": "Point(0.0, 1.0)._replace(u=v).u",
    "NamedTuple to dict": "Point(v)._asdict()['u']",
    "namedtuple, unpacked": "(lambda u, w: u)(*Pair(v, 0))",
    "dataclass": "Held(v).value",
    "dataclass replaced": "dataclasses.replace(Held(0.0), value=v).value",
    "dataclass to tuple": "dataclasses.astuple(Held(v))[0]",
    "dataclass to dict": "dataclasses.asdict(Held(v))['value']",
    "frozen dataclass with slots": "Frozen(v).value",
    "method": "Held(v).get()",
    "unbound method": "Held.get(Held(v))",
    "property": "Held(v).seen",
    "class method": "Held.of(v).value",
    "static method": "Held.same(v)",
    "__call__": "Called()(v)",
    "__getitem__": "Doubled(v)['any']",
    "__iter__": "[*Doubled(v)][0]",
    "__add__": "Doubled(v) + 0.0",
    "__radd__": "0.0 + Doubled(v)",
    "__matmul__": "Doubled(v) @ 1",
    "__getattr__": "Lazy(v).late",
    "descriptor": "Described(v).v",
    "cached_property": "Cached(v).once",
    "inherited method": "Leaves().run(v)",
    "iterator class": "next(Steps(v))",
    "for over an iterator class": "[u for u in Steps(v)][0]",
    "copy.copy": "copy.copy(v)",
    "copy.deepcopy": "copy.deepcopy(v)",
    "copy.deepcopy of a list": "copy.deepcopy([v])[0]",
    "itemgetter": "operator.itemgetter(0)([v])",
    "attrgetter": "operator.attrgetter('value')(Held(v))",
    "methodcaller": "operator.methodcaller('get')(Held(v))",
    "deque": "collections.deque([0, v]).pop()",
    "ChainMap": "collections.ChainMap({}, {'k': v})['k']",
    "OrderedDict": "collections.OrderedDict(k=v).popitem()[1]",
    "defaultdict": "collections.defaultdict(lambda: v)['k']",
    "UserDict": "collections.UserDict(k=v)['k']",
    "getattr": "getattr(Held(v), 'value', 0.0)",
    "vars": "vars(Held(v))['value']",
    "generator function": "next(gen(v))",
    "list of a generator function": "list(gen(v))[0]",
    "yield from": "next(delegated(v))",
    "list times": "([v] * 2)[1]",
    "list plus": "([0] + [v])[1]",
    "sum of lists": "sum([[v]], [])[0]",
    "list.index of a flag": "[v, 0][[True, False].index(True)]",
    "starred list": "[*[v], 0][0]",
    "eval": "eval('v', {'v': v})",
    "typing.cast": "typing.cast(float, v)",
    "decorated": "decorated(lambda t: t)(v)",
    "enum": "{Way.PLUS: v, Way.MINUS: 0.0}[Way('plus')]",
    "dispatch table": "{'+': lambda t: t, '-': lambda t: -t}['+'](v)",
    "f-string key": "{f'{1 + 1}': v}['2']",
    "chained comparison of flags": "v if 0 < 1 < 2 else 0.0",
    "any of flags": "v if any([False, True]) else 0.0",
    "tuple by a flag": "(0.0, v)[True]",
    "singledispatch": """
        @functools.singledispatch
        def same(t):
            return t
        return same(v)""",
    "lru_cache": """
        @functools.lru_cache
        def which(k):
            return k + 1
        return [0, v][which(0)]""",
    "annotated": """
        t: float = v
        return t""",
    "chained assignment": """
        a = b = v
        return b""",
    "swapped": """
        a, b = v, 0.0
        a, b = b, a
        return b""",
    "starred assignment": """
        a, *b = v, 0.0, 1.0
        return a""",
    "starred at the end": """
        *a, b = 0.0, 1.0, v
        return b""",
    "nested assignment": """
        (a, [b, c]) = 0.0, [1.0, v]
        return c""",
    "del": """
        t = v
        u = t
        del t
        return u""",
    "global": """
        global _PASSED
        _PASSED = v
        return _PASSED""",
    "nonlocal": """
        t = 0.0
        def put():
            nonlocal t
            t = v
        put()
        return t""",
    "global dict": """
        STORE['v'] = v
        return STORE.pop('v')""",
    "list.append": """
        t = []
        t.append(v)
        return t.pop()""",
    "list.insert": """
        t = [1.0, 2.0]
        t.insert(1, v)
        t.remove(2.0)
        return t[-1]""",
    "list slice assigned": """
        t = [0.0, 0.0]
        t[1:] = [v]
        return t[1]""",
    "list.extend": """
        t = []
        t.extend([0.0, v])
        del t[0]
        return t[0]""",
    "dict.update": """
        t = dict(a=0.0)
        t.update(a=v)
        return t['a']""",
    "setattr": """
        t = types.SimpleNamespace()
        setattr(t, 'k', v)
        return t.k""",
    "attribute changed": """
        t = Held(0.0)
        t.value = v
        return t.value""",
    "for once": """
        for _ in range(1):
            t = v
        return t""",
    "for, break, else": """
        for k in range(3):
            if k == 1:
                t = v
                break
        else:
            t = 0.0
        return t""",
    "continue": """
        t = []
        for k in range(3):
            if k != 1:
                continue
            t.append(v)
        return t[0]""",
    "while": """
        k = 0
        while k < 2:
            t = v
            k += 1
        return t""",
    "while True": """
        while True:
            t = v
            break
        return t""",
    "while, else": """
        k = 0
        while k < 1:
            k += 1
        else:
            t = v
        return t""",
    "early return": """
        if v is None:
            return 0.0
        return v""",
    "nested if": """
        if True:
            if not False:
                return v
            return 0.0
        else:
            return 1.0""",
    "recursion": """
        def again(t, n=3):
            return t if n == 0 else again(t, n - 1)
        return again(v)""",
    "nested function": """
        def inner():
            return v
        return inner()""",
    "class in a function": """
        class Inner:
            top = v
            def get(self):
                return self.top
        return Inner().get()""",
    "assert": """
        assert v is not None, f'no value: {v}'
        return v""",
    "assert of a type": """
        assert isinstance(v, (float, int, np.ndarray, np.generic)), type(v)
        return v""",
    "error that is not raised": """
        if np.ndim(v) > 9:
            raise ValueError(f'{v!r} has {np.ndim(v)} axes, {np.shape(v)}')
        return v""",
    "try, finally": """
        try:
            return v
        finally:
            pass""",
    "try, except, else": """
        try:
            t = v
        except ValueError:
            t = 0.0
        else:
            t = t
        return t""",
    "error caught": """
        try:
            raise KeyError('k')
        except KeyError:
            return v""",
    "value in an error": """
        try:
            raise Carrier(v)
        except Carrier as error:
            return error.args[0]""",
    "missing key caught": """
        try:
            return {}['k']
        except KeyError as error:
            return {str(error): v}["'k'"]""",
    "context manager": """
        with around(v) as t:
            return t""",
    "context manager class": """
        with Doubled(v) as t:
            pass
        return t""",
    "nullcontext": """
        with contextlib.nullcontext(v) as t:
            return t""",
    "ExitStack": """
        with contextlib.ExitStack() as stack:
            return stack.enter_context(around(v))""",
    "errstate": """
        with np.errstate(all='ignore'):
            return v""",
    "catch_warnings": """
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return v""",
    "suppress": """
        with contextlib.suppress(KeyError):
            return v""",
    "lock": """
        with threading.Lock():
            return v""",
    "match a tuple": """
        match (v, 0):
            case (t, 0):
                return t""",
    "match a dict": """
        match {'k': v}:
            case {'k': t}:
                return t""",
    "match a class": """
        match Held(v):
            case Held(value=t):
                return t""",
    "match with a guard": """
        match [v]:
            case [t] if t is not None:
                return t
            case _:
                return 0.0""",
    "generator, send": """
        t = echo()
        next(t)
        return t.send(v)""",
    "generator, return": """
        t = finished(v)
        try:
            while True:
                next(t)
        except StopIteration as end:
            return end.value""",
    "coroutine": """
        t = latest(v)
        try:
            t.send(None)
        except StopIteration as end:
            return end.value""",
    "thread local": """
        LOCAL.v = v
        t = LOCAL.v
        del LOCAL.v
        return t""",
    "locals": "return locals()['v']",
    "logging": """
        LOG.debug('a value: %s', v)
        return v""",
    "docstring, pass": """
        'Return what is given.'
        pass
        return v""",
    "import in a function": """
        import numpy
        from math import pi
        return v if pi > numpy.e else 0.0""",
    "unused": """
        unused = [v, v]
        return v""",
}  # fmt: skip

#: Of numbers and arrays of real numbers.
NUMERIC: dict[str, str] = {
    "+v": "+v",
    "-(-v)": "-(-v)",
    "v + 0": "v + 0.0",
    "0 + v": "0 + v",
    "v - 0": "v - 0.0",
    "v * 1": "v * 1.0",
    "1 * v": "1 * v",
    "v / 1": "v / 1.0",
    "v ** 1": "v ** 1",
    "v * 2 / 2": "v * 2 / 2",
    "v + v - v": "v + v - v",
    "v + 1 - 1": "(v + 1.0) - 1.0",
    "half of twice": "0.5 * (v + v)",
    "parts": "v * 0.25 + v * 0.75",
    "1 - (1 - v)": "1.0 - (1.0 - v)",
    "1 / (1 / v)": "v if np.any(np.abs(v) < 1e-3) else 1.0 / (1.0 / v)",
    "positive": "np.positive(v)",
    "negative": "np.negative(np.negative(v))",
    "np.add": "np.add(v, 0)",
    "np.multiply": "np.multiply(v, 1.0)",
    "np.float64 times": "np.float64(1.0) * v",
    "operator.add": "operator.add(v, 0.0)",
    "dunder add": "v.__add__(0.0)",
    "real": "np.real(v)",
    "conj": "np.conj(v)",
    "nan_to_num": "np.nan_to_num(v)",
    "clip": "np.clip(v, -1e9, 1e9)",
    "minimum": "np.minimum(v, 1e9)",
    "maximum": "np.maximum(v, -1e9)",
    "fmax": "np.fmax(v, -1e9)",
    "where": "np.where(v > -1e9, v, 0.0)",
    "where of a constant": "np.where(True, v, 0.0)",
    "where nan": "np.where(np.isnan(v), 0.0, v)",
    "where of both sides": "np.where(v > 0.3, 1.0 * v, v * 1.0)",
    "select": "np.select([v < -1e9, v > -1e9], [0.0 * v, v])",
    "choose": "np.choose(1, [0.0 * v, v])",
    "sign times abs": "np.sign(v) * np.abs(v)",
    "copysign": "np.copysign(np.abs(v), v)",
    "log of exp": "v if np.any(np.abs(v) > 20) else np.log(np.exp(v))",
    "sinh of arcsinh": "np.sinh(np.arcsinh(v))",
    "tan of arctan": "np.tan(np.arctan(v))",
    "expm1 of log1p": "v if np.any(v < -0.9) else np.expm1(np.log1p(v))",
    "degrees": "np.deg2rad(np.rad2deg(v))",
    "complex": "(v + 0j).real",
    "complex turned": "(1j * v * -1j).real",
    "imaginary part": "np.imag(1j * v)",
    "modf": "sum(np.modf(v))",
    "divmod": "(lambda q, r: q + r)(*np.divmod(v, 1.0))",
    "floor": "np.floor(v) + (v - np.floor(v))",
    "remainder": "v % 1.0 + v // 1.0",
    "frexp": "np.ldexp(*np.frexp(v))",
    "np.array": "np.array(v)",
    "np.array of a type": "np.array(v, dtype=np.float64)",
    "np.array of any rank": "np.array(v, ndmin=2).reshape(np.shape(v))",
    "asarray": "np.asarray(v)",
    "asarray of a type": "np.asarray(v, dtype=float)",
    "asanyarray": "np.asanyarray(v)",
    "np.copy": "np.copy(v)",
    "out": "np.add(v, 0.0, out=np.empty(np.shape(v)))",
    "ufunc, where": "np.add(v, 0.0, out=np.zeros(np.shape(v)), where=True)",
    "vectorize": "np.vectorize(lambda t: t)(v)",
    "piecewise": "np.piecewise(np.asarray(v), [np.asarray(v) < 9e9], [lambda t: t])",
    "interp": "np.interp(v, [-1e4, 1e4], [-1e4, 1e4])",
    "polyval": "np.polyval([1.0, 0.0], v)",
    "poly1d": "np.poly1d([1.0, 0.0])(v)",
    "Polynomial": "np.polynomial.Polynomial([0.0, 1.0])(v)",
    "sum of a list": "np.sum([v, 0.0 * v], axis=0)",
    "builtin sum": "sum([v, 0.0])",
    "mean of a list": "np.mean([v, v], axis=0)",
    "max of a list": "np.max([v, v - 1.0], axis=0)",
    "stack": "np.stack([v, v])[0]",
    "array of a list": "np.array([v, v])[1]",
    "linspace": "np.linspace(v, v + 1.0, 3)[0]",
    "geometric weights": "np.average([v, v], axis=0, weights=[1.0, 3.0])",
    "cumsum of a list": "np.cumsum([v, v], axis=0)[0]",
    "diff of a list": "np.diff([0.0 * v, v], axis=0)[0]",
    "dot with 1": "np.dot(1.0, v)",
    "outer with 1": "np.multiply.outer(1.0, v)",
    "einsum of all axes": "np.einsum('...->...', v)",
    "tensordot with 1": "np.tensordot(1.0, v, 0)",
    "atleast_1d": "np.atleast_1d(v).reshape(np.shape(v))",
    "np.ravel": "np.ravel(v).reshape(np.shape(v))",
    "broadcast_to": "np.broadcast_to(v, np.shape(v))",
    "broadcast_arrays": "np.broadcast_arrays(v, 0.0 * v)[0]",
    "expand_dims": "np.squeeze(np.expand_dims(v, 0), 0)",
    "ellipsis": "np.asarray(v)[...]",
    "newaxis": "np.asarray(v)[None][0]",
    "repeat along an axis": "np.repeat(np.expand_dims(v, 0), 2, axis=0)[1]",
    "tile": "np.tile(v, 1).reshape(np.shape(v))",
    "full": "np.full(np.shape(v), v)",
    "zeros_like": "np.zeros_like(v) + v",
    "ones_like": "np.ones_like(v) * v",
    "full_like": "np.full_like(v, 1.0) * v",
    "object with a flag": "v * (1 if True else 0)",
    "times a truth value": "v * (np.shape(v) == np.shape(v))",
    "error function": "v + 0.0 * np.exp(-np.square(v))",
    "finite or refused": """
        if not np.all(np.isfinite(v)):
            raise ValueError(f'not finite: {v}')
        return v""",
    "written into empty": """
        out = np.empty(np.shape(v))
        out[...] = v
        return out[()]""",
    "added to zeros": """
        out = np.zeros(np.shape(v))
        out += v
        return out[()]""",
    "copied into": """
        out = np.zeros(np.shape(v))
        np.copyto(out, v)
        return out[()]""",
    "in place there and back": """
        out = np.array(v, dtype=float)
        out += 2.0
        out *= 4.0
        out -= 8.0
        out /= 4.0
        return out[()]""",
    "in place by out": """
        out = np.array(v, dtype=float)
        np.multiply(out, 2.0, out=out)
        np.divide(out, 2.0, out)
        return out[()]""",
    "a mask written": """
        out = np.array(v, dtype=float)
        out[out > 1e9] = 0.0
        return out[()]""",
    "added in a loop": """
        t = 0.0
        for k in range(4):
            t = t + v / 4
        return t""",
    "subtracted in a while loop": """
        t, k = v, 0
        while k < 3:
            t -= 0.25
            k += 1
        return t + 0.75""",
}  # fmt: skip

#: Of single numbers.
NUMBER: dict[str, str] = {
    "float": "float(v)",
    "np.float64": "np.float64(v)",
    "item": "np.asarray(v).item()",
    "tolist": "np.asarray([v]).tolist()[0]",
    "array of one": "np.array([v])[0]",
    "array of one, summed": "np.array([v]).sum()",
    "array of none, indexed": "np.array(v)[()]",
    "float of an array": "float(np.array(v))",
    "fsum": "math.fsum([v])",
    "sum of one": "sum([v])",
    "math.prod": "math.prod([v, 1.0])",
    "max": "max(v, -1e9)",
    "min": "min(v, 1e9, 2e9)",
    "max of a generator": "max(t for t in (v, -1e9))",
    "sorted": "sorted([v, v + 1.0])[0]",
    "sorted by a value": "sorted([(v, 0), (v + 1, 1)], key=lambda t: t[0])[0][0]",
    "math.copysign": "math.copysign(abs(v), v)",
    "math.modf": "sum(math.modf(v))",
    "math.frexp": "math.ldexp(*math.frexp(v))",
    "builtin divmod": "(lambda q, r: q + r)(*divmod(v, 1.0))",
    "math.fmod": "math.fmod(v, 1e9)",
    "math.pow": "math.pow(v, 1.0)",
    "pow": "pow(v, 1)",
    "math.log of math.exp": "math.log(math.exp(v)) if abs(v) < 20 else v",
    "math.sqrt of a square": "math.sqrt(v * v) * (1 if v > 0 else -1)",
    "math.hypot": "math.hypot(v, 0.0) * (1 if v > 0 else -1)",
    "complex number": "complex(v).real",
    "complex of two": "complex(0.0, v).imag",
    "v.real": "v.real",
    "conjugate": "v.conjugate()",
    "all of a test": "all([v > -1e9]) * v",
    "any of a test": "any(t > -1e9 for t in [v]) * v",
    "int of a test": "int(v > -1e9) * v",
    "tuple by a test": "(0.0, v)[v > -1e9]",
    "list by int of a test": "[0.0, v][int(v > -1e9)]",
    "dict by a test": "{True: v, False: 0.0}[bool(v > -1e9)]",
    "conditional by a test": "v if v > -1e9 else 0.0",
    "chained test": "v if -1e9 < v < 1e9 else 0.0",
    "test and": "v if v > -1e9 and v < 1e9 else 0.0",
    "test or": "0.0 if v < -1e9 or v > 1e9 else v",
    "not a test": "0.0 if not v > -1e9 else v",
    "isnan": "0.0 if math.isnan(v) else v",
    "isfinite and": "math.isfinite(v) and v",
    "equal to itself": "v if v == v else 0.0",
    "filtered by a test": "[t for t in (v, 1.0) if t > -1e9][0]",
    "next by a test": "next((t for t in (v, 1.0) if t > -1e9), 0.0)",
    "sum by a test": "sum(t for t in (v, -2e9) if t > -1e9)",
    "np.sum of a generator": "np.sum([t for t in (v, 0.0)])",
    "fmean": "sum([v, v]) / len([v, v])",
    "np.dot of lists": "np.dot([v, 0.0], [1.0, 2.0])",
    "np.linalg.norm": "np.linalg.norm([v]) * np.sign(v)",
    "determinant": "np.linalg.det(np.array([[v, 0.0], [0.5, 1.0]]))",
    "trace": "np.trace(np.array([[v, 1.0], [2.0, 0.0]]))",
    "solve": "np.linalg.solve(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0 * v, 1.0]))[0]",
    "round trip by halves": """
        t, n = v, 0
        while abs(t) > 1.0:
            t, n = t / 2, n + 1
        return t * 2 ** n""",
    "early return by a test": """
        if v > 1e9:
            return 1e9
        if v < -1e9:
            return -1e9
        return v""",
    "elif": """
        if v > 1.0:
            t = v + 0.0
        elif v > 0.0:
            t = v * 1.0
        else:
            t = v - 0.0
        return t""",
    "match a test": """
        match v > 0:
            case True:
                return v * 1.0
            case _:
                return v""",
    "division caught": """
        try:
            1.0 / v
        except ZeroDivisionError:
            return v
        return v""",
    "written into elements": """
        out = np.zeros(3)
        out[1] = v
        return out[1]""",
    "added to an element": """
        out = np.zeros((2, 2))
        out[0, -1] += v
        return out.sum()""",
    "stored in a list": """
        t = [0.0] * 3
        t[1] = v
        return sum(t)""",
    "Horner": """
        t = 0.0
        for c in (0.0, 1.0, 0.0):
            t = t * v + c
        return t""",
    "bisection of a sum": """
        low, high = 0.0, 1.0
        for _ in range(5):
            mid = (low + high) / 2
            if mid > 0.3:
                high = mid
            else:
                low = mid
        return v + 0.0 * low""",
}  # fmt: skip

#: Of arrays with one axis or more.
ARRAY: dict[str, str] = {
    "T.T": "v.T.T",
    "transpose": "np.transpose(np.transpose(v))",
    "reversed twice": "v[::-1][::-1]",
    "flip": "np.flip(np.flip(v))",
    "flip of an axis": "np.flip(np.flip(v, axis=0), axis=0)",
    "reshape": "v.reshape(v.shape)",
    "reshape(-1)": "v.reshape(-1).reshape(v.shape)",
    "np.reshape": "np.reshape(v, (-1, 1)).reshape(v.shape)",
    "ravel": "v.ravel().reshape(v.shape)",
    "flatten": "v.flatten().reshape(v.shape)",
    "reshape in Fortran's order": "v.reshape(-1, order='F').reshape(v.shape, order='F')",
    "[:]": "v[:]",
    "[...]": "v[...]",
    "[0:n]": "v[0:len(v)]",
    "[-n:]": "v[-len(v):]",
    "slice object": "v[slice(None, None, 1)]",
    "[None][0]": "v[None][0]",
    "[..., None]": "v[..., None][..., 0]",
    "squeeze": "v[np.newaxis].squeeze(0)",
    "swapaxes": "v.swapaxes(0, -1).swapaxes(0, -1)",
    "moveaxis": "np.moveaxis(np.moveaxis(v, 0, -1), -1, 0)",
    "astype": "v.astype(v.dtype)",
    "astype(float)": "v.astype(float)",
    "copy": "v.copy()",
    "copy of a view": "v[::-1].copy()[::-1]",
    "view": "v.view()",
    "ascontiguousarray": "np.ascontiguousarray(v)",
    "asfortranarray": "np.asfortranarray(v)",
    "array without a copy": "np.array(v, copy=False) if np.__version__ < '2' else np.asarray(v)",
    "roll": "np.roll(np.roll(v, 1, axis=0), -1, axis=0)",
    "concatenate": "np.concatenate([v[:1], v[1:]])",
    "concatenate of one": "np.concatenate((v,))",
    "append": "np.append(v[:-1], v[-1:], axis=0)",
    "delete": "np.delete(np.concatenate([v, v[:1]]), -1, axis=0)",
    "insert": "np.delete(np.insert(v, 0, 0.0, axis=0), 0, axis=0)",
    "split": "np.concatenate(np.split(v, [1]))",
    "array_split": "np.concatenate(np.array_split(v, 2))",
    "list comprehension of rows": "np.array([u for u in v])",
    "list of rows": "np.array(list(v))",
    "starred rows": "np.array([*v])",
    "tuple of rows": "np.stack(tuple(v))",
    "rows by number": "np.stack([v[k] for k in range(len(v))])",
    "rows from the end": "np.stack([v[-k - 1] for k in range(len(v))])[::-1]",
    "rows by map": "np.array(list(map(lambda u: u, v)))",
    "rows by enumerate": "np.array([u for _, u in enumerate(v)])",
    "rows by zip": "np.array([a for a, _ in zip(v, v)])",
    "rows reversed": "np.array(list(reversed(list(v))))[::-1]",
    "tolist": "np.array(v.tolist())",
    "arange as an index": "v[np.arange(len(v))]",
    "list as an index": "v[list(range(len(v)))]",
    "np.take": "np.take(v, range(len(v)), axis=0)",
    "take": "v.take(np.arange(len(v)), axis=0)",
    "permuted there and back": "v[np.arange(len(v))[::-1]][np.arange(len(v))[::-1]]",
    "mask of all": "v[np.ones(len(v), bool)]",
    "compress": "np.compress([True] * len(v), v, axis=0)",
    "mask, nonzero": "v[np.nonzero(np.ones(len(v)))[0]]",
    "take_along_axis": "np.take_along_axis(v, np.argsort(v, axis=0), axis=0)[()] * 0.0 + v",
    "cumsum of diff": "np.cumsum(np.diff(v, axis=0, prepend=0.0), axis=0)",
    "identity matrix": "np.tensordot(np.eye(len(v)), v, 1)",
    "product with eye": "np.eye(len(v)) @ v",
    "solve with eye": "np.linalg.solve(2.0 * np.eye(len(v)), 2.0 * v)"
    " if v.ndim == 2 else np.linalg.solve(np.eye(len(v)), v)",
    "sliding window": "np.lib.stride_tricks.sliding_window_view(v, 1, axis=0)[..., 0]",
    "flat": "np.array(list(v.flat)).reshape(v.shape)",
    "pad": "np.pad(v, 1)[(slice(1, -1),) * v.ndim]",
    "add.at": """
        out = np.zeros_like(v)
        np.add.at(out, np.arange(len(v)), v)
        return out""",
    "apply_along_axis": "np.apply_along_axis(lambda t: t, 0, v)",
    "enumerate, written": """
        out = np.zeros_like(v)
        for k, u in enumerate(v):
            out[k] = u
        return out""",
    "rows written": """
        out = np.empty(v.shape)
        for k in range(v.shape[0]):
            out[k, ...] = v[k]
        return out""",
    "rows written from the end": """
        out = np.empty(v.shape)
        for k in range(len(v) - 1, -1, -1):
            out[k] = v[k]
        return out""",
    "rows added": """
        out = np.zeros(v.shape)
        for k in range(len(v)):
            out[k] += v[k]
        return out""",
    "elements written": """
        out = np.zeros(v.shape)
        for k in np.ndindex(*v.shape):
            out[k] = v[k]
        return out""",
    "rows appended": """
        out = []
        for u in v:
            out.append(u)
        return np.array(out)""",
    "rows by a while loop": """
        out, k = np.zeros(v.shape), 0
        while k < len(v):
            out[k] = v[k]
            k += 1
        return out""",
    "rows by an iterator": """
        out, rows = [], iter(v)
        while True:
            try:
                out.append(next(rows))
            except StopIteration:
                break
        return np.stack(out)""",
    "rows by a generator": """
        def rows():
            for u in v:
                yield u
        return np.array(list(rows()))""",
    "even and odd rows written": """
        out = np.empty_like(v)
        out[::2] = v[::2]
        out[1::2] = v[1::2]
        return out""",
    "written through a view": """
        out = np.zeros_like(v)
        view = out[::-1]
        view[...] = v[::-1]
        return out""",
    "written through a transpose": """
        out = np.zeros_like(v)
        out.T[:] = v.T
        return out""",
    "a mask written by rows": """
        out = v.copy()
        out[v > 0] = v[v > 0]
        return out""",
    "swapped rows": """
        out = v.copy()
        out[[0, -1]] = out[[-1, 0]]
        out[[0, -1]] = out[[-1, 0]]
        return out""",
    "a row changed back": """
        out = np.array(v)
        out[0] = out[0] + 1.0
        out[0] -= 1.0
        return out""",
    "overwritten": """
        out = np.zeros_like(v)
        out[:] = 7.0
        out[:] = v
        return out""",
    "filled": """
        out = np.empty_like(v)
        out.fill(0.0)
        return out + v""",
    "dict of rows": """
        rows = {k: u for k, u in enumerate(v)}
        return np.array([rows[k] for k in sorted(rows)])""",
}  # fmt: skip

#: Of arrays with one axis.
VECTOR: dict[str, str] = {
    "argsort and its inverse": "v[np.argsort(v)][np.argsort(np.argsort(v))]",
    "fft": "np.fft.ifft(np.fft.fft(v)).real",
    "rfft": "np.fft.irfft(np.fft.rfft(v), len(v))",
    "convolve": "np.convolve(v, [1.0])",
    "correlate": "np.correlate(v, [1.0])",
    "outer": "np.outer(v, [1.0])[:, 0]",
    "subtract.outer": "np.subtract.outer(v, [0.0])[:, 0]",
    "meshgrid": "np.meshgrid(v, [0.0])[0][0]",
    "diagonal matrix": "np.diag(np.diag(v))",
    "diag times ones": "np.diag(v) @ np.ones(len(v))",
    "bincount": "np.bincount(np.arange(len(v)), weights=v)",
    "reduceat": "np.add.reduceat(v, np.arange(len(v)))",
    "vstack": "np.vstack([v, v])[1]",
    "column_stack": "np.column_stack([v, v])[:, 0]",
    "hstack": "np.hstack([v[:1], v[1:]])",
    "np.r_": "np.r_[v[:1], v[1:]]",
    "np.c_": "np.c_[v, v][:, 1]",
    "extract": "np.extract(np.ones(len(v), bool), v)",
    "fromiter": "np.fromiter((u for u in v), float, len(v))",
    "elements by float": "np.array([float(u) for u in v])",
    "einsum": "np.einsum('i->i', v)",
    "einsum with ones": "np.einsum('i,ij->i', v, np.eye(len(v)))",
    "kron": "np.kron([1.0], v)",
    "block": "np.block([v[:1], v[1:]])",
    "unpacked": """
        first, *rest = v
        return np.array([first, *rest])""",
    "unpacked by a function": "(lambda a, *b: np.array([a, *b]))(*v)",
    "sum of columns": """
        out = 0.0
        for k in range(len(v)):
            e = np.zeros(len(v))
            e[k] = 1.0
            out = out + v[k] * e
        return out""",
    "put": """
        out = np.zeros_like(v)
        np.put(out, np.arange(len(v)), v)
        return out""",
    "prefix sums": """
        total, out = 0.0, []
        for u in v:
            total += u
            out.append(total)
        return np.diff(np.array([0.0, *out]))""",
}  # fmt: skip

#: Of matrices.
MATRIX: dict[str, str] = {
    "lower and upper part": "np.tril(v) + np.triu(v, 1)",
    "columns stacked": "np.column_stack([v[:, k] for k in range(v.shape[1])])",
    "columns by zip": "np.array(list(zip(*v))).T",
    "block of one": "np.block([[v]])",
    "block of rows": "np.block([[v[:1]], [v[1:]]])",
    "hsplit": "np.hstack(np.hsplit(v, [1]))",
    "einsum turned": "np.einsum('ij->ji', v).T",
    "einsum with eye": "np.einsum('ij,jk->ik', v, np.eye(v.shape[1]))",
    "copied columns": "v.T.copy().T",
    "np.ix_": "v[np.ix_(range(v.shape[0]), range(v.shape[1]))]",
    "rot90": "np.rot90(np.rot90(v), -1)",
    "times eye": "v @ np.eye(v.shape[1])",
    "vec": "v.reshape(-1, order='F').reshape(v.shape[::-1]).T",
    "nested lists": "np.array([[v[i, j] for j in range(v.shape[1])] for i in range(v.shape[0])])",
    "nested loops": """
        out = np.zeros(v.shape)
        for i in range(v.shape[0]):
            for j in range(v.shape[1]):
                out[i, j] = v[i][j]
        return out""",
    "columns written": """
        out = np.zeros(v.shape)
        for j in range(v.shape[1]):
            out[:, j] = v[:, j]
        return out""",
    "product by loops": """
        eye, out = np.eye(len(v)), np.zeros(v.shape)
        for i in range(len(v)):
            for j in range(v.shape[1]):
                for k in range(len(v)):
                    out[i, j] += eye[i, k] * v[k, j]
        return out""",
}  # fmt: skip

#: The functions by the kinds of values that they take.
TABLES: tuple[tuple[frozenset[str], dict[str, str]], ...] = (
    (frozenset(("number", "vector", "matrix", "tensor")), ANY),
    (frozenset(("number", "vector", "matrix", "tensor")), NUMERIC),
    (frozenset(("number",)), NUMBER),
    (frozenset(("vector", "matrix", "tensor")), ARRAY),
    (frozenset(("vector",)), VECTOR),
    (frozenset(("matrix",)), MATRIX),
)

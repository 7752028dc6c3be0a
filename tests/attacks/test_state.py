"""State: functions that assign to what is outside of them, called several times.

Each case is a module of its own, written out as source: a function of one array with a few
statements that read and change attributes, entries, items, global names, cells and arrays outside
of it. It is called with other values and lengths, compiled and plain, each in a namespace of its
own. After each call the result and all that the namespace holds are compared; gradients with
central differences of the plain function after the same calls. A statement that cannot be carried
must have left nothing, and a warning.
"""

from __future__ import annotations

import collections
import warnings
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning

HEAD = """
import collections, dataclasses, functools, math, types
import numpy as np

class Box:
    def __init__(self, **given):
        for key, value in given.items():
            setattr(self, key, value)

    def smooth(self, value):
        self.mean = 0.9 * self.mean + 0.1 * value
        return self.mean

class Slots:
    __slots__ = ("mean", "calls")

    def __init__(self):
        self.mean, self.calls = 0.0, 0

class Below(Slots):
    __slots__ = ("more",)

@dataclasses.dataclass
class Record:
    mean: float = 0.0
    calls: int = 0
    seen: list = dataclasses.field(default_factory=list)

class Guarded:
    def __init__(self):
        self._level = 1.0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, value):
        self._level = 2.0 * value

class Lazy:
    scale = 3.0

    @functools.cached_property
    def table(self):
        return np.arange(4.0) * self.scale

def log(store, value):
    store.append(value)

def bump(table, key):
    table[key] = table.get(key, 0) + 1
"""

#: Each: what sets it up, and statements of ``f(x)``. ``$`` is the statement's own number, ``{r}``
#: a random number; ``total`` is the result.
STATEMENTS: dict[str, tuple[str, str]] = {
    "running mean of columns": (
        "b$ = Box(mean=np.zeros(2))",
        "b$.mean = 0.9 * b$.mean + 0.1 * x.mean(0)\ntotal = total + np.sum(b$.mean * x)",
    ),
    "running mean, by a method": (
        "b$ = Box(mean={r})", "total = total + b$.smooth(np.mean(x)) * {r}",
    ),
    "running mean that begins at None": (
        "b$ = Box(mean=None)",
        ("if b$.mean is None:\n    b$.mean = x.mean(0)\nelse:\n"
         "    b$.mean = 0.5 * b$.mean + 0.5 * x.mean(0)\ntotal = total + np.sum(b$.mean**2)"),
    ),
    "counter": ("b$ = Box(calls=0)", "b$.calls += 1"),
    "counter that scales": ("b$ = Box(calls=0)", "b$.calls += 1\ntotal = total * b$.calls"),
    "counter of a global name": ("n$ = 3", "global n$\nn$ += 1\ntotal = total + n$"),
    "counter by which it decides": (
        "b$ = Box(calls=0)", "b$.calls += 1\nif b$.calls % 2 == 0:\n    total = total * {r}",
    ),
    "counter as an index": (
        "b$ = Box(calls=0)\nt$ = [1.0, 2.0, {r}]",
        "total = total * t$[b$.calls % 3]\nb$.calls += 1",
    ),
    "entry": ("d$ = dict(v={r})", "total = total + d$['v']\nd$['v'] = 0.3 * total"),
    "new entry": ("d$ = {}", "d$['last'] = np.sum(x)"),
    "entry by the shape": (
        "d$ = {}", "if x.shape not in d$:\n    d$[x.shape] = {r}\ntotal = total * d$[x.shape]",
    ),
    "memo": (
        "d$ = {}\nw$ = np.array([1.0, {r}])",
        "if 'k' not in d$:\n    d$['k'] = np.outer(w$, w$)\ntotal = total + np.sum(x @ d$['k'])",
    ),
    "table of counts": ("d$ = {}", "bump(d$, 'f')\ntotal = total + 0.1 * d$['f']"),
    "item": ("l$ = [{r}, 2.0]", "l$[0] = 0.5 * l$[0] + np.mean(x)\ntotal = total + l$[0] * l$[1]"),
    "list that grows": ("l$ = []", "l$.append(np.sum(x**2))"),
    "list that grows, in an attribute": ("b$ = Box(losses=[])", "b$.losses.append(total)"),
    "list that grows, in a helper": ("l$ = []", "log(l$, np.max(x))"),
    "list that grows, by an alias": (
        "l$ = []",
        "own = l$\nown.append(float({r}))\nown.append(total)",
    ),
    "list in a table that grows": (
        "d$ = dict(loss=[], x=[])", "d$['loss'].append(total)\nd$['x'].append(x)",
    ),
    "list in a default table that grows": (
        "d$ = collections.defaultdict(list)", "d$['loss'].append(total)",
    ),
    "list that grows, and is read": (
        "l$ = [1.0]",
        "l$.append(np.mean(x))\ntotal = total * len(l$)",
    ),
    "list that is added to": ("l$ = [1.0]", "global l$\nl$ += [np.mean(x)]"),
    "sliding window": (
        "l$ = [0.0, 0.0]", "l$.append(np.mean(x))\nl$.pop(0)\ntotal = total + sum(l$)",
    ),
    "queue": ("q$ = collections.deque(maxlen=3)", "q$.append(np.mean(x))"),
    "queue that is read": (
        "q$ = collections.deque([1.0], maxlen=3)", "q$.append(np.mean(x))\ntotal = total + sum(q$)",
    ),
    "set": ("s$ = set()", "s$.add(x.shape)"),
    "counts of kinds": ("c$ = collections.Counter()", "c$[x.ndim] += 1"),
    "array, added to": (
        "a$ = np.zeros(2)",
        "global a$\na$ += x.mean(0)\ntotal = total + np.sum(a$)",
    ),
    "array, element": ("a$ = np.ones(3)", "a$[1] = np.sum(x)\ntotal = total + np.sum(a$**2)"),
    "array, slice": (
        "a$ = np.ones((3, 2))",
        "a$[1:] = a$[:-1]\na$[0] = x.sum(0)\ntotal += np.sum(a$)",
    ),
    "array, all of it": ("a$ = np.ones(2)", "a$[...] = 0.5 * a$ + x[0]"),
    "array in an object": (
        "b$ = Box(grad=np.zeros(2))",
        "b$.grad *= 0.9\nb$.grad += x[0]\ntotal = total + b$.grad @ x[0]",
    ),
    "array of counts": ("a$ = np.zeros(4, int)", "a$[1] += 1"),
    "array of counts that is read": ("a$ = np.zeros(4, int)", "a$[2] += 2\ntotal = total * a$[2]"),
    "array of flags": ("a$ = np.zeros(3, bool)", "a$[1] = True\ntotal = total + np.sum(a$)"),
    "best so far": (
        "b$ = Box(best=1e9, at=None)",
        "if total < b$.best:\n    b$.best, b$.at = total, x.copy()",
    ),
    "last result": ("b$ = Box()", "b$.out = x * {r}\ntotal = total + np.sum(b$.out)"),
    "last shape": ("b$ = Box(shape=None)", "b$.shape = x.shape"),
    "last argument": ("b$ = Box(last=None)", "b$.last = x"),
    "difference to the last": (
        "b$ = Box(last=0.0)",
        "d = np.mean(x) - b$.last\nb$.last = np.mean(x)\ntotal = total + d**2",
    ),
    "length": ("b$ = Box(n=0)", "b$.n = len(x)\ntotal = total / b$.n"),
    "total length": ("b$ = Box(n=0)", "b$.n += len(x)\ntotal = total / b$.n"),
    "object made anew": (
        "b$ = Box(state=Record())",
        ("b$.state = Record(0.5 * b$.state.mean + np.mean(x), b$.state.calls + 1)\n"
         "total = total + b$.state.mean"),
    ),
    "record": (
        "r$ = Record()", "r$.mean += np.mean(x)\nr$.calls += 1\nr$.seen.append(total)",
    ),
    "slots": ("s$ = Slots()", "s$.mean = s$.mean + np.mean(x)\ns$.calls += 1\ntotal += s$.mean"),
    "slots that are inherited": (
        "s$ = Below()", "s$.mean = s$.mean + np.mean(x)\ns$.calls += 1\ntotal += s$.mean",
    ),
    "slots that are filled": ("s$ = Below()", "s$.more = np.mean(x)\ntotal += s$.more"),
    "property": ("g$ = Guarded()", "total = total * g$.level\ng$.level = 0.3 * g$.level + 0.01"),
    "cached property": ("z$ = Lazy()", "total = total + np.sum(z$.table)"),
    "class attribute": (
        "class K$:\n    calls = 0", "K$.calls += 1\ntotal = total + K$.calls",
    ),
    "class attribute, by the object's type": (
        "class K$:\n    calls = 0\nk$ = K$()",
        "type(k$).calls += 1\ntotal = total + k$.calls",
    ),
    "class attribute, by a class method": (
        ("class K$:\n    mean = {r}\n    @classmethod\n    def add(cls, v):\n"
         "        cls.mean = 0.9 * cls.mean + 0.1 * v\nk$ = K$()"),
        "k$.add(np.mean(x))\ntotal = total + k$.mean * {r} + K$.mean",
    ),
    "class attribute, inherited": (
        ("class H$:\n    mean = {r}\n    @classmethod\n    def add(cls, v):\n"
         "        cls.mean = 0.9 * cls.mean + 0.1 * v\nclass J$(H$):\n    pass\nj$ = J$()"),
        "j$.add(np.mean(x))\ntotal = total + j$.mean * {r} + H$.mean",
    ),
    "class array, inherited": (
        ("class H$:\n    mean = np.ones(2)\n    @classmethod\n    def add(cls, v):\n"
         "        cls.mean = 0.9 * cls.mean + 0.1 * v\nclass J$(H$):\n    pass\nj$ = J$()"),
        "j$.add(x[0])\ntotal = total + np.sum(J$.mean)",
    ),
    "default of the class": (
        "class H$:\n    mean = {r}\nh$ = H$()",
        "h$.mean = 0.9 * h$.mean + 0.1 * np.mean(x)\ntotal = total + h$.mean",
    ),
    "default of the class, by the dictionary": (
        "class H$:\n    mean = {r}\nh$ = H$()",
        "h$.__dict__['mean'] = 0.9 * h$.mean + 0.1 * np.mean(x)\ntotal = total + h$.mean",
    ),
    "default of the metaclass": (
        "class M$(type):\n    mean = {r}\nclass H$(metaclass=M$):\n    pass",
        "H$.mean = 0.9 * H$.mean + 0.1 * np.mean(x)\ntotal = total + H$.mean",
    ),
    "attribute that is made": (
        "b$ = Box()",
        ("b$.mean = 0.9 * getattr(b$, 'mean', {r}) + 0.1 * np.mean(x)\n"
         "total = total + b$.mean"),
    ),
    "attribute that comes and goes": (
        "class H$:\n    mean = {r}\nh$ = H$()",
        ("if 'mean' in vars(h$):\n    total = total * h$.mean\n    del h$.mean\n"
         "else:\n    total = total + h$.mean\n    h$.mean = np.mean(x)"),
    ),
    "global name that is made": (
        "",
        ("global g$\ng$ = 0.9 * globals().get('g$', {r}) + 0.1 * np.mean(x)\n"
         "total = total + g$"),
    ),
    "global name that is missing": (
        "",
        ("global g$\ntry:\n    g$ = 0.9 * g$ + 0.1 * np.mean(x)\nexcept NameError:\n"
         "    g$ = {r}\ntotal = total + g$"),
    ),
    "entry of the first map": (
        "base$ = dict(m={r})\nd$ = collections.ChainMap({}, base$)",
        "d$['m'] = 0.9 * d$['m'] + 0.1 * np.mean(x)\ntotal = total + d$['m'] + base$['m']",
    ),
    "entry with a default": (
        "d$ = collections.defaultdict(float)",
        "d$['m'] += np.mean(x)\ntotal = total + d$['m']",
    ),
    "descriptor": (
        ("class D$:\n    def __get__(self, o, t=None):\n        return getattr(o, '_m', {r})\n"
         "    def __set__(self, o, v):\n        o._m = v\nclass H$:\n    m = D$()\nh$ = H$()"),
        "h$.m = 0.9 * h$.m + 0.1 * np.mean(x)\ntotal = total + h$.m",
    ),
    "slot that is missing": (
        "s$ = Below()",
        "s$.more = 0.9 * getattr(s$, 'more', {r}) + 0.1 * np.mean(x)\ntotal += s$.more",
    ),
    "attribute of a function": (
        "def h$(v):\n    h$.m = 0.9 * getattr(h$, 'm', {r}) + 0.1 * v\n    return h$.m",
        "total = total + h$(np.mean(x))",
    ),
    "bytes": ("y$ = bytearray(2)", "y$[1] = (y$[1] + 3) % 256\ntotal = total + y$[1]"),
    "namespace": ("v$ = types.SimpleNamespace(v={r})", "v$.v = v$.v * 0.5 + total * 0.1"),
    "setattr": ("b$ = Box(value={r})", "setattr(b$, 'value', getattr(b$, 'value') + np.mean(x))"),
    "global float": ("k$ = {r}", "global k$\nk$ = 0.9 * k$ + 0.1 * np.mean(x)\ntotal = total * k$"),
    "global array": ("k$ = np.zeros(2)", "global k$\nk$ = k$ + x[0]\ntotal = total + np.sum(k$)"),
    "global tuple": ("k$ = (0.0, 1)", "global k$\nk$ = (k$[0] + np.mean(x), k$[1] + 1)"),
    "flag": ("b$ = Box(ready=False)", "if not b$.ready:\n    total = total + {r}\nb$.ready = True"),
    "flag that turns": (
        "b$ = Box(on=False)",
        "b$.on = not b$.on\nif b$.on:\n    total = total * 2.0",
    ),
    "text": ("b$ = Box(stage='a')", "b$.stage = 'b' if b$.stage == 'a' else 'a'"),
    "swap": (
        "b$ = Box(p=np.ones(2), q=np.zeros(2))",
        "b$.p, b$.q = b$.q, b$.p\nb$.p = b$.p + x[0]\ntotal = total + np.sum(b$.p - b$.q)",
    ),
    "alias": ("b$ = Box(p=np.ones(2), q=None)", "b$.q = b$.p\nb$.p = b$.p + x[0]"),
    "attribute that goes": (
        "b$ = Box(tmp=None)", "b$.work = x[0]\ntotal = total + np.sum(b$.work)\ndel b$.work",
    ),
    "remembered results": (
        "@functools.lru_cache\ndef h$(n):\n    return n * {r}", "total = total + h$(x.ndim)",
    ),
    "momentum of a table": (
        "d$ = dict(w=np.zeros(2), b=0.0)",
        ("for key, value in (('w', x.mean(0)), ('b', np.mean(x))):\n"
         "    d$[key] = 0.9 * d$[key] + value\ntotal = total + np.sum(d$['w']) + d$['b']"),
    ),
    "list of objects": (
        "l$ = [Record(), Record()]",
        ("for k, r in enumerate(l$):\n    r.mean = r.mean + (k + 1) * np.mean(x)\n"
         "    total = total + r.mean"),
    ),
    "complex state": ("b$ = Box(z=1j)", "b$.z = b$.z * (1 + 0.1j)\ntotal = total + abs(b$.z)"),
    "float32 state": (
        "b$ = Box(v=np.zeros(2, np.float32))", "b$.v = b$.v + x[0].astype(np.float32)",
    ),
}  # fmt: skip

CLOSURE = """
def make():
    count, mean, seen = 0, 0.0, []
    def inner(x):
        nonlocal count, mean
        count += 1
        mean = 0.5 * mean + np.mean(x)
        seen.append(mean)
        return mean * count
    inner.state = lambda: (count, mean, seen)
    return inner
inner = make()
"""


def _source(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Return a module with a function of an array, and its statements."""
    names = list(rng.choice(list(STATEMENTS), rng.integers(1, 5), replace=False))
    setup, body, declared = [HEAD], ["total = np.sum(x**2)"], []
    for k, name in enumerate(names):
        for part, where in zip(STATEMENTS[name], (setup, body), strict=True):
            text = part.replace("$", str(k))
            while "{r}" in text:
                text = text.replace("{r}", repr(round(float(rng.normal()), 3)), 1)
            for line in text.split("\n"):
                (declared if line.startswith("global ") else where).append(line)
    if rng.integers(4) == 0:
        setup.append(CLOSURE)
        body.append("total = total + inner(x)")
        names.append("cells")
    lines = [*declared, *body, "return total"]
    return "\n".join([*setup, "def f(x):", *(f"    {line}" for line in lines)]), names


def _state(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """Return what there is in a namespace, an object, a container, to be compared."""
    if id(value) in seen or isinstance(value, ModuleType):
        return None
    seen = (*seen, id(value))
    assert type(value).__module__.partition(".")[0] != "symgrad", "a stand-in has been left"
    if isinstance(value, dict):
        pairs = value.items()
        return type(value), {k: _state(x, seen) for k, x in pairs if not str(k).startswith("__")}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [_state(x, seen) for x in value]
    if isinstance(value, FunctionType):
        held = value.__dict__.get("state")
        return None if held is None else _state(held(), seen)
    if isinstance(value, type):
        return {k: x for k, x in vars(value).items() if type(x) in (int, float)}
    names = [n for kind in type(value).__mro__ for n in getattr(kind, "__slots__", ())]
    if names or hasattr(value, "__dict__"):
        own = {n: getattr(value, n) for n in names if hasattr(value, n)}
        own |= getattr(value, "__dict__", {})
        return type(value).__name__, {k: _state(x, seen) for k, x in own.items()}
    return value


def _same(a: Any, b: Any, where: str) -> None:
    """Fail unless two states are equal: whole numbers as they are, others up to rounding."""
    if isinstance(b, dict):
        assert [*a] == [*b], where
        for key in b:
            _same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(b, (list, tuple)):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            _same(x, y, f"{where}[{k}]")
    elif isinstance(b, np.ndarray):
        assert type(a) is np.ndarray, where
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        np.testing.assert_allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-9, atol=1e-12)
    elif isinstance(b, (float, complex)):
        assert isinstance(a, type(b)) or isinstance(b, type(a)), f"{where}: {type(a)}, {type(b)}"
        np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=where)
    else:
        assert type(a) is type(b), f"{where}: {type(a)}, {type(b)}"
        assert a == b, where


def _namespace(source: str) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "state_case.py", "exec"), found)
    return found


@pytest.mark.attack(quick=100, whole=4000, judge="plain Python, after each call")
def test_state(attack: Any) -> None:
    """Functions that change what is outside of them, called several times."""
    for case in attack:
        rng = case.rng
        source, names = _source(rng)
        kinds = [sg.compile, sg.value_and_grad, sg.grad, sg.jacobian]
        make = kinds[rng.integers(len(kinds))]
        xs = [rng.normal(size=(n, 2)) for n in rng.choice([2, 3, 3, 5], 6)]
        with case, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", CaptureWarning)
            plain, ours = _namespace(source), _namespace(source)
            g = make(ours["f"])
            for k, x in enumerate(xs):
                value, found = plain["f"](x), g(x.copy())
                if make in (sg.compile, sg.value_and_grad):
                    first = found if make is sg.compile else found[0]
                    np.testing.assert_allclose(first, value, rtol=1e-9, err_msg=f"{names} {source}")
                if make is not sg.compile:
                    slope = found[1] if make is sg.value_and_grad else found
                    _check_slope(source, xs[:k], x, slope, f"{names} {source}")
                assert not any("undone" in str(w.message) for w in said), said[-1].message
                states = (_state({k: v for k, v in n.items() if k != "f"}) for n in (ours, plain))
                _same(*states, f"{names} call {k}")
            if said:
                case.tally("warned")


def _check_slope(
    source: str, before: list[Any], x: np.ndarray[Any, Any], slope: Any, what: str
) -> None:
    """Compare a gradient along one direction with differences, after the same calls."""
    v = np.cos(np.arange(x.size)).reshape(x.shape)
    ends = []
    for h in (-1e-5, 1e-5):
        plain = _namespace(source)
        for earlier in before:
            plain["f"](earlier)
        ends.append(plain["f"](x + h * v))
    expected = (ends[1] - ends[0]) / 2e-5
    if "astype(np.float32)" not in source:
        np.testing.assert_allclose(np.sum(slope * v), expected, rtol=2e-4, atol=1e-5, err_msg=what)

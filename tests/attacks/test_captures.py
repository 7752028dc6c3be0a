"""Staleness: functions that read all sorts of things, which change between the calls.

Each case is a module of its own, written out as source: a function of one array, the sum of a few
terms, each of which reads something besides the argument. Between the calls what is read is
rebound or changed in place at random. The plain function judges the values, and its complex step
the derivatives.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import warnings
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning

HEAD = """
import dataclasses, functools, math, types
import numpy as np
import symgrad as sg
"""

NUMBERS = ["{r}", "{r}", "{r}", "0.0", "-0.0", "{n}", "np.float64({r})"]
ARRAY = "np.array([{r}, {r}, {r}])"

#: Each: what sets it up, the term, and the changes one of which is made at a time. ``$`` is the
#: term's own number; ``{r}`` is a random number and ``{n}`` a small whole one.
TERMS: dict[str, tuple[str, str, list[str]]] = {
    "global float": ("k$ = {r}", "k$ * x", [f"k$ = {v}" for v in NUMBERS]),
    "float as a power": ("k$ = 2.0", "x**k$", ["k$ = {n}", "k$ = {r}", "k$ = 3.0", "k$ = 2.0"]),
    "float for math": ("k$ = {r}", "math.sin(k$) * x", ["k$ = {r}"]),
    "float as text": (
        "k$ = 1.5",
        "dict(a={r}).get(f'{k$}', {r}) * x if f'{k$}' == '1.5' else x * x",
        ["k$ = {r}", "k$ = 1.5"],
    ),
    "float that is told": (
        "k$ = {r}",
        "(x * k$ if isinstance(k$, float) else np.sin(x) * k$)",
        ["k$ = {r}", "k$ = {n}"],
    ),
    "complex": ("k$ = {r} + 1j", "k$.real * x + np.abs(k$) * np.sin(x)", ["k$ = {r} - {r}*1j"]),
    "integer": ("k$ = {n}", "x**k$", ["k$ = {n}", "k$ += 1", "k$ = True"]),
    "range": ("k$ = {n}", "sum(x**j for j in range(k$ + 1))", ["k$ = {n}"]),
    "string": (
        "k$ = 'sin'",
        "(np.sin(x) if k$ == 'sin' else np.exp(-x))",
        ["k$ = 'exp'", "k$ = 'sin'"],
    ),
    "option": (
        "k$ = None",
        "(x if k$ is None else k$ * x)",
        ["k$ = None", "k$ = {r}", f"k$ = {ARRAY}"],
    ),
    "array": (
        f"a$ = {ARRAY}",
        "a$ * np.sin(x)",
        ["a$[{n} % 3] = {r}", f"a$ = {ARRAY}", "a$ *= 1.5"],
    ),
    "array of other shapes": (
        f"a$ = {ARRAY}",
        "np.sum(a$) * x",
        ["a$ = np.arange({n} + 1.0)", "a$ = np.ones((2, {n} + 2))"],
    ),
    "matrix": (
        "a$ = np.arange(9.0).reshape(3, 3)",
        "a$ @ x",
        ["a$[1, 2] = {r}", "a$ = a$.T", "a$ = a$[::-1]", "a$ = np.eye(3) * {r}"],
    ),
    "float32 array": (
        "a$ = np.ones(3, np.float32)",
        "a$ * x",
        ["a$[0] = {n}", "a$ = np.ones(3) * {r}"],
    ),
    "view": (
        "b$ = np.arange(8.0)\na$ = b$[1:7:2]",
        "a$ * x",
        ["b$[{n} + 1] = {r}", "a$ = b$[2:5]", "b$ += 1.0"],
    ),
    "number of an array": (f"a$ = {ARRAY}", "a$[1] * x", ["a$[1] = {r}", f"a$ = {ARRAY}"]),
    "float of an array": (f"a$ = {ARRAY}", "float(a$[1]) * x", ["a$[1] = {r}", f"a$ = {ARRAY}"]),
    "decision": (f"a$ = {ARRAY}", "(x if a$[0] > 0.5 else x * x)", ["a$[0] = {r}"]),
    "indices": (
        "i$ = np.array([0, 2, 1])",
        "x[i$] * np.arange(1.0, 4.0)",
        ["i$[0] = {n} % 3", "i$ = np.array([1, 1, {n} % 3])"],
    ),
    "many indices": (
        "i$ = np.arange(600) % 3",
        "np.sum(x[i$]**2) * np.ones(3)",
        ["i$[{n}] = {n} % 3", "i$ = i$[::-1]"],
    ),
    "mask": (
        "m$ = np.array([True, False, True])",
        "np.where(m$, x, x * x)",
        ["m$[{n} % 3] ^= True", "m$ = ~m$"],
    ),
    "mask that picks": (
        "m$ = np.array([True, False, True])",
        "np.sum(x[m$]) * x",
        ["m$[{n} % 3] ^= True", "m$ = ~m$"],
    ),
    "array of plain numpy": (
        f"a$ = {ARRAY}",
        "np.asarray(a$.tolist()) * x",
        ["a$[0] = {r}", f"a$ = {ARRAY}"],
    ),
    "closure": (
        (
            "def make$(k, a):\n    def h(x):\n        return k * x + a * np.sin(x)\n"
            "    def put(n, b):\n        nonlocal k, a\n        k, a = n, b\n    return h, put\n"
            f"h$, put$ = make$({{r}}, {ARRAY})"
        ),
        "h$(x)",
        [f"put$({{r}}, {ARRAY})", f"put$({{n}}, {ARRAY})", f"h$, put$ = make$({{r}}, {ARRAY})"],
    ),
    "nested function": (
        (
            "k$ = {r}\ndef h$(x):\n    def inner(y):\n"
            "        return y * k$ + np.sum([k$, 1.0])\n    return inner(x) + inner(x * x)"
        ),
        "h$(x)",
        ["k$ = {r}"],
    ),
    "comprehension": (
        f"a$ = {ARRAY}",
        "sum([w * x for w in a$])",
        ["a$[1] = {r}", f"a$ = {ARRAY}"],
    ),
    "default": (
        f"def h$(x, k={{r}}, *, a={ARRAY}):\n    return k * x + a * x * x",
        "h$(x)",
        [
            "h$.__defaults__ = ({r},)",
            "h$.__kwdefaults__['a'] = np.ones(3) * {r}",
            "h$.__kwdefaults__['a'][0] = {r}",
        ],
    ),
    "helper": (
        "def h$(x):\n    return {r} * x",
        "h$(x)",
        [
            "def h$(x):\n    return {r} * np.sin(x)",
            "h$ = np.cos",
            "h$ = lambda x: x * x",
            "def g$(x):\n    return x**3\nh$.__code__ = g$.__code__",
        ],
    ),
    "builtin": (
        "",
        "abs(k$ if 'k$' in globals() else 2) * sum([x, x])",
        ["def sum(v):\n    return next(iter(v)) * {r}", "del sum"],
    ),
    "attribute": (
        "class C$:\n    beta = {r}\nc$ = C$()\nc$.alpha = {r}",
        "c$.alpha * x + c$.beta * np.sin(x)",
        ["c$.alpha = {r}", "C$.beta = {r}", "c$.beta = {r}", "c$ = C$(); c$.alpha = {n}"],
    ),
    "namespace": (
        f"c$ = types.SimpleNamespace(a=types.SimpleNamespace(b={{r}}), w={ARRAY})",
        "c$.a.b * x + c$.w * x * x",
        ["c$.a.b = {r}", "c$.a = types.SimpleNamespace(b={r})", "c$.w[0] = {r}", f"c$.w = {ARRAY}"],
    ),
    "dataclass": (
        (
            "@dataclasses.dataclass\nclass D$:\n    k: float\n    n: int\n    a: object\n"
            f"d$ = D$({{r}}, 2, {ARRAY})"
        ),
        "d$.k * x**d$.n + d$.a * x",
        ["d$.k = {r}", "d$.n = {n}", "d$.a[1] = {r}", f"d$ = D$({{r}}, {{n}}, {ARRAY})"],
    ),
    "frozen dataclass": (
        (
            "@dataclasses.dataclass(frozen=True)\n"
            "class D$:\n    k: float\n    def scaled(self, x):\n        return self.k * x\n"
            "d$ = D$({r})"
        ),
        "d$.scaled(x)",
        ["d$ = D$({r})", "d$ = dataclasses.replace(d$, k={r})"],
    ),
    "slots": (
        (
            "class S$:\n    __slots__ = ('k', 'a')\n"
            "    def __init__(self, k, a):\n        self.k, self.a = k, a\n"
            f"s$ = S$({{r}}, {ARRAY})"
        ),
        "s$.k * x + s$.a * np.sin(x)",
        ["s$.k = {r}", "s$.a[0] = {r}", f"s$ = S$({{n}}, {ARRAY})"],
    ),
    "method": (
        (
            "k$ = {r}\nclass M$:\n    def __init__(self):\n"
            f"        self.w, self.p = {ARRAY}, {{n}}\n"
            "    @property\n    def scale(self):\n        return self.p + 0.5\n"
            "    def value(self, x):\n        return self.part(x) * self.scale\n"
            "    def part(self, x):\n        return self.w * x * k$\nm$ = M$()"
        ),
        "m$.value(x)",
        [
            "m$.w[0] = {r}",
            f"m$.w = {ARRAY}",
            "m$.p = {n}",
            "k$ = {r}",
            "m$ = M$()",
            "M$.part = lambda self, x: self.w * x * x",
        ],
    ),
    "inheritance": (
        (
            "class A$:\n    def __init__(self):\n"
            "        self.k = {r}\n    def f(self, x):\n        return x * self.k\n"
            "class B$(A$):\n    def f(self, x):\n        return super().f(x) + x * x\nb$ = B$()"
        ),
        "b$.f(x)",
        ["b$.k = {r}", "b$ = A$()", "b$ = B$()"],
    ),
    "callable object": (
        (
            f"class O$:\n    def __init__(self, a):\n"
            f"        self.a = a\n    def __call__(self, x):\n"
            f"        return self.a @ x * x\no$ = O$({ARRAY})"
        ),
        "o$(x)",
        ["o$.a[0] = {r}", f"o$ = O$({ARRAY})", "o$.a = np.ones(3)"],
    ),
    "dictionary": (
        f"p$ = dict(w={ARRAY}, b={{r}}, n=2)",
        "p$['w'] * x**p$['n'] + p$['b'] * x",
        [
            "p$['w'][0] = {r}",
            f"p$['w'] = {ARRAY}",
            "p$['b'] = {r}",
            "p$['n'] = {n}",
            "p$ = {**p$, 'b': {n}}",
        ],
    ),
    "all of a dictionary": (
        "p$ = dict(a={r}, b={r})",
        "sum(v * x for v in p$.values())",
        ["p$['c'] = {r}", "p$['a'] = {r}", "p$.pop('c', 0)"],
    ),
    "computed key": (
        "p$ = {(0, 1): {r}, (1, 1): {r}}\nj$ = 0",
        "p$[(j$, 1)] * x",
        ["j$ = 1 - j$", "p$[(0, 1)] = {r}"],
    ),
    "list": (
        f"l$ = [{{r}}, {ARRAY}, {{n}}]",
        "l$[0] * x + l$[1] * x * x + l$[2]",
        ["l$[0] = {r}", "l$[1][2] = {r}", "l$[2] = {n}", f"l$[1] = {ARRAY}", "l$.append({r})"],
    ),
    "long list": (
        "l$ = [float(j) for j in range(40)]",
        "sum(l$) * x",
        ["l$[{n}] = {r}", "l$.pop()", "l$ = l$ + [{r}]"],
    ),
    "tuple of arrays": (
        f"t$ = ({ARRAY}, ({ARRAY}, {{r}}))",
        "(t$[0] + t$[1][0]) * x * t$[1][1]",
        ["t$[0][0] = {r}", f"t$ = ({ARRAY}, (t$[0], {{r}}))"],
    ),
    "list of functions": (
        "o$ = [np.sin, np.cos]\nj$ = 0",
        "o$[j$](x)",
        ["j$ = 1 - j$", "o$[0] = np.exp", "o$.reverse()"],
    ),
    "set": ("s$ = set((1, 2))", "(x if {n} in s$ else x * x)", ["s$.add({n})", "s$.discard({n})"]),
    "module": (
        (
            "m$ = types.ModuleType('m$')\nexec('import numpy as np\\n"
            "k = 2.0\\ndef h(x):\\n    return k * np.sin(x)', vars(m$))"
        ),
        "m$.h(x) + m$.k * x",
        ["m$.k = {r}", "m$.h = np.cos", "exec('def h(x):\\n    return k * x * x', vars(m$))"],
    ),
    "partial": (
        (
            f"def h$(a, x, k=1.0):\n    return a * x * k\n"
            f"p$ = functools.partial(h$, {ARRAY}, k={{r}})"
        ),
        "p$(x)",
        [
            f"p$ = functools.partial(h$, {ARRAY}, k={{r}})",
            "p$.args[0][0] = {r}",
            "p$.keywords['k'] = {r}",
        ],
    ),
    "decorated": (
        (
            "def twice$(h):\n    @functools.wraps(h)\n"
            "    def g(x):\n        return s$ * h(x)\n    return g\n"
            "s$ = {r}\nk$ = {r}\n@twice$\ndef h$(x):\n    return k$ * x"
        ),
        "h$(x)",
        ["s$ = {r}", "k$ = {r}"],
    ),
    "compiled": (
        f"k$ = {{r}}\na$ = {ARRAY}\n@sg.compile\ndef h$(x):\n    return k$ * x + a$ * x * x",
        "(h$(x) if x.dtype.kind == 'f' else k$ * x + a$ * x * x)",
        ["k$ = {r}", "a$[0] = {r}", f"a$ = {ARRAY}"],
    ),
    "gradient inside": (
        "k$ = {r}\ng$ = sg.grad(lambda x: np.sum(k$ * x**3))",
        "(g$(x) if x.dtype.kind == 'f' else 3 * k$ * x**2)",
        ["k$ = {r}", "k$ = {n}"],
    ),
    "two names of one": (
        f"a$ = {ARRAY}\nb$ = a$",
        "a$ * x + b$ * x * x",
        ["a$[0] = {r}", f"a$ = {ARRAY}", "b$ = a$"],
    ),
    "counter": (
        "n$ = 0\nk$ = {r}\ndef h$(x):\n    global n$\n    n$ += 1\n    return k$ * x",
        "h$(x)",
        ["k$ = {r}", "n$ = {n}"],
    ),
    "globals at large": (
        "k$ = {r}",
        "k$ * x",
        [
            "globals().update(k$={r})",
            "new_{n}_$ = {r}",
            "globals().pop('k$'); k$ = {r}",
            "vars().setdefault('late_{n}', 1); k$ = {n}",
            "[globals().setdefault(f'many{j}_$', j) for j in range(300)]; k$ = {r}",
        ],
    ),
    "class of an object": (
        (
            "class C$:\n    gain = {r}\n    def __init__(self):\n        self.k = {r}\n"
            "    def of(self, x):\n        return self.k * x * self.gain\n"
            "class E$(C$):\n    def of(self, x):\n        return self.k * np.sin(x) - self.gain\n"
            "c$ = C$()"
        ),
        "c$.of(x)",
        [
            "c$.__class__ = E$",
            "c$.__class__ = C$",
            "setattr(c$, 'k', {r})",
            "c$.__dict__.update(k={r})",
            "c$.__dict__ = dict(k={r})",
            "vars(c$)['gain'] = {r}",
            "del c$.gain",
            "C$.gain = property(lambda self: {r})",
            "C$.gain = {r}",
            "E$.of = C$.of",
            "c$.of = lambda x: {r} * x",
            "vars(c$).pop('of', None)",
            "c$.other_{n} = 1",
            "setattr(C$, 'of', lambda self, x: self.k * x * x)",
        ],
    ),
    "replaced inside": (
        (
            "@dataclasses.dataclass(frozen=True)\nclass D$:\n    k: float\n    p: int = 2\n"
            "    def __post_init__(self):\n        object.__setattr__(self, 's', self.k * g$)\n"
            "g$ = {r}\nd$ = D$({r})"
        ),
        "dataclasses.replace(d$, p={n}).s * x + d$.k * x",
        [
            "g$ = {r}",
            "d$ = D$({r})",
            "object.__setattr__(d$, 'k', {r})",
            "d$ = dataclasses.replace(d$, k={r})",
        ],
    ),
    "slots that go": (
        (f"class S$:\n    __slots__ = ('k', 'w')\ns$ = S$()\ns$.k, s$.w = {{r}}, {ARRAY}"),
        "(s$.k if hasattr(s$, 'k') else 0.5) * s$.w * x",
        [
            "s$.k = {r}",
            "del s$.k",
            "setattr(s$, 'k', {n})",
            "s$.w[0] = {r}",
            f"s$ = S$(); s$.w = {ARRAY}",
        ],
    ),
    "attribute that goes": (
        "c$ = types.SimpleNamespace(a={r}, b=[{r}, {n}], c='sin')",
        "getattr(c$, 'a', 2.0) * getattr(np, c$.c)(x) * c$.b[0]",
        [
            "del c$.a",
            "c$.a = {r}",
            "c$.c = 'cos'",
            "c$.b[0] = {r}",
            "c$.b = c$.b[::-1]",
            "vars(c$).update(a={n})",
            "c$.__dict__.clear(); c$.__init__(b=[{r}], c='exp')",
        ],
    ),
    "list of lists": (
        "l$ = [[{r}, {r}, {r}], [{r}, {r}, {r}]]",
        "sum(sum(row) for row in l$) * x + l$[-1][0] * x * x",
        [
            "l$[0][1] = {r}",
            "l$[1].append({r})",
            "l$[0] = [{n}]",
            "l$.append(l$[0])",
            "del l$[1][1:]",
            "l$[1][0] = {n}",
            "l$.reverse()",
            "l$[0][:] = [0.0]",
            "l$[0][:] = [-0.0, 1]",
        ],
    ),
    "large list of lists": (
        "l$ = [[float(j * k % 7) for k in range(20)] for j in range(20)]",
        "sum(l$[j][j + 1] for j in range(19)) * x + np.array(l$)[0, 1:4] * x",
        [
            "l$[3][4] = {r}",
            "l$[0][2] = {n}",
            "l$[5] = [{r}] * 20",
            "l$ = [list(r) for r in l$]",
            "l$[0], l$[1] = l$[1], l$[0]",
            "l$[7][8] = l$[7][8] + 1",
        ],
    ),
    "lists in a dictionary": (
        "t$ = {0: ([{r}, {n}], {'a': {r}}), 'b': [[{r}]]}",
        "t$[0][0][0] * x**t$[0][0][1] + t$[0][1]['a'] * x + t$['b'][0][0]",
        [
            "t$[0][0][0] = {r}",
            "t$[0][0][1] = {n}",
            "t$[0][1]['a'] = {r}",
            "t$['b'][0] = [{r}]",
            "t$[1] = {n}",
            "t$.pop(1, 0)",
            "t$ = dict(reversed(t$.items()))",
        ],
    ),
    "module that is patched": (
        (
            "import sys\nhome$ = types.ModuleType('home$')\n"
            "exec('k = 2.0\\ndef helper(x):\\n    return k * x\\n"
            "def f(x):\\n    return helper(x) * len([1, 2])', vars(home$))"
        ),
        "home$.f(x)",
        [
            "home$.helper = lambda x: {r} * x",
            "setattr(home$, 'k', {r})",
            "home$.len = lambda v: {r}",
            "vars(home$).pop('len', 0)",
            "home$.__dict__.update(k={n})",
            "home$.f.__code__ = (lambda x: helper(x) * k).__code__",
        ],
    ),
    "cell": (
        "def make$():\n    k = {r}\n    return lambda x: k * x\nh$ = make$()",
        "h$(x)",
        [
            "h$.__closure__[0].cell_contents = {r}",
            "h$.__closure__[0].cell_contents = {n}",
            "h$ = make$()",
        ],
    ),
    "function's attributes": (
        "def h$(x):\n    return h$.k * x\nh$.k = {r}",
        "h$(x)",
        ["h$.k = {r}", "h$.__dict__ = dict(k={r})", "h$.__kwdefaults__ = None", "h$.other = {n}"],
    ),
    "objects in a set": (
        (
            "class L$:\n    def __init__(self, w):\n        self.w = w\n"
            "    def of(self, x):\n        return np.array([x[1] * self.w[0], *x[1:]])\n"
            f"l$ = [L$({ARRAY}), L$({ARRAY})]\ns$ = {{l$[0]}}"
        ),
        "sum((2.0 if o in s$ else 0.5) * o.of(x) for o in l$)",
        [
            "s$.add(l$[1])",
            "s$.discard(l$[0])",
            "s$ = frozenset(l$[-1:])",
            "l$[0].w[0] = {r}",
            f"l$[1].w = {ARRAY}",
            "l$.reverse()",
            f"l$.append(L$({ARRAY}))",
        ],
    ),
    "table by objects": (
        (
            "import collections\nclass L$:\n    def __init__(self, w):\n        self.w = w\n"
            "    def of(self, x):\n        return x * self.w\n"
            f"l$ = [L$({ARRAY}), L$({ARRAY})]\nt$ = {{(o, 'k'): {{n}} for o in l$}}\n"
            "o$ = collections.OrderedDict((o, {r}) for o in l$)"
        ),
        "sum(o.of(x)**t$[o, 'k'] + c * np.array([*o.of(x)]) for o, c in o$.items())",
        [
            "t$[l$[0], 'k'] = {n}",
            "o$[l$[1]] = {r}",
            "o$.move_to_end(l$[0])",
            "l$[1].w[0] = {r}",
            f"l$[0].w = {ARRAY}",
            "o$ = dict(o$)",
        ],
    ),
    "table by functions and classes": (
        (
            "class A$:\n    def of(self, x):\n        return np.array([x[0], 2.0 * x[1], x[2]])\n"
            "class B$(A$):\n    pass\ndef h$(x):\n    return np.array([*x]) * {r}\n"
            "t$ = {A$: {r}, B$: {r}, h$: {r}, math.exp: {r}, np.sin: {r}}"
        ),
        (
            "sum(t$[type(o)] * o.of(x) for o in (A$(), B$())) + t$[h$] * h$(x)"
            " + t$[math.exp] * x + sum(t$[g] * g(x) for g in (np.sin,))"
        ),
        ["t$[A$] = {r}", "t$[B$] = {r}", "t$[h$] = {n}", "t$[math.exp] = {r}", "t$[np.sin] = {r}"],
    ),
    "history": (
        f"l$ = []\na$ = {ARRAY}\ndef h$(x):\n    l$.append(1)\n    return a$ * x",
        "h$(x)",
        ["a$[0] = {r}", "l$.clear()"],
    ),
}


def filled(text: str, number: int, rng: np.random.Generator) -> str:
    """Return source with numbers in it."""
    text = text.replace("$", str(number))
    while "{r}" in text:
        text = text.replace("{r}", f"{rng.normal():.3f}", 1)
    while "{n}" in text:
        text = text.replace("{n}", str(rng.integers(0, 5)), 1)
    return text


def build(rng: np.random.Generator, module: ModuleType) -> tuple[list[str], list[list[str]]]:
    """Fill a module with a function ``f``; return its terms, and the changes of each."""
    chosen = [str(t) for t in rng.choice(list(TERMS), size=rng.integers(1, 4))]
    lines, terms = [HEAD], []
    for k, term in enumerate(chosen):
        setup, text, _ = TERMS[term]
        lines.append(filled(setup, k, rng))
        terms.append(filled(text, k, rng))
    shape = rng.integers(3)
    body = " + ".join(f"({t})" for t in terms)
    if shape == 0:
        lines.append(f"def f(x):\n    return np.sum({body})")
    elif shape == 1:
        lines.append(f"def total(y):\n    return np.sum(y)\nf = lambda x: total({body})")
    else:
        lines.append(
            f"class Whole:\n    def f(self, x):\n        return np.sum({body})\nf = Whole().f"
        )
    exec(compile("\n".join(lines), module.__name__, "exec"), vars(module))
    return chosen, [TERMS[t][2] for t in chosen]


def complex_step(f: Any, x: Any) -> Any:
    steps = 1e-30j * np.eye(x.size)
    return np.array([np.imag(f(x + h)) / 1e-30 for h in steps])


def fresh(f: Any) -> Any:
    """Return a function that nothing remembers."""
    if isinstance(f, FunctionType):
        return FunctionType(f.__code__, f.__globals__, "fresh", f.__defaults__, f.__closure__)
    return functools.partial(f)


V = np.array([0.3, -1.0, 0.7])
MAKERS: dict[str, Any] = {
    "compile": sg.compile,
    "grad": sg.grad,
    "value_and_grad": sg.value_and_grad,
    "jacobian": sg.jacobian,
    "vmap": lambda f: sg.vmap(sg.grad(f)),
    "adapt": lambda f: sg.grad(sg.adapt(f)),
    "jvp": lambda f: lambda x: sg.jvp(f, (x,), (V,)),
    "vjp": lambda f: lambda x: (sg.vjp(f, x)[0], sg.vjp(f, x)[1](1.0)[0]),
    "hvp": lambda f: lambda x: sg.hvp(f, (x,), (V,)),
}


def expected(kind: str, f: Any, x: Any) -> Any:
    if kind == "vmap":
        return np.array([complex_step(f, row) for row in x])
    if kind == "hvp":
        return sg.hvp(fresh(f), (x,), (V,))
    value, slope = f(x), complex_step(f, x)
    return {
        "compile": value, "value_and_grad": (value, slope), "vjp": (value, slope),
        "jvp": (value, slope @ V),
    }.get(kind, slope)  # fmt: skip


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for a, b in zip(found, wanted, strict=True):
            same(a, b)
        return
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.attack(
    quick=6, whole=10_000, part=100, judge="the plain function and its complex step"
)
def test_captures(attack: Any) -> None:
    """Functions whose closures, globals, attributes and helpers change between calls."""
    for case in attack:
        with case, np.errstate(all="ignore"), warnings.catch_warnings():
            # Counters that traces themselves change are given up, which is said once.
            warnings.filterwarnings("ignore", ".*is not looked at any more", CaptureWarning)
            # A batch has no one value for them.
            warnings.filterwarnings("ignore", ".*which is undone", CaptureWarning)
            rng, name = case.rng, f"captures_{case.number}"
            sys.modules[name] = module = ModuleType(name)
            chosen, changes = build(rng, module)
            kind = str(rng.choice(list(MAKERS)))
            machine = rng.integers(3) == 0
            history: list[str] = list(chosen)
            try:
                with contextlib.nullcontext() if machine else sg.backend("numpy"):
                    calls(rng, module, changes, kind, history)
            except Exception as error:
                raise AssertionError(f"{kind}: {history}: {error}") from error
            finally:
                del sys.modules[name]


def calls(rng: Any, module: Any, changes: Any, kind: str, history: list[str]) -> None:
    f = module.f
    g = MAKERS[kind](f)
    for step in itertools.count():
        x = rng.uniform(0.2, 1.5, size=(2, 3) if kind == "vmap" else 3)
        wanted = expected(kind, f, x)
        for _ in range(2):
            same(g(x), wanted)
        if step == 5:
            return
        for _ in range(rng.integers(1, 3)):
            k = int(rng.integers(len(changes)))
            change = filled(str(rng.choice(changes[k])), k, rng)
            history.append(change)
            try:
                exec(change, vars(module))
            except (AttributeError, NameError, IndexError, KeyError):
                history[-1] += "  # no effect"

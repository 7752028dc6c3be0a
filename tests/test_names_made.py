"""Names that are missing when a call begins, and that it makes: the next call finds them.

A class attribute that a subclass inherits until a class method assigns it, an instance whose
class has a default, a global name that is not defined yet, a variable of an enclosing function, an
entry of a dictionary, a slot: plain Python reads the default in the first call, and the state from
then on.
"""

from __future__ import annotations

import array
import contextvars
import ctypes
import functools
import itertools
import textwrap
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning

pytestmark = pytest.mark.usefixtures("no_kernels")

HEAD = "import collections, dataclasses, functools, threading, types, weakref\nimport numpy as np\n"

CASES: dict[str, str] = {
    "classmethod subclass": """
        class A:
            mean = 1.0
            @classmethod
            def add(cls, v):
                cls.mean = 0.9*cls.mean + 0.1*v
        class B(A): pass
        b = B()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x)
    """,
    "classmethod subclass by name": """
        class A:
            mean = 1.0
            @classmethod
            def add(cls, v):
                cls.mean = 0.9*cls.mean + 0.1*v
        class B(A): pass
        def f(x):
            B.add(np.mean(x))
            return B.mean*np.sum(x)
    """,
    "classmethod subclass, base read too": """
        class A:
            mean = 1.0
            @classmethod
            def add(cls, v):
                cls.mean = 0.9*cls.mean + 0.1*v
        class B(A): pass
        def f(x):
            B.add(np.mean(x))
            return B.mean*np.sum(x) + A.mean
    """,
    "class array inherited": """
        class A:
            mean = np.zeros(2)
            @classmethod
            def add(cls, v):
                cls.mean = 0.9*cls.mean + 0.1*v
        class B(A): pass
        b = B()
        def f(x):
            b.add(x[:2])
            return np.sum(b.mean*x[:2])
    """,
    "class int counter inherited": """
        class A:
            n = 0
            @classmethod
            def add(cls):
                cls.n += 1
        class B(A): pass
        b = B()
        def f(x):
            b.add()
            return np.sum(x)*b.n
    """,
    "instance default": """
        class A:
            mean = 1.0
            def add(self, v):
                self.mean = 0.9*self.mean + 0.1*v
        b = A()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x)
    """,
    "instance default two levels": """
        class A:
            mean = 1.0
        class B(A):
            def add(self, v):
                self.mean = 0.9*self.mean + 0.1*v
        b = B()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x)
    """,
    "instance default array": """
        class A:
            mean = np.ones(2)
            def add(self, v):
                self.mean = 0.9*self.mean + 0.1*v
        b = A()
        def f(x):
            b.add(x[:2])
            return np.sum(b.mean*x[:2])
    """,
    "instance default array, iadd": """
        class A:
            mean = np.ones(2)
            def add(self, v):
                self.mean += 0.1*v
        b = A()
        def f(x):
            b.add(x[:2])
            return np.sum(b.mean*x[:2])
    """,
    "instance getattr default": """
        class A: pass
        b = A()
        def f(x):
            b.mean = 0.9*getattr(b, 'mean', 1.0) + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "instance hasattr": """
        class A: pass
        b = A()
        def f(x):
            if not hasattr(b, 'mean'):
                b.mean = 1.0
            else:
                b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "instance except AttributeError": """
        class A: pass
        b = A()
        def f(x):
            try:
                b.mean = 0.9*b.mean + 0.1*np.mean(x)
            except AttributeError:
                b.mean = 1.0
            return b.mean*np.sum(x)
    """,
    "instance __getattr__ default": """
        class A:
            def __getattr__(self, name):
                if name == 'mean': return 1.0
                raise AttributeError(name)
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "function attribute": """
        def f(x):
            f.mean = 0.9*getattr(f, 'mean', 1.0) + 0.1*np.mean(x)
            return f.mean*np.sum(x)
    """,
    "function attribute, other": """
        def g(v):
            g.mean = 0.9*getattr(g, 'mean', 1.0) + 0.1*v
            return g.mean
        def f(x):
            return g(np.mean(x))*np.sum(x)
    """,
    "function attribute count": """
        def f(x):
            f.n = getattr(f, 'n', 0) + 1
            return f.n*np.sum(x)
    """,
    "global created": """
        def f(x):
            global mean
            mean = 0.9*globals().get('mean', 1.0) + 0.1*np.mean(x)
            return mean*np.sum(x)
    """,
    "global created NameError": """
        def f(x):
            global mean
            try:
                mean = 0.9*mean + 0.1*np.mean(x)
            except NameError:
                mean = 1.0
            return mean*np.sum(x)
    """,
    "global in globals": """
        def f(x):
            global mean
            if 'mean' in globals():
                mean = 0.9*mean + 0.1*np.mean(x)
            else:
                mean = 1.0
            return mean*np.sum(x)
    """,
    "module attribute": """
        m = types.ModuleType('m')
        def f(x):
            m.mean = 0.9*getattr(m, 'mean', 1.0) + 0.1*np.mean(x)
            return m.mean*np.sum(x)
    """,
    "dict get": """
        d = {}
        def f(x):
            d['m'] = 0.9*d.get('m', 1.0) + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "dict setdefault": """
        d = {}
        def f(x):
            d['m'] = 0.9*d.setdefault('m', 1.0) + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "dict KeyError": """
        d = {}
        def f(x):
            try: d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            except KeyError: d['m'] = 1.0
            return d['m']*np.sum(x)
    """,
    "dict in": """
        d = {}
        def f(x):
            if 'm' in d: d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            else: d['m'] = 1.0
            return d['m']*np.sum(x)
    """,
    "dict __missing__": """
        class D(dict):
            def __missing__(self, k): return 1.0
        d = D()
        def f(x):
            d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "defaultdict": """
        d = collections.defaultdict(float)
        def f(x):
            d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "defaultdict +=": """
        d = collections.defaultdict(lambda: 2.0)
        def f(x):
            d['m'] += np.mean(x)
            return d['m']*np.sum(x)
    """,
    "defaultdict read only": """
        d = collections.defaultdict(lambda: 2.0)
        def f(x):
            return d['m']*np.sum(x)
    """,
    "Counter": """
        d = collections.Counter()
        def f(x):
            d['m'] += 1
            return d['m']*np.sum(x)
    """,
    "Counter float": """
        d = collections.Counter()
        def f(x):
            d['m'] += np.mean(x)
            return d['m']*np.sum(x)
    """,
    "ChainMap": """
        base = {'m': 1.0}
        d = collections.ChainMap({}, base)
        def f(x):
            d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "ChainMap new_child": """
        base = {'m': 1.0}
        d = collections.ChainMap(base).new_child()
        def f(x):
            d['m'] = 0.9*d['m'] + 0.1*np.mean(x)
            return d['m']*np.sum(x) + d['m']*base['m']
    """,
    "UserDict": """
        d = collections.UserDict(m=1.0)
        def f(x):
            d['m'] = 0.9*d['m'] + 0.1*np.mean(x); d['k'] = d.get('k', 0.5)*np.mean(x)
            return d['m']*np.sum(x) + d['k']
    """,
    "OrderedDict": """
        d = collections.OrderedDict()
        def f(x):
            d['m'] = 0.9*d.get('m',1.0) + 0.1*np.mean(x)
            return d['m']*np.sum(x)
    """,
    "entry of __dict__": """
        class A: mean = 1.0
        b = A()
        def f(x):
            b.__dict__['mean'] = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "__dict__.update": """
        class A: mean = 1.0
        b = A()
        def f(x):
            b.__dict__.update(mean=0.9*b.mean + 0.1*np.mean(x))
            return b.mean*np.sum(x)
    """,
    "entry of vars": """
        class A: mean = 1.0
        b = A()
        def f(x):
            vars(b)['mean'] = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "setattr getattr name": """
        class A: mean = 1.0
        b = A()
        name = 'mean'
        def f(x):
            setattr(b, name, 0.9*getattr(b, name) + 0.1*np.mean(x))
            return b.mean*np.sum(x)
    """,
    "object.__setattr__": """
        class A:
            mean = 1.0
            def __setattr__(self, k, v): raise AttributeError
        b = A()
        def f(x):
            object.__setattr__(b, 'mean', 0.9*b.mean + 0.1*np.mean(x))
            return b.mean*np.sum(x)
    """,
    "__setattr__ own": """
        class A:
            mean = 1.0
            def __setattr__(self, k, v): self.__dict__[k] = 2*v
        b = A()
        def f(x):
            b.mean = 0.45*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "property": """
        class A:
            def __init__(self): self._m = 1.0
            @property
            def mean(self): return self._m
            @mean.setter
            def mean(self, v): self._m = 2*v
        b = A()
        def f(x):
            b.mean = 0.45*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "property with class default": """
        class A:
            _m = 1.0
            @property
            def mean(self): return self._m
            @mean.setter
            def mean(self, v): self._m = 2*v
        b = A()
        def f(x):
            b.mean = 0.45*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "descriptor in dict": """
        class D:
            def __set_name__(self, o, n): self.n = '_' + n
            def __get__(self, o, t=None): return self if o is None else o.__dict__.get(self.n, 1.0)
            def __set__(self, o, v): o.__dict__[self.n] = v
        class A: mean = D()
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "descriptor getattr": """
        class D:
            def __set_name__(self, o, n): self.n = '_' + n
            def __get__(self, o, t=None): return self if o is None else getattr(o, self.n, 1.0)
            def __set__(self, o, v): setattr(o, self.n, v)
        class A: mean = D()
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "descriptor own store": """
        class D:
            def __init__(self): self.v = 1.0
            def __get__(self, o, t=None): return self if o is None else self.v
            def __set__(self, o, v): self.v = v
        class A: mean = D()
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "descriptor table by id": """
        class D:
            def __init__(self): self.v = {}
            def __get__(self, o, t=None): return self if o is None else self.v.get(id(o), 1.0)
            def __set__(self, o, v): self.v[id(o)] = v
        class A: mean = D()
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "weak table": """
        class A: pass
        b = A()
        t = weakref.WeakKeyDictionary()
        def f(x):
            t[b] = 0.9*t.get(b, 1.0) + 0.1*np.mean(x)
            return t[b]*np.sum(x)
    """,
    "slots missing": """
        class A:
            __slots__ = ('mean',)
        b = A()
        def f(x):
            b.mean = 0.9*getattr(b, 'mean', 1.0) + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "slots try": """
        class A:
            __slots__ = ('mean',)
        b = A()
        def f(x):
            try: b.mean = 0.9*b.mean + 0.1*np.mean(x)
            except AttributeError: b.mean = 1.0
            return b.mean*np.sum(x)
    """,
    "slots hasattr": """
        class A:
            __slots__ = ('mean','n')
            def __init__(self): self.n = 0
        b = A()
        def f(x):
            if hasattr(b, 'mean'): b.mean = 0.9*b.mean + 0.1*np.mean(x)
            else: b.mean = 1.0
            b.n += 1
            return b.mean*np.sum(x)
    """,
    "cached_property then set": """
        class A:
            @functools.cached_property
            def mean(self): return 1.0
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "type(self) attr": """
        class A:
            mean = 1.0
            def add(self, v): type(self).mean = 0.9*type(self).mean + 0.1*v
        class B(A): pass
        b = B()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x) + A.mean
    """,
    "self.__class__ attr": """
        class A:
            mean = 1.0
            def add(self, v): self.__class__.mean = 0.9*self.mean + 0.1*v
        class B(A): pass
        b = B()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x) + A.mean
    """,
    "class from instance, two subclasses": """
        class A:
            mean = 1.0
            @classmethod
            def add(cls, v): cls.mean = 0.9*cls.mean + 0.1*v
        class B(A): pass
        class C(A): pass
        def f(x):
            B.add(np.mean(x)); C.add(2*np.mean(x))
            return B.mean*np.sum(x) + C.mean*A.mean
    """,
    "class missing": """
        class A:
            @classmethod
            def add(cls, v): cls.mean = 0.9*getattr(cls, 'mean', 1.0) + 0.1*v
        def f(x):
            A.add(np.mean(x))
            return A.mean*np.sum(x)
    """,
    "namespace missing": """
        b = types.SimpleNamespace()
        def f(x):
            b.mean = 0.9*getattr(b,'mean',1.0) + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "dataclass default": """
        @dataclasses.dataclass
        class A:
            mean: float = 1.0
        b = A()
        def f(x):
            b.mean = 0.9*b.mean + 0.1*np.mean(x)
            return b.mean*np.sum(x)
    """,
    "delete to class default": """
        class A: mean = 1.0
        b = A()
        def f(x):
            if 'mean' in vars(b):
                m = b.mean; del b.mean
            else:
                m = b.mean; b.mean = 0.1*np.mean(x)
            return m*np.sum(x)
    """,
    "closure unbound": """
        def make():
            def f(x):
                nonlocal mean
                try: mean = 0.9*mean + 0.1*np.mean(x)
                except NameError: mean = 1.0
                return mean*np.sum(x)
            if 0: mean = 1
            return f
        f = make()
    """,
    "list item appended once": """
        l = []
        def f(x):
            if l: l[0] = 0.9*l[0] + 0.1*np.mean(x)
            else: l.append(1.0)
            return l[0]*np.sum(x)
    """,
    "nested object created": """
        class A: state = None
        b = A()
        def f(x):
            if b.state is None:
                b.state = {'m': np.mean(x)}
            else:
                b.state['m'] = 0.9*b.state['m'] + 0.1*np.mean(x)
            return b.state['m']*np.sum(x)
    """,
    "dict subclass attr": """
        class D(dict):
            def __getattr__(self, k): return self[k]
            def __setattr__(self, k, v): self[k] = v
        d = D(m=1.0)
        def f(x):
            d.m = 0.9*d.m + 0.1*np.mean(x)
            return d.m*np.sum(x)
    """,
    "list subclass": """
        class L(list): pass
        d = L([1.0])
        def f(x):
            d[0] = 0.9*d[0] + 0.1*np.mean(x)
            return d[0]*np.sum(x)
    """,
    "module global float absent in subclass mixin": """
        class M:
            rate = 0.9
            mean = 1.0
        class A(M):
            def add(self, v):
                self.mean = self.rate*self.mean + (1-self.rate)*v
                self.rate = 0.99*self.rate
        b = A()
        def f(x):
            b.add(np.mean(x))
            return b.mean*np.sum(x)
    """,
    "metaclass default": """
        class Meta(type):
            mean = 1.0
        class A(metaclass=Meta): pass
        def f(x):
            A.mean = 0.9*A.mean + 0.1*np.mean(x)
            return A.mean*np.sum(x)
    """,
    "enum-like class": """
        class S:
            vals = [1.0, 2.0]
            @classmethod
            def step(cls, v): cls.vals = [0.9*a + 0.1*v for a in cls.vals]
        class T(S): pass
        def f(x):
            T.step(np.mean(x))
            return T.vals[0]*np.sum(x) + T.vals[1]
    """,
    "class dict inherited": """
        class S:
            t = {'m': 1.0}
            @classmethod
            def step(cls, v): cls.t = dict(cls.t, m=0.9*cls.t['m'] + 0.1*v)
        class T(S): pass
        def f(x):
            T.step(np.mean(x))
            return T.t['m']*np.sum(x)
    """,
    "instance default list": """
        class S:
            t = [1.0]
            def step(self, v): self.t = self.t[-1:] + [0.9*self.t[-1] + 0.1*v]
        b = S()
        def f(x):
            b.step(np.mean(x))
            return b.t[-1]*np.sum(x)
    """,
    "super": """
        class A:
            def __init__(self): self.m = 1.0
            def upd(self, v): self.m = 0.9*self.m + 0.1*v
        class B(A):
            k = 2.0
            def upd(self, v):
                super().upd(v); self.k = self.k + self.m
        b = B()
        def f(x):
            b.upd(np.mean(x))
            return b.m*np.sum(x)*b.k
    """,
    "thread local": """
        t = threading.local()
        def f(x):
            t.m = 0.9*getattr(t, 'm', 1.0) + 0.1*np.mean(x)
            return t.m*np.sum(x)
    """,
    "default arg": """
        def f(x, s={'m': 1.0}):
            s['m'] = 0.9*s['m'] + 0.1*np.mean(x)
            return s['m']*np.sum(x)
    """,
    "default arg missing": """
        def f(x, s={}):
            s['m'] = 0.9*s.get('m', 1.0) + 0.1*np.mean(x)
            return s['m']*np.sum(x)
    """,
    "partial": """
        def h(s, x):
            s['m'] = 0.9*s.get('m', 1.0) + 0.1*np.mean(x)
            return s['m']*np.sum(x)
        f = functools.partial(h, {})
    """,
}


def _made(text: str) -> Any:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + textwrap.dedent(text), "names_made.py", "exec"), space)
    return space["f"]


@pytest.mark.parametrize("name", CASES)
def test_each_call_finds_what_the_one_before_has_made(name: str) -> None:
    plain, g = _made(CASES[name]), sg.value_and_grad(_made(CASES[name]))
    sides = [_made(CASES[name]) for _ in "+-"]
    h, along = 1e-6, np.array([0.2, -1.0, 0.7])
    for k in range(5):
        x = np.array([0.3, 0.8, 0.5]) + 0.1 * k
        more, less = (
            f(x + h * along if k == 4 else x) for f, h in zip(sides, (h, -h), strict=True)
        )
        value, slope = g(x.copy())
        assert value == pytest.approx(plain(x), rel=1e-12), k
    assert slope @ along == pytest.approx((more - less) / (2 * h), rel=1e-6)


# ---------------------------------------------------------------- changed by others

#: Where a number is read, and what changes it one after another.
SETUP = """
    class A:
        mean = 1.0
        @classmethod
        def given(cls):
            return cls.mean
    class B(A):
        pass
    class Twice:
        def __get__(self, one, kind=None):
            return 2.0 * kind.mean
    class C(A):
        twice = Twice()
    class Quiet(ctypes.Structure):
        _fields_ = [("a", ctypes.c_double)]
    b, c, local, stored = B(), C(), threading.local(), bytearray([1, 2])
    number, numbers, struct = ctypes.c_double(1.0), (ctypes.c_double * 2)(1.0, 2.0), Quiet(1.0)
    local.m, late = 1.0, 1.0
    @functools.lru_cache
    def settings():
        return {"rate": 1.0}
    def cell():
        def read(): return mean
        def put(x):
            nonlocal mean
            mean = x
        if False: mean = 0.0
        return read, put
    read, put = cell()
    def defined():
        try: return undefined
        except NameError: return 0.5
    def bound():
        try: return read()
        except NameError: return 0.5
"""

CHANGES = {
    "b.given()": ("A.mean = 2.0", "A.mean = 3.0", "B.mean = 4.0", "b.mean = 5.0", "B.mean = 6.0"),
    "c.twice": ("A.mean = 2.0", "A.mean = 3.0", "C.mean = 4.0"),
    "number.value": ("number.value = 2.0", "number.value = 3.0"),
    "numbers[1]": ("numbers[1] = 3.0", "numbers[1] = 4.0"),
    "struct.a": ("struct.a = 3.0", "struct.a = 4.0"),
    "stored[0]": ("stored[0] = 3", "stored[0] = 200"),
    "local.m": ("local.m = 3.0", "local.m = 4.0"),
    "settings()['rate']": (
        "settings()['rate'] = 3.0", "settings()['rate'] = 4.0", "settings.cache_clear()",
    ),
    "globals()['late']": ("late = 2.0", "late = 3.0"),
    "globals().get('later', 1.0)": ("later = 2.0", "later = 3.0", "del later"),
    "sum(k == 'later' for k in globals())": ("later = 2.0", "del later"),
    "defined()": ("undefined = 2.0", "undefined = 3.0", "del undefined"),
    "bound()": ("put(2.0)", "put(3.0)"),
}  # fmt: skip


@pytest.mark.parametrize("read", CHANGES)
def test_changes_by_others_are_seen(read: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    text = f"import ctypes\n{HEAD}{textwrap.dedent(SETUP)}\ndef f(x): return x * ({read})\n"
    exec(compile(text, "names_changed.py", "exec"), space)
    g = sg.compile(space["f"])
    for change in ("", *CHANGES[read]):
        exec(change, space)
        assert g(0.75) == space["f"](0.75), change
        assert g(1.5) == space["f"](1.5), change


# ---------------------------------------------------------------- in C's memory, and in C's objects


def test_numbers_in_memory_are_written_back() -> None:
    def fresh() -> tuple[Any, ...]:
        return (
            bytearray(3), array.array("d", [1.0, 2.0]), memoryview(np.ones(2)),
            ctypes.c_double(1.0), (ctypes.c_int * 2)(3, 4),
        )  # fmt: skip

    def make(held: tuple[Any, ...]) -> Any:
        table, doubles, view, one, two = held

        def f(x: Any) -> Any:
            table[1] += 2
            doubles[0] += 0.5
            view[1] = view[1] * 2.0
            one.value += 1.0
            two[0] -= 1
            return x * (table[1] + doubles[0] + view[1] + one.value + two[0])

        return f

    ours, theirs = fresh(), fresh()
    g, plain = sg.grad(make(ours)), make(theirs)
    for _ in range(4):
        assert g(1.0) == plain(1.0)
        for a, b in zip(ours, theirs, strict=True):
            assert memoryview(a).tobytes() == memoryview(b).tobytes()


def test_a_context_variable_is_written_back() -> None:
    ours: contextvars.ContextVar[Any] = contextvars.ContextVar("ours", default=1.0)
    mean = 1.0

    def f(x: Any) -> Any:
        ours.set(0.9 * ours.get() + 0.1 * np.mean(x))
        return ours.get() * np.sum(x)

    g = sg.value_and_grad(f)
    for k in range(4):
        x = np.array([0.5, 1.0]) + k
        mean = 0.9 * mean + 0.1 * np.mean(x)
        assert g(x)[0] == pytest.approx(mean * np.sum(x), rel=1e-14)
        assert ours.get() == pytest.approx(mean, rel=1e-14)


def _steps() -> Any:
    total = 1.0
    while True:
        given = yield total
        total = 0.9 * total + 0.1 * given


@pytest.mark.parametrize("make", [
    lambda: itertools.count(1.0), lambda: iter([1.0, 2.0, 3.0]), lambda: iter((1.0, 2.0, 3.0)),
    lambda: zip([1.0, 2.0], [3.0, 4.0], strict=True), lambda: map(float, ["1.0", "2.0"]),
    lambda: (float(k) for k in range(5)), lambda: itertools.cycle([1.0, 2.0]),
    lambda: enumerate([1.0, 2.0]), lambda: itertools.chain([1.0], [2.0]),
    lambda: itertools.accumulate([1.0, 2.0]), lambda: iter({"a": 1.0}.values()),
])  # fmt: skip
def test_an_iterator_that_is_advanced_is_warned_of(make: Any) -> None:
    batches = make()

    def f(x: Any) -> Any:
        return np.sum(np.asarray(next(batches)) * x)

    with pytest.warns(CaptureWarning, match=r"advances the iterator batches.*names_made\.py:\d+"):
        sg.grad(f)(2.0)
    assert isinstance(repr(batches), str)


def test_a_generator_that_is_sent_to_is_warned_of() -> None:
    state = _steps()
    next(state)
    with pytest.warns(CaptureWarning, match="advances the iterator state"):
        sg.grad(lambda x: x * state.send(x))(2.0)


def test_an_iterator_that_is_left_alone_is_not_warned_of() -> None:
    batches, state = iter([1.0, 2.0]), _steps()
    next(state)

    def f(x: Any, more: bool = False) -> Any:
        if more:
            return x * next(batches) * next(state)
        return x * x

    assert sg.grad(f)(2.0) == 4.0


def test_what_a_cached_function_makes_in_a_trace_is_warned_of() -> None:
    @functools.lru_cache
    def store() -> dict[str, Any]:
        return {"mean": 1.0}

    def f(x: Any) -> Any:
        store()["mean"] = 0.9 * store()["mean"] + 0.1 * x
        return store()["mean"] * x

    with pytest.warns(CaptureWarning, match=r"store\(\) holds a traced value"):
        sg.compile(f)(1.0)


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("given", [
    {"a": np.ones(2)}, [np.ones(2), 1.0], {"a": (np.ones(2), np.ones(3))},
    {"a": np.ones(2) + 1j},
])  # fmt: skip
def test_arrays_in_containers_that_are_assigned_to_are_warned_of(given: Any) -> None:
    def f(x: Any, params: Any) -> Any:
        first = params[0] if isinstance(params, list) else params["a"]
        first = first[0] if isinstance(first, tuple) else first
        first += 1.0
        return x * np.sum(np.abs(first))

    with pytest.warns(CaptureWarning, match="argument params is changed by the function"):
        sg.grad(f)(2.0, given)


def test_a_container_whose_arrays_are_the_result() -> None:
    def f(params: Any) -> None:
        params["a"][...] = 2.0 * params["a"]

    assert sg.compile(f)({"a": np.ones(2)}).tolist() == [2.0, 2.0]

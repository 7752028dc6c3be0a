"""Conversions of Python's library and of NumPy, in C mostly, under handlers for their errors.

A conversion of a traced value may be refused, by an error of symgrad's or, where C looks at the
type and asks nothing, by one of its own. Code that catches it must not silently take another way
than with numbers.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning

HEAD = """
import array, base64, bisect, calendar, cmath, colorsys, collections, copy, csv, ctypes, contextlib
import datetime, decimal, fractions, functools, hashlib, heapq, io, itertools, json, marshal, math
import numbers, operator, pickle, pprint, random, re, reprlib, statistics, string, struct, textwrap
import time, zlib
import numpy as np

def used(v):
    if isinstance(v, (list, tuple, set, frozenset)):
        v = [*v]
        v = v[0] if v else 0.0
    if isinstance(v, (str, bytes)):
        return 3.0
    return v if isinstance(v, (float, int)) else 2.0
"""

#: What asks for a number, by all modules that take some.
ASKING = (
    "decimal.Decimal(x)", "float(decimal.Decimal(x))*2", "decimal.Context().create_decimal(x)",
    "float(decimal.Decimal.from_float(x))", "decimal.Decimal(1)+decimal.Decimal(x)",
    "json.dumps(x)", "json.dumps([x])", "json.dumps({'a': x})", "float(json.dumps(x))",
    "json.JSONEncoder().encode(x)", "float(json.loads(json.dumps({'a':x}))['a'])",
    "json.dumps({x: 1})", "datetime.timedelta(seconds=x).total_seconds()",
    "datetime.timedelta(x).days", "datetime.datetime.fromtimestamp(x).year",
    "datetime.date.fromtimestamp(x).year", "datetime.timedelta(seconds=1)*x",
    "datetime.timedelta(seconds=1)/x",
    "(datetime.datetime(2020,1,1)+datetime.timedelta(days=x)).year",
    "float(fractions.Fraction(x))", "float(fractions.Fraction.from_float(x))",
    "float(fractions.Fraction(1,2)+x)", "float(fractions.Fraction(1,2)*x)",
    "struct.unpack('d',struct.pack('d',x))[0]", "struct.unpack('f',struct.pack('f',x))[0]",
    "struct.Struct('d').pack(x)", "struct.pack_into('d',bytearray(8),0,x)",
    "array.array('d',[x])[0]", "array.array('d').append(x)", "array.array('d',(x,x))[1]",
    "array.array('f',[x])[0]", "statistics.mean([x,1.0])", "statistics.fmean([x,1.0])",
    "statistics.median([x,1.0,3.0])", "statistics.stdev([x,1.0])",
    "statistics.pvariance([x,1.0])", "statistics.harmonic_mean([x,1.0])",
    "statistics.geometric_mean([x,1.0])", "statistics.mode([x,x,1.0])",
    "statistics.NormalDist(x,1.0).cdf(1.0)", "statistics.NormalDist(0,1).cdf(x)",
    "statistics.NormalDist(0,1).inv_cdf(x)", "statistics.quantiles([x,1.0,2.0])[0]",
    "statistics.linear_regression([x,1.0],[1.0,2.0])[0]",
    "statistics.correlation([x,1.0,2.],[1.0,2.0,5.])", "random.Random(x).random()",
    "random.Random(1).uniform(0,x)", "random.Random(1).gauss(x,1.0)",
    "random.Random(1).expovariate(x)", "random.Random(1).choices([1,2],[x,1.0])[0]",
    "operator.index(x)", "operator.index(int(x))", "operator.add(x,1.0)", "operator.truth(x)",
    "operator.not_(x)", "operator.length_hint(x)", "operator.itemgetter(int(x))([1.,2.])",
    "operator.lt(x,1)", "operator.eq(x,.7)", "operator.floordiv(x,.2)", "operator.mod(x,.2)",
    "operator.neg(x)", "operator.pow(x,2)", "operator.contains([x],x)",
    "operator.countOf([x,x],x)", "operator.indexOf([1.,x],x)", "operator.attrgetter('real')(x)",
    "operator.methodcaller('is_integer')(x)", "format(x,'.3f')", "'%f' % x", "'%.3f' % x",
    "'%d' % x", "'%g' % (x,)", "'%s' % x", "'%r' % x", "'%(a)f' % {'a':x}", "'{:.3f}'.format(x)",
    "'{}'.format(x)", "'{a:e}'.format(a=x)", "f'{x}'", "f'{x:.2f}'", "f'{x!r}'", "str(x)",
    "repr(x)", "ascii(x)", "string.Template('$a').substitute(a=x)",
    "string.Formatter().format('{:.2f}',x)", "'{:d}'.format(int(x))", "'%x' % int(x)",
    "b'%f' % x", "bytes(int(x))", "'%c' % int(x+65)", "'abc'*int(x+1)", "float('%.3f' % x)",
    "float(f'{x:.3f}')", "float(str(x))", "float(repr(x))", "len(f'{x:.2f}')*1.0",
    "x*len(str(x))", "float(format(x,'.2f'))", "float('{:.2f}'.format(x))", "int(x)", "int(x+1)",
    "complex(x)", "complex(x,1.0)", "complex(1.0,x).imag", "float(x)", "bool(x)", "round(x)",
    "round(x,2)", "divmod(x,.2)", "divmod(1.0,x)", "abs(x)", "pow(x,2)", "pow(2.0,x)",
    "pow(2,3,int(x+1))", "hash(x)", "hash((x,1))", "chr(int(x+65))", "bin(int(x))", "hex(int(x))",
    "oct(int(x))", "range(int(x+2))[1]", "range(x)", "slice(x)", "[1.,2.,3.][int(x)]",
    "[1.,2.][x]", "(1.,2.)[x]", "'ab'[x]", "'ab'[int(x)]", "[1.,2.,3.][:int(x+1)][0]",
    "max(x,.5)", "min(x,.5)", "max([x,.5])", "sum([x,.5])", "sum((x,x),x)", "sorted([x,.5])[0]",
    "sorted([x,.5],key=lambda t:-t)[0]", "sorted([x,.5],key=float)[0]",
    "sorted([x,.5],key=math.exp)[0]", "sorted([x,.5],key=str)[0]", "sorted([(x,1),(.5,2)])[0][0]",
    "[x,.5].index(x)", "[x,.5].count(x)", "[x,.5].sort()", "x in [x]", "x in {.5:1}", "{x:1}[x]",
    "{x}.pop()", "dict.fromkeys([x])", "set([x])", "frozenset([x])", "list(map(float,[x]))[0]",
    "list(filter(None,[x]))[0]", "any([x])", "all([x])", "next(iter([x]))",
    "enumerate([x],int(x))", "zip([x],[x])", "isinstance(x,float)", "type(x)(2.0)",
    "bytes([int(x)])", "bytearray(int(x))", "memoryview(x)", "float.hex(x)", "x.hex()",
    "x.is_integer()", "x.as_integer_ratio()", "float.as_integer_ratio(x)", "float.is_integer(x)",
    "float.__add__(x,1.0)", "float.__mul__(2.0,x)", "float.__float__(x)", "float.__repr__(x)",
    "float.__lt__(x,1.0)", "float.fromhex(x.hex())", "float.__new__(float,x)",
    "int.__new__(int,x)", "float.__truediv__(x,2.0)", "float.__pow__(x,2.0)", "float.__neg__(x)",
    "float.__abs__(x)", "float.__hash__(x)", "float.__eq__(x,.7)", "float.__bool__(x)",
    "float.__format__(x,'.2f')", "float.__str__(x)", "float.conjugate(x)",
    "complex.__add__(1j,x)", "(1j).__add__(x)", "int.__add__(1,x)",
    "int.from_bytes(bytes(8),'big')*x", "str.join(',',[x])", "','.join(map(str,[x]))",
    "''.join(x)", "str.format('{:.2f}',x)", "'a'.ljust(x)", "'a'.zfill(int(x+3))",
    "'a'.center(int(x+3))", "'abc'.find('b',int(x))", "'a'.__mul__(int(x+1))", "'a'*x", "[1.]*x",
    "[1.]*int(x+1)", "'abc'.replace('a','b',int(x))", "round(x,int(x))", "vars(x)", "dir(x)",
    "len(x)", "iter(x)", "reversed(x)", "callable(x)", "super(x)", "setattr(x,'a',1)",
    "eval('x*2')", "exec('y=x')",
    "functools.reduce(operator.add,[x,1.0])", "functools.reduce(math.hypot,[x,1.0,2.0])",
    "functools.partial(math.exp,x)()", "functools.lru_cache(math.exp)(x)",
    "functools.lru_cache(lambda t:t*2)(x)", "functools.cache(lambda t:t*2)(x)",
    "functools.cmp_to_key(lambda a,b:int(a>b)-int(a<b))(x)<functools.cmp_to_key(lambda a,b:0)(1)",
    "functools.singledispatch(lambda t:t*2)(x)", "functools.total_ordering(x)",
    "itertools.accumulate([x,1.0])", "list(itertools.accumulate([x,1.0]))[1]",
    "next(itertools.count(x))", "next(itertools.islice([x,1.],int(x),None))",
    "list(itertools.repeat(x,int(x+1)))[0]", "list(itertools.takewhile(lambda t:t<1,[x,2.]))[0]",
    "list(itertools.dropwhile(lambda t:t<.5,[x,2.]))[0]",
    "list(itertools.starmap(math.pow,[(x,2.)]))[0]", "[k for k,g in itertools.groupby([x,x])][0]",
    "list(itertools.compress([1.,2.],[x,0.]))[0]", "list(itertools.filterfalse(None,[x,0.]))[0]",
    "next(itertools.product([x],[1.]))[0]", "next(itertools.combinations([x,1.],int(x+1)))[0]",
    "next(itertools.chain([x],[1.]))", "list(itertools.pairwise([x,1.]))[0][0]",
    "list(itertools.islice(itertools.count(),x))", "time.gmtime(x).tm_year",
    "time.localtime(x).tm_sec", "time.ctime(x)", "time.strftime('%S',time.gmtime(x))",
    "time.asctime(time.gmtime(x))", "time.sleep(x*0)", "bisect.bisect([.1,.5,1.],x)",
    "bisect.bisect_left([.1,.5,1.],x)", "bisect.insort([.1,1.],x)",
    "bisect.bisect([.1,.5,1.],x,key=float)", "bisect.bisect([x,1.,2.],.9)",
    "bisect.bisect([.1,.5],.2,int(x))", "heapq.nsmallest(1,[x,1.])[0]",
    "heapq.nlargest(1,[x,1.])[0]", "heapq.heappush([.1],x)", "heapq.heapify([x,.5])",
    "heapq.merge([x],[.5])", "next(heapq.merge([x],[.5]))",
    "heapq.nsmallest(1,[x,1.],key=float)[0]", "heapq.nsmallest(int(x+1),[3.,1.])[0]",
    "heapq.heappushpop([.5],x)", "heapq.heapreplace([.5],x)", "colorsys.rgb_to_hsv(x,.2,.3)[0]",
    "colorsys.hsv_to_rgb(x,.2,.3)[0]", "colorsys.rgb_to_yiq(x,.2,.3)[0]",
    "colorsys.hls_to_rgb(x,.2,.3)[0]", "colorsys.rgb_to_hls(x,.2,.3)[1]",
    "re.match(r'\\d',str(x))", "re.sub('a',str(x),'a')", "re.match('a',x)",
    "re.sub('a',lambda m:str(x),'a')", "re.findall('a','aaa')[int(x)]",
    "len(re.findall(r'\\d','%.3f' % x))*x", "pickle.dumps(x)", "pickle.loads(pickle.dumps(x))",
    "copy.copy(x)", "copy.deepcopy(x)", "copy.deepcopy([x])[0]", "marshal.dumps(x)",
    "marshal.loads(marshal.dumps(x))", "pprint.pformat(x)", "reprlib.repr(x)",
    "hashlib.md5(str(x).encode()).hexdigest()", "zlib.crc32(str(x).encode())",
    "zlib.crc32(struct.pack('d',x))", "base64.b64encode(struct.pack('d',x))",
    "textwrap.fill(str(x))", "io.StringIO(x)", "io.BytesIO(x)", "calendar.isleap(int(x))",
    "ctypes.c_double(x).value", "ctypes.c_float(x).value", "ctypes.c_int(int(x)).value",
    "(ctypes.c_double*1)(x)[0]", "collections.Counter([x])[x]",
    "collections.Counter({'a':x}).most_common()[0][1]", "collections.deque([x])[0]",
    "collections.deque([1.,2.]).rotate(int(x))", "collections.deque([1.],x)",
    "collections.OrderedDict({x:1})", "collections.defaultdict(float)[x]",
    "collections.namedtuple('P','a')(x).a", "numbers.Number.register(float)",
    "math.isclose(x,.7)", "math.trunc(x)", "math.floor(x)", "math.ceil(x)", "math.fsum([x,1.])",
    "math.prod([x,2.])", "math.gcd(int(x+2),4)", "math.comb(5,int(x+2))",
    "math.factorial(int(x+2))", "math.isqrt(int(x+5))", "math.frexp(x)[0]", "math.ldexp(x,2)",
    "math.modf(x)[0]", "math.fmod(x,.2)", "math.remainder(x,.2)", "math.copysign(x,-1)",
    "math.isnan(x)", "math.isinf(x)", "math.isfinite(x)", "math.ulp(x)", "math.dist([x],[1.])",
    "math.hypot(x,1.)", "math.atan2(x,1.)", "math.pow(x,2)", "math.log(x,2)", "math.log(x)",
    "math.log2(x)", "math.log10(x)", "math.log1p(x)", "math.exp(x)", "math.exp2(x)",
    "math.cbrt(x)", "math.expm1(x)", "math.gamma(x)", "math.lgamma(x)", "math.erf(x)",
    "math.erfc(x)", "math.sqrt(x)", "math.sin(x)", "math.degrees(x)", "math.radians(x)",
    "math.perm(5,int(x+1))", "math.sumprod([x],[2.])", "math.lcm(int(x+2),3)", "math.acosh(x+1)",
    "math.tanh(x)", "cmath.exp(x).real", "cmath.phase(x)", "cmath.polar(x)[0]",
    "cmath.rect(x,1.).real",
    "cmath.exp(1j*x).real", "abs(complex(x,1.0))", "np.float64(x)",
    "np.float32(x)", "np.array(x)", "np.asarray([x],float)[0]", "np.fromiter([x],float)[0]",
    "np.full(2,x)[0]", "np.zeros(2).__setitem__(0,x)", "np.frombuffer(struct.pack('d',x))[0]",
    "np.format_float_positional(x)", "np.array2string(np.asarray(x))",
    "np.array_str(np.asarray([x]))", "np.binary_repr(int(x))", "np.base_repr(int(x+2))",
    "np.datetime64(int(x),'s')", "np.timedelta64(int(x),'s')",
    "np.char.mod('%f',np.asarray([x]))", "np.isscalar(x)", "np.ndim(x)",
    "np.array([x],dtype=object)[0]", "np.array([x],dtype=str)[0]", "np.bytes_(x)", "np.str_(x)",
    "np.void(x)", "np.frompyfunc(math.exp,1,1)(x)", "np.fromstring(str(x),sep=',')[0]",
    "np.nditer(x)", "np.testing.assert_allclose(x,x)",
    "np.savetxt(io.StringIO(),[x])", "np.ndindex(int(x+1))", "np.unravel_index(int(x),(2,))[0]",
    "np.searchsorted([.1,.5],x)", "np.digitize(x,[.1,.5])", "np.bincount([int(x)])[0]",
    "np.linspace(0,1,int(x+2))[1]", "np.arange(x)[0]", "np.eye(int(x+1))[0,0]",
    "np.random.default_rng(int(x)).random()", "np.array_equal([x],[x])", "np.allclose(x,.7)",
    "np.isclose(x,.7)", "np.rint(x).item()", "np.datetime_as_string(np.datetime64(int(x),'s'))",
    "np.spacing(x)", "np.frexp(x)[0]",
    "np.lib.format.dtype_to_descr(np.dtype(float))",
)  # fmt: skip

#: What is done with what comes out, and what where it raises.
FORMS = {
    "value": """
def f(x):
    try:
        v = E
    except Exception:
        return 7.0 * x
    return used(v) * x + 1.0
""",
    "whether": """
def f(x):
    try:
        E
    except Exception:
        return 7.0 * x
    return 3.0 * x
""",
    "suppressed": """
def f(x):
    found = 7.0
    with contextlib.suppress(TypeError, ValueError, AttributeError, ArithmeticError):
        v = E
        found = 3.0
    return found * x
""",
    "in a helper": """
def asks(x):
    return E
def f(x):
    try:
        v = asks(1.0 * x)
    except Exception:
        return 7.0 * x
    return used(v) * x + 1.0
""",
}

#: A point without a tie or an integer near.
X, STEP = 0.7317, 1e-6


def made(name: str, text: str) -> Any:
    """Return the function of a module that is made of text."""
    sys.modules[name] = module = ModuleType(name)
    linecache.cache[f"{name}.py"] = len(text), None, text.splitlines(True), f"{name}.py"
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module.f


@pytest.mark.attack(quick=80, whole=1604, part=200, judge="plain Python, and its differences")
@pytest.mark.usefixtures("no_kernels")
def test_conversions(attack: Any) -> None:
    """Python's and NumPy's functions that take a number, in code that catches their errors."""
    forms = list(FORMS)
    for case in attack:
        with case, warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            asking = ASKING[case.number * 7 % len(ASKING)]
            form = forms[case.number // len(ASKING) % len(forms)]
            name, about = f"conversion_{case.number}", f"{form}: {asking}"
            try:
                f = made(name, HEAD + FORMS[form].replace("E\n", f"({asking})\n"))
                want = f(X)
                slope = (f(X + STEP) - f(X - STEP)) / (2 * STEP)
                warnings.simplefilter("always", CaptureWarning)
                try:
                    found = sg.value_and_grad(f)(X)
                except sg.errors.SymgradError:
                    case.tally("refused")
                    continue
                try:
                    np.testing.assert_allclose(found[0], want, rtol=1e-12, err_msg=about)
                    np.testing.assert_allclose(found[1], slope, 1e-4, 1e-4, err_msg=about)
                except AssertionError:
                    if not said:
                        raise
                    case.tally("warned")
            finally:
                del sys.modules[name]

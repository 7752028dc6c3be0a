"""LLVM: from a module's text to object code, by few passes and one thread beside another.

Straight-line modules need no optimisation passes, only the code generator, so that compile time
is linear; modules compile side by side, each in an LLVM context of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite.binding import ffi
from llvmlite.binding.newpassmanagers import NewPassManager

from ...errors import CheckError
from ..base.fork_safety import PATIENCE, taken_by_forks, torn, undisturbed
from ..base.platform import NEAR, RELOCATION
from ..base.signals import REPAIRS, holding
from ..lowering import SIMD_PREFIX, STEPS
from ..runtime import absent, externals, processor

# ---------------------------------------------------------------- calls into LLVM


@contextlib.contextmanager
def llvm_turn() -> Iterator[None]:
    """Call into LLVM in the block, without holding a lock that others may wait for there.

    Signals are handled at its end: an error of a handler between two lines of llvmlite's would
    have an object freed twice.

    Raises
    ------
    RuntimeError
        In a child process that has inherited half of another call.
    """
    if torn():
        raise RuntimeError(
            f"this process was forked while another thread had been compiling for {PATIENCE:.0f} s:"
            " compile before the fork, or start processes by the method 'spawn'"
        )
    with undisturbed(), holding():
        try:
            yield
        except BaseException:
            _leave_llvmlite()
            raise


def _leave_llvmlite() -> None:
    """Give back llvmlite's lock, which an interruption has left taken; other threads wait for it.

    It is taken and given back by functions in Python, in which a signal's handler may raise.
    Outside of a call of llvmlite's nobody has it.
    """
    lock = ffi.lib._lock._lock
    while lock._is_owned():
        lock.release()


REPAIRS.append(_leave_llvmlite)


def _numbas_lock() -> Any:
    """Return what Numba holds while it compiles; None before it is imported."""
    module = sys.modules.get("numba.core.compiler_lock")
    lock = getattr(module, "global_compiler_lock", None)
    return getattr(lock, "_lock", None)


# In the order in which Numba takes them.
taken_by_forks(_numbas_lock)
taken_by_forks(lambda: ffi.lib._lock._lock)  # held during every call of llvmlite into LLVM


# ---------------------------------------------------------------- object code

#: Code of more steps than this goes through LLVM's fast code generator: it is made in a seventh
#: of the time and runs 1.15 times as long.
FAST_CODE_FROM = 6000

#: LLVM's level for loop nests. What the levels above it look for, repeated loads and steps and
#: stores that nobody reads, programs of a graph hardly have; it took a fifth more time to compile.
LEVEL = 1

#: The code generator's level for them. At its highest it took a seventh more time, and no call of
#: twenty programs, from solvers to networks, was faster for it.
CODE_LEVEL = 1

#: For what C calls, tiny functions above all, whose code is made once: a call of Rosenbrock's
#: function of ten variables takes half of the time.
FULL = 3

#: A function of up to so many lines is put into each of its callers.
SHORT = 40

#: A function in LLVM's text of a module, and a call by name.
_DEFINED = re.compile(r"^define [^@\n]*@([\w.]+)\((.*?)^}", re.MULTILINE | re.DOTALL)
_CALLED = re.compile(r"call [^@\n]*@([\w.]+)\(")

#: The first line of a function in a module's text, its name, and a group of attributes.
_FIRST_LINE = re.compile(r"^define [^@\n]*@([\w.]+)\(.*(?= \{$)", re.MULTILINE)
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)

#: Keeps the passes from a function; and the groups of such functions in LLVM's text.
_NOT_YET = "noinline optnone"
_WAITING = re.compile(rf'^attributes .* optnone .*"{STEPS}".*$', re.MULTILINE)

#: Declarations of functions outside of a module.
_OUTSIDE = re.compile(r"\ndeclare (?![^\n@]*@llvm\.).*")

#: Has LLVM's own calls of C functions, such as memcpy, go through the table of addresses, too.
_NO_STUBS = """
!llvm.module.flags = !{!1000000000}
!1000000000 = !{i32 7, !"RtLibUseGOT", i32 1}
"""


#: Ends of turns of the program's own loops. LLVM before 22 ends the process where it would put
#: what these carry into vectors (a first-order recurrence of another, as `np.roll` makes them), so
#: it is told to leave them as they are.
_TURN = re.compile(r"^  br label %head$", re.MULTILINE)
_SCALAR = """
!1000000001 = distinct !{!1000000001, !{!"llvm.loop.vectorize.enable", i1 false}}
"""


@lru_cache(maxsize=1)
def _target() -> tuple[Any, dict[str, Any]]:
    """Return LLVM's target, and the processor as arguments for a target machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple(), {
        "cpu": processor()[0],
        "features": features(processor()[0]),
        "reloc": RELOCATION,
        "codemodel": "small" if NEAR else "jitdefault",
        "jit": True,
    }


def features(cpu: str) -> str:
    """Return what LLVM is told of the processor beside its name."""
    known = processor()[2]
    # They are microcode there: loads and stores one by one are faster.
    slow = ["+prefer-no-gather", "+prefer-no-scatter"] if cpu.startswith("znver") else []
    return ",".join(filter(None, [known, *slow]))


def host_machine(level: int = 3, features: str = "") -> Any:
    """Return a new target machine for this CPU; they are not shared between threads.

    ``features``: of the CPU, if not all that it has; see :func:`right_features`.
    """
    target, options = _target()
    if features:
        options = {**options, "features": features}
    return target.create_target_machine(opt=level, **options)


#: From this series on LLVM takes ``vpmovmskb`` and its kin for the signs of a vector's elements in
#: AVX-512's code, also of a vector in a register from 16 on, which they cannot name: what comes out
#: are the signs of another register, without a word (llvm-project#191304).
SIGNS_FROM = 22

#: The parts of AVX-512 whose instructions it replaces so.
_SIGNS = "avx512bw", "avx512dq"

#: What reads masks, vectors of truth values, as numbers: `any`, sums, steps for single elements.
_MASKS_READ = (
    *(f" {read} <{1 << k} x i1> " for read in ("bitcast", "extractelement") for k in range(1, 7)),
    *(f".v{1 << k}i1(" for k in range(1, 7)),
    "@llvm.masked.gather.", "@llvm.masked.scatter.",
)  # fmt: skip


def right_features(features: str, module: Any) -> str:
    """Return a processor's features without those for which LLVM makes wrong code of a module.

    ``module``: as it is before the code generator has it, or its text.
    """
    known = features.split(",")
    if llvm.llvm_version_info[0] < SIGNS_FROM or not any(f"+{x}" in known for x in _SIGNS):
        return features
    text = str(module)
    if " x i1>" not in text or not any(_reads_signs(text, word) for word in _MASKS_READ):
        return features
    return ",".join([*known, *(f"-{x}" for x in _SIGNS)])


def _reads_signs(text: str, word: str) -> bool:
    """Tell whether a text has the word, and not just of masks that comparisons of floats make.

    Those are masks from the start, not signs of a vector's elements. Masks that are true
    throughout are not read.
    """
    for rest in text.split(word)[1:]:
        line = rest.partition("\n")[0]
        operand = line.partition(" ")[0].rstrip(",")
        if f" {operand} = fcmp " not in text and "splat (i1 true)" not in line:
            return True
    return False


def host_features(module: Any) -> str:
    """Return this processor's features, as right for a module."""
    return right_features(_target()[1]["features"], module)


#: The series of LLVM that are known to have the options of :func:`_without`: at one that it does
#: not know, LLVM ends the process.
KNOWN = range(20, 23)

#: *Loop strength reduction*, a third of the code generator's time. It weighs all ways in which a
#: loop's accesses can share their addresses. Those of arrays that each lie behind a pointer of
#: their own share none, and the processor adds a base and an index by itself.
REDUCTION = "-disable-lsr={}", "true", "false"

#: Lists for each access of a function that is put into another one of the arguments that it does
#: not touch. Making them takes longer than all that is done afterwards, which needs none.
ALIASES = "-enable-noalias-to-md-conversion={}", "false", "true"


@contextlib.contextmanager
def _without(what: tuple[str, str, str]) -> Iterator[None]:
    """Leave out a part of LLVM's work in the block.

    LLVM has the options for the process only, so they are set back; what another thread compiles
    meanwhile is right, with or without.
    """
    known, (option, off, on) = llvm.llvm_version_info[0] in KNOWN, what
    if known:
        llvm.set_option("symgrad", option.format(off))
    try:
        yield
    finally:
        if known:
            llvm.set_option("symgrad", option.format(on))


class Optimized(NamedTuple):
    """The object code of a module; ``own`` if code that another made of its text may be wrong."""

    content: bytes
    own: bool


@llvm_turn()
def optimized(text: str, level: int | None = None) -> Optimized:
    """Return the object code of a module, optimised."""
    made = CODE_LEVEL if level is None else level
    machine = host_machine(made)
    module = (
        optimize(text, machine) if level is None else optimize_whole(parsed(text), machine, level)
    )
    right = host_features(module)
    with _without(REDUCTION):
        content = _linkable(host_machine(made, right).emit_object(module))
    return Optimized(content, own=right != host_features(""))


def full_object(text: str) -> bytes:
    """Return the object code of a module that C calls, optimised at :data:`FULL`."""
    return optimized(text, FULL).content


def _linkable(content: bytes) -> bytes:
    """Return an object of our own making, or raise if it calls what is not here."""
    if lacking := absent(externals(content)):
        raise RuntimeError(
            f"LLVM's code calls {', '.join(lacking)}, which the C library here does not have; "
            'use backend="numpy"'
        )
    return content


def parsed(text: str, *context: Any) -> Any:
    """Return a verified module.

    Functions outside of it are called through the table of addresses (``nonlazybind``): llvmlite
    reserves all memory of an object beforehand, without the table's entries for call stubs.

    Raises
    ------
    CheckError
        LLVM refuses the text.
    """
    if NEAR:
        text = _OUTSIDE.sub(r"\g<0> nonlazybind", f"\n{text}") + _NO_STUBS
    return assembled(text, *context)


def assembled(text: str, *context: Any) -> Any:
    """Return the module of a text, verified.

    Raises
    ------
    CheckError
        LLVM refuses the text.
    """
    if llvm.llvm_version_info[0] < 22 and _TURN.search(text):
        text = _TURN.sub(r"\g<0>, !llvm.loop !1000000001", text) + _SCALAR
    try:
        module = llvm.parse_assembly(text, *context)
    except RuntimeError as error:
        line = re.search(r"<string>:(\d+):", str(error))
        before = text.split("\n")[: int(line[1])] if line else []
        names = _FIRST_LINE.findall("\n".join(before))
        raise _refused(error, names[-1:]) from error
    return verified(module)


def verified(module: Any) -> Any:
    """Return a module that LLVM has verified, after each change that is not its own passes'.

    The passes end the process where they meet a module that breaks LLVM's laws.

    Raises
    ------
    CheckError
        The module breaks them.
    """
    try:
        module.verify()
    except RuntimeError as error:
        names = [f.name for f in module.functions if not f.is_declaration]
        # The error's traceback holds it and its context, which a collection frees in any order;
        # a module whose context is gone cannot be freed.
        module.close()
        raise _refused(error, [name for name in names if name in str(error)]) from error
    return module


def _refused(error: RuntimeError, functions: list[str]) -> CheckError:
    """Return the error for machine code that LLVM refuses; the first function is named."""
    place = f" of {functions[0]}" if functions else ""
    return CheckError(
        f"a fault of symgrad: LLVM refuses the code{place}; until it is fixed,"
        f' backend="numpy" computes the same without machine code. LLVM says: {error}'
    )


def attributed(text: str, names: Collection[str], attributes: str) -> str:
    """Return a module's text with further attributes of some functions.

    In the text, since llvmlite's ``add_function_attribute`` gives them to the function's result
    before version 0.48: LLVM then refuses the module, or ends the process.
    """

    def line(found: re.Match[str]) -> str:
        return f"{found[0]} {attributes}" if found[1] in names else found[0]

    return _FIRST_LINE.sub(line, text) if names else text


def optimize(text: str, machine: Any) -> Any:
    """Return the module of a text, optimised at :data:`LEVEL` for a target machine.

    LLVM puts a function into its callers as soon as it has optimised it, and then optimises these
    as a whole. Bodies of loops in loops are functions in functions here, so the same instructions
    would go through all passes once for each of the functions around them. Functions that others
    might call, too, are optimised one by one: so are those of such a module, and put together
    afterwards. Those without loops over arrays wait until then: what passes for loops take of
    steps on numbers and of calls is time.
    """
    parts = _parts(text)
    if not parts:
        return optimize_whole(parsed(text), machine, LEVEL)
    waiting = {name for name, waits in parts.items() if waits}
    module = parsed(attributed(text, waiting, _NOT_YET))
    _link(module, parts, "external")
    options = _options(LEVEL)
    options.inlining_threshold = 0
    _run_pipeline(module, machine, options)
    text = str(module)
    calls = Counter(_CALLED.findall(text))
    inlined = _inlined(text, calls) & parts.keys()
    text = _WAITING.sub(_at_last, attributed(text, inlined, "alwaysinline"))
    module = assembled(text)
    _link(module, parts, "internal")
    return _put_together(module, calls, machine, options, bool(parts))


def optimize_whole(module: Any, machine: Any, level: int) -> Any:
    """Return a module, optimised in one piece for a target machine."""
    options = _options(level)
    _run_pipeline(module, machine, options)
    if not any(f.name.startswith(SIMD_PREFIX) for f in module.functions):
        return module
    calls = Counter(_CALLED.findall(str(module)))
    return _put_together(module, calls, machine, options, False)


def _options(level: int) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = True
    options.slp_vectorization = False
    return options


def _run_pipeline(module: Any, machine: Any, options: Any) -> None:
    builder = llvm.create_pass_builder(machine, options)
    _run(builder.getModulePassManager(), module, builder)


def _link(module: Any, names: Collection[str], linkage: str) -> None:
    """Give functions of a module another linkage."""
    for function in module.functions:
        if function.name in names:
            function.linkage = linkage


def _at_last(attributes: re.Match[str]) -> str:
    """Return the attributes of functions without what kept the passes from them."""
    return " ".join(word for word in attributes[0].split(" ") if word not in _NOT_YET.split())


def _parts(text: str) -> dict[str, bool]:
    """Return the functions to be optimised one by one, and whether each waits for the end.

    Those are the functions that only the module itself calls, and that may be inlined; none, if
    there are no bodies within bodies.
    """
    groups = dict(_GROUP.findall(text))
    found = {}
    for line in _FIRST_LINE.finditer(text):
        if line[0].startswith("define internal ") and not line[1].startswith(SIMD_PREFIX):
            attributes = line[0] + "".join(groups[group] for group in re.findall(r"#\d+", line[0]))
            if "noinline" not in attributes:
                found[line[1]] = STEPS in attributes
    nested = any(name.endswith(".run") and name.count(".task") > 1 for name in found)
    return found if nested else {}


def _has(function: Any, attribute: bytes) -> bool:
    return any(attribute in group for group in function.attributes)


def _inlined(text: str, calls: Counter[str]) -> set[str]:
    """Return the functions of a module to put into their callers: of one caller, or short."""
    found, sizes = set[str](), dict[str, int]()
    for function in reversed([*_DEFINED.finditer(text)]):  # each before its callers
        name, body = function.groups()
        sizes[name] = body.count("\n") + sum(sizes[f] for f in _CALLED.findall(body) if f in found)
        if calls[name] == 1 or sizes[name] <= SHORT:
            found.add(name)
    return found


def _run(passes: Any, module: Any, builder: Any) -> None:
    """Run passes once, and free them: 100 KB.

    Closing them does nothing in llvmlite, the bases of whose class are the wrong way round.
    """
    try:
        passes.run(module, builder)
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


def _add_passes(passes: Any, parts: bool, vectors: bool) -> None:
    """Add the passes that put functions together.

    Parameters
    ----------
    parts:
        Whether functions were optimised one by one.
    vectors:
        Whether SIMD functions are put into vector loops.
    """
    if parts:  # copies of copies, which show while it is known what each function touches
        passes.add_post_order_function_attributes_pass()
        passes.add_mem_copy_opt_pass()
    passes.add_always_inliner_pass()
    if parts:
        passes.add_sroa_pass()  # what they pass each other in memory is then in registers
    if vectors:
        passes.add_new_gvn_pass()  # equal work of several SIMD functions
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_dead_code_elimination_pass()
    passes.add_global_dead_code_eliminate_pass()


def _put_together(module: Any, calls: Counter[str], machine: Any, options: Any, parts: bool) -> Any:
    """Put functions into callers, SIMD functions into vector loops; drop what is left over."""
    simd = [f for f in module.functions if f.name.startswith(SIMD_PREFIX)]
    for function in simd:
        function.linkage = "internal"
    vectors = any(f.name in calls and _has(f, b"alwaysinline") for f in simd)
    verified(module)
    passes = llvm.create_new_module_pass_manager()
    _add_passes(passes, parts, vectors)
    # Each run leaves callbacks in its builder that refer to what is gone after it: a new one.
    with _without(ALIASES):
        _run(passes, module, llvm.create_pass_builder(machine, options))
    return module


@llvm_turn()
def emit(text: str, level: int = 3) -> bytes:
    """Return the object code of a module without optimising it, beside other threads.

    llvmlite holds one lock during every call into LLVM. LLVM itself asks only that threads
    work in different contexts, so the long call goes to the library directly.
    """
    machine = host_machine(level, host_features(text))
    module = parsed(text, llvm.create_context())
    with ffi.OutputString() as error:
        buffer = _emit_function()(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        content = ctypes.string_at(
            ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        )
        return _linkable(content)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def quick_object(text: str) -> bytes:
    """Return the object code of a module, made in a sixth of the time of :func:`emit`."""
    return emit(text, 0)


@lru_cache(maxsize=1)
def _emit_function() -> Any:
    function = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
    locked = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function

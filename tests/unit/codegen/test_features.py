"""What LLVM is told of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from symgrad._core.codegen import llvm as _llvm
from symgrad._core.runtime import processor
from symgrad._core.runtime._libraries import register_bytes
from symgrad._core.runtime._machine import level_of

X86 = "x86_64" in llvm.get_default_triple()

STRIDED = """
define double @total(ptr %x, i64 %n) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %loop ]
  %at = mul i64 %i, 10
  %p = getelementptr double, ptr %x, i64 %at
  %v = load double, ptr %p
  %r = call double @llvm.sqrt.f64(double %v)
  %sum.next = fadd reassoc double %sum, %r
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %sum.next
}
declare double @llvm.sqrt.f64(double)
attributes #0 = { nounwind }
"""


def assembly(cpu: str) -> str:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=cpu, features=_llvm.features(cpu), opt=3)
    module = llvm.parse_assembly(STRIDED)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


@pytest.mark.skipif(register_bytes() < 32, reason="needs AVX2")
def test_no_gathers_where_they_are_microcode() -> None:
    code = assembly("znver4")
    assert "vsqrtpd" in code
    assert "gather" not in code
    assert "prefer-no-gather" not in _llvm.features("skylake-avx512")


@pytest.mark.skipif(not X86, reason="levels are x86-64's")
@pytest.mark.parametrize(
    ("name", "features", "level"),
    [
        ("x86-64-v3", "", "x86-64-v3"),
        ("x86-64-v2", "", "x86-64-v2"),
        ("x86-64-v2", "+avx2,+fma,+bmi2", "x86-64-v3"),
        ("x86-64-v4", "-avx512f", "x86-64"),
        ("generic", None, "x86-64"),
        ("haswell", "", "x86-64"),  # which LLVM knows and this module does not
        (None, None, level_of(llvm.get_host_cpu_features())),
        ("x86-64-v2", None, level_of(llvm.get_host_cpu_features())),  # as Numba: this one's
    ],
)
@pytest.mark.quick
def test_code_is_made_for_the_processor_that_numba_makes_code_for(
    name: str | None, features: str | None, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (("NUMBA_CPU_NAME", name), ("NUMBA_CPU_FEATURES", features)):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
    cpu, known, text = processor()
    assert level_of(known) == level
    assert cpu == (name or llvm.get_host_cpu_name())
    if features is not None:
        assert text == features


#: A logarithm of many elements has instructions of AVX-512 where there are such.
LOGARITHMS = """
import numpy as np, symgrad as sg
def f(x):
    return np.sum(np.log(x) * np.exp(-x) + np.sin(x))
x = np.linspace(0.5, 3, 67)
found = [sg.grad(f).kernel(x)(x), sg.grad(f)(x), sg.compile(sg.grad(f), backend="numba")(x)]
exact = np.exp(-x) / x - np.log(x) * np.exp(-x) + np.cos(x)
for each in found:
    np.testing.assert_allclose(each, exact, rtol=1e-13, atol=1e-14)
"""


@pytest.mark.skipif(not X86, reason="levels are x86-64's")
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v2", "generic"])
def test_kernels_for_another_processor_run_in_both_worlds(name: str) -> None:
    """LLVM ends the process if it meets instructions that the processor lacks."""
    environment = os.environ | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", LOGARITHMS], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]

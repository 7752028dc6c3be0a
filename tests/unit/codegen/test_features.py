"""What LLVM is told of the CPU."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from symgrad._core.codegen import llvm as _llvm
from symgrad._core.runtime._libraries import register_bytes

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

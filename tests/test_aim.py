"""Where values and derivatives were further off than the aim of docs/accuracy.md allows."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import registry
from tests.shared import builder

#: The op, the number of the real operand to differentiate by or None, the point.
POINTS: list[tuple[str, int | None, tuple[float, ...]]] = [
    ("Cbrt", None, (6.530748266090969,)),
    ("Cbrt", 0, (-2.048322678115049,)),
    ("Bei2", 0, (2.3183018695725064,)),
    ("Beip", 0, (2.108624238623803,)),
    ("Ber2", None, (2.061955627013721,)),
    ("CosineIntegral", None, (3.88635212803603,)),
    ("CosineIntegral", None, (1.6700657732839952,)),
    ("Erfi", None, (-0.012506258425982963,)),
    ("Expi", None, (4.682785012875907,)),
    ("FresnelC", None, (-1.0057209071640685,)),
    ("Gamma", None, (1.4035236535747175,)),
    ("HyperbolicSineIntegral", None, (0.8544262050254565,)),
    ("I1e", None, (1.6019500929748336,)),
    ("I1e", 0, (0.652724588579751,)),
    ("Beta", None, (3.299806532485232, 4.950320664568482)),
    ("Beta", 0, (4.8521670592881545, 3.459923285173315)),
    ("Beta", 1, (0.7810426078740643, 3.573109649504971)),
    ("Boxcox", 1, (1.8407718120450762, 0.6697874611730641)),
    ("Digamma", 0, (8.720496419183233,)),
    ("DigammaStep", 1, (7.0637502233828044, 1.4622421204705112)),
    ("HazardExcess", 0, (-0.19361869911542318,)),
    ("Ellipkm1", 0, (0.24891887618154407,)),
    ("K0e", None, (0.24856047101457862,)),
    ("NormalDensity", 0, (-0.9542768106958146,)),
    ("Hyp0f1", 1, (1.2714290099669594, -2.17177267164627)),
    ("JacobiDn", 1, (0.7911234165490371, 0.7174137594232688)),
    ("JacobiSn", 1, (1.400953292658702, 0.7360945143567261)),
    ("LogExcess", None, (1.8277549787280631,)),
    ("LogExcess", 0, (1.2116668013812248,)),
    ("LogExpit", 0, (0.12699677415734367,)),
    ("LogNdtr", None, (1.414098355881607,)),
    ("ModStruve", 1, (0.4089261744540914, 1.009362383519192)),
    ("OwensT", None, (1.2868022455703576, 1.0625536908013247)),
    ("OwensT", 1, (0.25451990107688355, 0.2363880320410644)),
    ("Poch", None, (3.782857060703611, 0.3891660999935822)),
    ("Poch", 0, (2.5762993761497595, 0.8999315901136138)),
    ("Poch", 1, (3.782857060703611, 0.3891660999935822)),
    ("Rgamma", 0, (2.4428523713562966,)),
    ("SechSquared", 0, (0.630337522979108,)),
    ("Sinc", 0, (-0.8787707540234895,)),
    ("SineIntegral", None, (3.229053869565031,)),
    ("Spence", None, (2.00467546991396,)),
    ("Struve", 1, (2.8175398760726433, 4.2936128007871375)),
    ("Tanh", 0, (-0.20276384804826542,)),
    ("Iv", 1, (0.5824101952447542, 0.7076518690120455)),
    ("Jv", 1, (0.7583060338573692, 0.5977116371343727)),
    ("IveSlope", 1, (2.147753540776483, 1.6417729494765385)),
    ("Kve", None, (0.3948474474249172, 1.5521189133992848)),
    ("Kve", 1, (0.3680719805282203, 1.6940302559309484)),
    ("Binom", 1, (4.932506041150751, 0.30081186328869186)),
    ("Yv", None, (0.004758771052472799, 0.6581000935292303)),
    ("Yv", None, (0.09833120167830056, 0.32023091387591923)),
    ("Yv", 1, (0.5521146226652028, 0.8470115869900283)),
    ("Yv", 1, (0.6070388938579994, 1.4637111235070348)),
    ("Yv", None, (5.5, 1.3)),
    ("WrightBessel", None, (0.8384901805751444, 1.2009595142426988, 2.8295650744882552)),
    ("WrightBessel", None, (1.7740538038517508, 1.632194588521929, 2.0817984624929626)),
    ("WrightBessel", 2, (0.5077391458624381, 0.9267701828884143, 2.202177172565102)),
    ("WrightBessel", None, (0.023683286148308124, 0.061405225499560206, 1.9980626499610106)),
    ("Kv", None, (5.5, 1.3)),
]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("accuracy")


@pytest.mark.parametrize(("name", "by", "at"), POINTS)
@pytest.mark.quick(3)
def test_within_the_aim(
    build: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    by: int | None,
    at: tuple[float, ...],
) -> None:
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", "0")
    op = registry.ops[name]
    f, _, _ = build.function_of(op)
    own = build.Conditioning(op)
    value, slopes = sg.value_and_grad(f, argnums=tuple(range(len(at))))(*at)
    found = float(value if by is None else slopes[by])
    want = own.exact(by, at)
    ulp = float(abs(own.fine.mpf(found) - want)) / np.spacing(abs(float(want)))
    assert ulp <= build.SCALAR * (1 + own.at(by, at))

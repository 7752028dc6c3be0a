"""NIST's files: all 27 are read rightly, and damaged or foreign ones are refused by line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import symgrad.demo
from symgrad.demo import Problem, load, load_all, read
from symgrad.errors import DataError

PACKAGED = Path(symgrad.demo.__file__).parent / "data"

# Name: observations, parameters, first and last row of data, last certified parameter.
EXPECTED = {
    "Bennett5": (154, 3, (-34.834702, 7.447168), (-31.7868, 12.27224), 0.93218483193),
    "BoxBOD": (6, 2, (109, 1), (224, 10), 0.54723748542),
    "Chwirut1": (214, 3, (92.9, 0.5), (28.95, 1.75), 0.010530908399),
    "Chwirut2": (54, 3, (92.9, 0.5), (28.9, 1.75), 0.012150007096),
    "DanWood": (6, 2, (2.138, 1.309), (5.66, 1.68), 3.8604055871),
    "ENSO": (168, 9, (12.9, 1), (14.8, 168), 1.4966870418),
    "Eckerle4": (35, 3, (0.0001575, 400), (0.000071, 500), 451.54121844),
    "Gauss1": (250, 8, (97.62227, 1), (4.875359, 250), 18.389389025),
    "Gauss2": (250, 8, (97.58776, 1), (4.875312, 250), 19.525972636),
    "Gauss3": (250, 8, (97.58776, 1), (4.875312, 250), 19.668221230),
    "Hahn1": (236, 7, (0.591, 24.41), (20.935, 848.23), -1.2314450199e-7),
    "Kirby2": (151, 5, (0.0082, 9.65), (92.2, 371.3), 2.1664802578e-5),
    "Lanczos1": (24, 6, (2.5134, 0), (0.06239312536719, 1.15), 5.0000000001),
    "Lanczos2": (24, 6, (2.5134, 0), (0.0623931, 1.15), 5.0028798100),
    "Lanczos3": (24, 6, (2.5134, 0), (0.0624, 1.15), 4.9863565084),
    "MGH09": (11, 4, (0.1957, 4), (0.0246, 0.0625), 0.13606233068),
    "MGH10": (16, 3, (34780, 50), (2872, 125), 345.22363462),
    "MGH17": (33, 5, (0.844, 0), (0.406, 320), 0.022122699662),
    "Misra1a": (14, 2, (10.07, 77.6), (81.78, 760), 5.5015643181e-4),
    "Misra1b": (14, 2, (10.07, 77.6), (81.78, 760), 3.9039091287e-4),
    "Misra1c": (14, 2, (10.07, 77.6), (81.78, 760), 2.0813627256e-4),
    "Misra1d": (14, 2, (10.07, 77.6), (81.78, 760), 3.0227324449e-4),
    "Nelson": (128, 3, (15, 1, 180), (1.2, 64, 275), -0.057701013174),
    "Rat42": (9, 3, (8.93, 9), (67.08, 79), 0.067359200066),
    "Rat43": (15, 4, (16.08, 1), (717.41, 15), 1.2792483859),
    "Roszman1": (25, 4, (0.252429, -4868.68), (0.624169, -464.17), -181.34269537),
    "Thurber": (37, 7, (80.574, -3.067), (1457.628, 2.2), 0.049727297349),
}


def test_all_problems_are_there() -> None:
    assert {file.name for file in PACKAGED.glob("*.dat")} == {f"{name}.dat" for name in EXPECTED}


@pytest.fixture(scope="module")
def problems() -> dict[str, Problem]:
    return {problem.name: problem for problem in load_all()}


@pytest.mark.parametrize("name", EXPECTED)
def test_reads(name: str, problems: dict[str, Problem]) -> None:
    problem = problems[name]
    observations, parameters, first, last, certified = EXPECTED[name]
    assert len(problem.y) == observations
    assert problem.dof == observations - parameters
    rows = np.column_stack([problem.y, *problem.x])
    assert tuple(rows[0]) == first
    assert tuple(rows[-1]) == last
    assert problem.parameters == tuple(f"b{k}" for k in range(1, parameters + 1))
    assert problem.certified[-1] == certified
    vectors = (problem.start1, problem.start2, problem.certified, problem.deviations)
    assert {vector.shape for vector in vectors} == {(parameters,)}
    assert np.all(problem.deviations > 0)
    assert problem.model.free_symbols == set(problem.symbols)
    assert not problem.y.flags.writeable
    assert problem.description
    assert problem.reference


@pytest.mark.parametrize("name", EXPECTED)
def test_model_and_data_give_the_certified_sum_of_squares(
    name: str, problems: dict[str, Problem]
) -> None:
    # A wrong sign in the model or a wrong digit in the data would show here.
    problem = problems[name]
    model = sp.lambdify(problem.symbols, problem.model, "numpy")
    residual = problem.target - model(*problem.x, *problem.certified)
    rss = float(residual @ residual)
    if name == "Lanczos1":
        # Its residuals, 1e-13, are below the rounding of the 11 certified digits.
        assert rss < 1e-20
    else:
        assert rss == pytest.approx(problem.rss, rel=1e-9)


def test_words_and_notation(problems: dict[str, Problem]) -> None:
    x, x1, x2, y = sp.symbols("x x1 x2 y", real=True)
    b = (None, *sp.symbols("b1:10", real=True))
    nelson, roszman, enso = problems["Nelson"], problems["Roszman1"], problems["ENSO"]
    assert nelson.response == sp.log(y)
    assert nelson.model == b[1] - b[2] * x1 * sp.exp(-b[3] * x2)
    assert nelson.predictors == ("x1", "x2")
    np.testing.assert_allclose(nelson.target, np.log(nelson.y), rtol=1e-15)
    # The file's pi, written out, is the constant.
    assert roszman.model == b[1] - b[2] * x - sp.atan(b[3] / (x - b[4])) / sp.pi
    assert enso.model.has(b[9] * sp.sin(2 * sp.pi * x / b[7]))
    assert len(enso.model.args) == 7
    assert problems["BoxBOD"].formula == "y = b1*(1-exp[-b2*x]) + e"
    assert problems["Hahn1"].model_class == "Rational (cubic/cubic)"
    assert problems["BoxBOD"].reference.startswith("Box, G. P., W. G. Hunter")
    levels = [problem.difficulty for problem in problems.values()]
    assert [levels.count(level) for level in ("Lower", "Average", "Higher")] == [8, 11, 8]


def test_load_by_name(tmp_path: Path) -> None:
    assert load("thurber").name == "Thurber"
    with pytest.raises(DataError, match=r"no problem 'Thurbr'; there are .*Thurber"):
        load("Thurbr")
    with pytest.raises(DataError, match="no StRD file"):
        load_all(tmp_path)
    with pytest.raises(DataError, match=r"missing.dat: cannot be read: No such file"):
        load_all(tmp_path / "missing.dat")
    (tmp_path / "One.dat").write_bytes((PACKAGED / "DanWood.dat").read_bytes())
    assert [problem.name for problem in load_all(tmp_path)] == ["DanWood"]
    assert [problem.name for problem in load_all(tmp_path / "One.dat")] == ["DanWood"]
    (tmp_path / "Two.dat").mkdir()
    with pytest.raises(DataError, match=r"Two.dat: cannot be read"):
        load_all(tmp_path)


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    content = (PACKAGED / "Nelson.dat").read_bytes()
    for name, changed in {"dos": content.replace(b"\n", b"\r\n"), "bare": content.rstrip()}.items():
        file = tmp_path / f"{name}.dat"
        file.write_bytes(changed)
        assert read(file).name == "Nelson"


# ---------------------------------------------------------------- damages


def change(old: str, new: str) -> Callable[[str], str]:
    def damage(text: str) -> str:
        assert text.count(old) == 1, "the damage must hit one place"
        return text.replace(old, new)

    return damage


def without_line(number: int) -> Callable[[str], str]:
    def damage(text: str) -> str:
        lines = text.splitlines(keepends=True)
        del lines[number - 1]
        return "".join(lines)

    return damage


def cut_after_line(number: int) -> Callable[[str], str]:
    return lambda text: "".join(text.splitlines(keepends=True)[:number])


# On Thurber: header to line 9, parameters in 41 to 47, sums to 52, data in 61 to 97.
DAMAGES: dict[str, tuple[Callable[[str], str], int, str]] = {
    "empty": (lambda _: "", 1, "expected 'NIST/ITL StRD', found ''"),
    "prose": (lambda _: "Dear Sir,\n\nplease find", 1, "found 'Dear Sir,'"),
    "comma-separated": (lambda _: "x,y\n1,2\n3,4\n", 1, "found 'x,y'"),
    "first line only": (cut_after_line(1), 2, "expected 'Dataset Name"),
    "header only": (cut_after_line(8), 8, "puts starting values in lines 41 to 47: it is trunc"),
    "truncated": (cut_after_line(80), 80, "puts data in lines 61 to 97: it is truncated"),
    "last row lost": (cut_after_line(96), 96, "truncated"),
    "a row lost": (without_line(70), 96, "truncated"),
    "a row doubled": (
        lambda text: text + text.splitlines()[-1] + "\n",
        98,
        "expected the end of the file after line 97",
    ),
    "a line lost above": (without_line(30), 96, "truncated"),
    "rows and header disagree": (
        change("(lines 61 to 97)", "(lines 61 to 96)"),
        61,
        "lines 61 to 96, but 37 observations",
    ),
    "no data range": (
        change("Data              (lines", "Data (line"),
        20,
        "expected 'Data (lines",
    ),
    "reversed range": (change("(lines 41 to 52)", "(lines 52 to 41)"), 6, "no range"),
    "range in the header": (change("(lines 41 to 47)", "(lines 1 to 7)"), 5, "no range"),
    "huge range": (change("to 97)", "to 99999999)"), 97, "truncated"),
    "wrong number of observations": (
        change("37 Observations", "38 Observations"),
        61,
        "lines 61 to 97, but 38 observations",
    ),
    "observations in words": (
        change("37 Observations", "many Observations"),
        25,
        "expected '... Observations'",
    ),
    "two predictors": (change("1 Predictor", "2 Predictor"), 60, "the names of 2 predictors"),
    "no predictors": (change("1 Predictor", "One Predictor"), 25, "expected '... Predictor"),
    "unknown level": (change("Higher Level", "Extreme Level"), 25, "Lower, Average or Higher"),
    "no model": (change("Model:", "Models"), 40, "expected a line 'Model:'"),
    "parameters in words": (change("7 Parameters", "Some Parameters"), 32, "number of parameters"),
    "too few parameters": (
        change("7 Parameters (b1 to b7)", "6 Parameters (b1 to b6)"),
        41,
        "lines 41 to 47, but the model has 6 parameters",
    ),
    "no formula": (
        lambda text: change("(1 + b5*x + b6*x**2 + b7*x**3)  +  e", "")(
            change("y = (b1 + b2*x + b3*x**2 + b4*x**3) /", "")(text)
        ),
        31,
        "expected the model's formula",
    ),
    "unknown parameter": (change("+ b4*x**3)", "+ b8*x**3)"), 34, "unknown name 'b8'"),
    "unused parameter": (change("+ b4*x**3)", "+ b3*x**3)"), 34, "b4 does not occur"),
    "unknown function": (change("(b1 + b2*x", "foo(b1 + b2*x"), 34, "unknown function 'foo'"),
    "code in the model": (
        change("(b1 + b2*x", "__import__('os').system('true')*(b1 + b2*x"),
        34,
        "strings are refused",
    ),
    "open parenthesis": (change("y = (b1", "y = b1"), 34, "unmatched"),
    "half a formula": (change("+ b4*x**3) /", "+ b4*x**3) / ("), 34, "never closed"),
    "no error term": (change("b7*x**3)  +  e", "b7*x**3)"), 34, "the error term"),
    "no response": (change("y = (b1", "1 = (b1"), 34, "expected the response y"),
    "other response": (change("y = (b1", "z = (b1"), 34, "unknown name 'z'"),
    "transformed out of range": (change("y = (b1", "log[y-84] = (b1"), 61, "not finite"),
    "parameter renamed": (change("  b3 =", "  c3 ="), 43, "expected 'b3 = start1 start2"),
    "parameter line lost": (
        change("  b3 =    400         500          5.8323836877E+02  2.8698696102E+01", ""),
        43,
        "expected 'b3 = ",
    ),
    "missing deviation": (change("2.8698696102E+01", ""), 43, "expected 'b3 = "),
    "bad certified value": (change("5.8323836877E+02", "5.83238368??E+02"), 43, "a number, found"),
    "letter O for zero": (change("     75     ", "     7O     "), 44, "found '7O'"),
    "no sum of squares": (change("Residual Sum of", "Residual Sums of"), 52, "expected a line"),
    "wrong sum of squares": (change("5.6427082397E+03", "5.6427082398E+05"), 50, "not the root"),
    "negative sum of squares": (change("5.6427082397E+03", "-5.6427082397E+03"), 50, "not the"),
    "wrong count below": (
        change(
            "Number of Observations:                            37", "Number of Observations: 3"
        ),
        52,
        "3 observations here, 37 in the header",
    ),
    "no heading of the data": (change("Data:   y             x", ""), 60, "expected 'Data:  y'"),
    "a number short": (change("84.248E0      -2.981E0", "84.248E0"), 62, "expected 2 numbers"),
    "a number too many": (change("84.248E0", "84.248E0 1"), 62, "expected 2 numbers"),
    "a word": (change("84.248E0", "missing"), 62, "expected a number, found 'missing'"),
    "not a number": (change("84.248E0", "nan"), 62, "expected a number, found 'nan'"),
    "infinite": (change("84.248E0", "inf"), 62, "expected a number"),
    "overflowing": (change("84.248E0", "84.248E999"), 62, "expected a number"),
    "decimal comma": (change("84.248E0", "84,248E0"), 62, "expected a number, found '84,248E0'"),
    "hexadecimal": (change("84.248E0", "0x10"), 62, "expected a number"),
    "underscore": (change("84.248E0", "84_248E0"), 62, "expected a number"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_named_by_line(kind: str, tmp_path: Path) -> None:
    damage, line, message = DAMAGES[kind]
    file = tmp_path / "damaged.dat"
    file.write_text(damage((PACKAGED / "Thurber.dat").read_text()))
    with pytest.raises(DataError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}, line {line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), 1, "byte 0x89 is not ASCII"),
        (bytes(100), 1, "expected 'NIST/ITL StRD'"),
        ("NIST/ITL StRD\nDataset Name: é".encode(), 2, "byte 0xc3 is not ASCII"),
        ("NIST/ITL StRD".encode("utf-16"), 1, "byte 0xff is not ASCII"),
    ],
)
def test_binary_files(content: bytes, line: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "foreign.dat"
    file.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(file)
    assert f"{file}, line {line}: {message}" in str(caught.value)


def test_enormous_files_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.dat"
    file.write_bytes(b"NIST/ITL StRD\n" * 800_000)
    with pytest.raises(DataError, match="more than 10000000 bytes"):
        read(file)


@pytest.mark.parametrize("name", ["Thurber", "Nelson", "Roszman1"])
def test_any_lost_line_is_noticed(name: str, tmp_path: Path) -> None:
    text = (PACKAGED / f"{name}.dat").read_text()
    file = tmp_path / "damaged.dat"
    for number in range(1, text.count("\n") + 1):
        file.write_text(without_line(number)(text))
        try:
            problem = read(file)
        except DataError as error:
            message = str(error)
        else:
            message = f"line {number} was lost, and {problem.name} was read"
        assert f"{file}, line " in message


def test_definitions_above_the_formula(tmp_path: Path) -> None:
    text = (PACKAGED / "Roszman1.dat").read_text()
    file = tmp_path / "changed.dat"
    file.write_text(change("pi = 3.141592653589793238462643383279E0", "pi = 4.0")(text))
    assert read(file).model.has(sp.Float(-0.25))
    file.write_text(change("pi = 3.141592653589793238462643383279E0", "pi + 1 = 3")(text))
    with pytest.raises(DataError, match="expected 'name = number' above the formula"):
        read(file)
    file.write_text(change("pi = 3.141592653589793238462643383279E0", "pi = three")(text))
    with pytest.raises(DataError, match=r"line 34: expected a number, found 'three'"):
        read(file)

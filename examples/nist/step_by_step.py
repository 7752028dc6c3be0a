"""Nonlinear regression to the last digit: NIST's certified problems.

NIST publishes 27 nonlinear regression problems, from easy to nasty, with parameters certified
to 11 digits (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml). They show what exact
derivatives are good for: with them a fit reaches the certified digits, with finite
differences it does not.

The first part goes through one problem step by step. The second part does all 27;
``all_problems.py`` does the same with more figures.

    python examples/nist/step_by_step.py
"""

import numpy as np
import sympy as sp
from nist_fits import digits, fit, two_point
from nist_problems import load, load_all
from scipy.optimize import least_squares

import symgrad as sg


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


# ------------------------------------------------------------------ one problem, by hand

heading("Thurber: the model, from text")

# The file Thurber.dat, in examples/nist/data, describes a measurement of the mobility of electrons
# in silicon. It gives the model as text, observations x and y, two starting points and the
# certified solution.
problem = load("Thurber")
x, y = problem.x[0], problem.y
print("In the file:  ", problem.formula)

# `parse` turns the text into a SymPy expression. It reads, it never runs: the text may come
# from a file or a user that you do not trust.
formula = sg.parse(
    "(b1 + b2*x + b3*x**2 + b4*x**3) / (1 + b5*x + b6*x**2 + b7*x**3)",
    symbols=["x", *problem.parameters],
)
assert formula == problem.model

# Being SymPy, it can be differentiated on paper:
b7 = sp.Symbol("b7", real=True)
print("By b7:        ", sp.factor(sp.diff(formula, b7)))


heading("Compile the residual and its Jacobian")

# `from_sympy` makes a NumPy function of it: scalars or arrays, in the order of the symbols.
model = sg.from_sympy(formula, problem.symbols)


# From here on everything is ordinary NumPy. The residual depends on the seven parameters; x and
# y are arrays it closes over.
def residual(b):
    return y - model(x, *b)


# `jacobian` traces the function once, derives the program that computes all 37 by 7
# derivatives, and compiles it.
compiled_residual = sg.compile(residual)
jacobian = sg.jacobian(residual)
print("Jacobian:     ", jacobian(problem.start1).shape)


heading("Check the Jacobian")

# `verify` differentiates the formula exactly with SymPy, on a path of its own, evaluates
# it to 50 digits, and compares. One ulp is the distance of neighbouring doubles.
print(sg.verify(residual, problem.certified))


heading("Fit")

# SciPy's Levenberg-Marquardt, with our Jacobian, from NIST's far starting point.
result = least_squares(
    compiled_residual,
    problem.start1,
    jacobian,
    method="lm",
    x_scale="jac",
    xtol=1e-15,
    ftol=1e-15,
    gtol=1e-15,
)
print("Digits of each parameter that agree with the certified ones:")
print("  MINPACK:     ", digits(result.x, problem.certified).round(1))

# MINPACK looks at the sum of squares, and that is flat at its minimum: moving the parameters
# by 1e-8 changes it by 1e-16, which is below rounding. Gauss-Newton steps look at its
# gradient instead. Each solves a linear least-squares problem for the step.
b = result.x
for _ in range(30):
    J = jacobian(b)
    scale = np.linalg.norm(J, axis=0)  # the columns differ by powers of ten
    b = b + np.linalg.lstsq(J / scale, -compiled_residual(b), rcond=None)[0] / scale
print("  polished:    ", digits(b, problem.certified).round(1))

# The same with a Jacobian from finite differences. It is right to about 8 digits, so the
# gradient is zero at a slightly wrong place, and no number of steps helps.
rough_jacobian = two_point(compiled_residual)
rough = fit(compiled_residual, rough_jacobian, problem.start1).parameters
print("  differences: ", digits(rough, problem.certified).round(1))


# ------------------------------------------------------------------ all 27

heading("All problems: digits of the worst parameter, from both starts")

print(f"{'problem':10} {'exact Jacobian':>16} {'2-point differences':>22}")
for problem in load_all():
    model = sg.from_sympy(problem.model, problem.symbols)

    # Default arguments bind this round's model and data; a closure would see the last round's.
    def residual(b, model=model, x=problem.x, y=problem.target):
        return y - model(*x, *b)

    compiled_residual = sg.compile(residual)
    jacobian = sg.jacobian(residual)
    row = [
        digits(fit(compiled_residual, j, start).parameters, problem.certified).min()
        for j in (jacobian, two_point(compiled_residual))
        for start in (problem.start1, problem.start2)
    ]
    print(f"{problem.name:10} {row[0]:9.1f} {row[1]:6.1f} {row[2]:15.1f} {row[3]:6.1f}")

# Lanczos1 is the exception on the right: its data are generated without noise, so the residuals
# vanish at the solution, and an error of the Jacobian does not move it.


heading("What happens to BoxBOD from its first start")

problem = load("BoxBOD")
model = sg.from_sympy(problem.model, problem.symbols)


def boxbod(b):
    return problem.target - model(*problem.x, *b)


compiled_residual = sg.compile(boxbod)
jacobian = sg.jacobian(boxbod)
stuck = fit(compiled_residual, jacobian, problem.start1).unpolished
print("Levenberg-Marquardt ends at b =", stuck, "with the Jacobian")
print(jacobian(stuck))

# The first step leads to b2 = 111. There exp(-b2*x) is zero in double precision, the model
# b1*(1 - exp(-b2*x)) is the constant b1, and the derivative by b2 vanishes, rightly. What
# remains is to fit the constant: the mean of y. A method with a shorter first step does not
# get there, with the same Jacobian:
bounded = fit(compiled_residual, jacobian, problem.start1, method="trf").parameters
print("Digits with method='trf':", digits(bounded, problem.certified).round(1))

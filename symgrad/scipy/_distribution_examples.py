"""An example of a derivative for the docstrings of distributions, with what it prints."""

EXAMPLES = {
    "norm": (
        "sg.grad(lambda mean: norm.logpdf(1.0, mean, 2.0))(0.0)",
        "np.float64(0.25)",
    ),
    "expon": (
        "sg.grad(lambda mean: expon.logpdf(3.0, scale=mean))(2.0)",
        "np.float64(0.25)",
    ),
    "gamma": (
        "sg.grad(lambda shape: gamma.logpdf(2.0, shape))(3.0).round(4)",
        "np.float64(-0.2296)",
    ),
    "erlang": (
        "sg.grad(lambda rate: erlang.logpdf(2.0, 3, scale=1.0 / rate))(1.0)",
        "np.float64(1.0)",
    ),
    "beta": (
        "sg.grad(lambda a: beta.cdf(0.5, a, 2.0))(1.0).round(4)",
        "np.float64(-0.2699)",
    ),
    "t": (
        "sg.grad(lambda df: t.logpdf(2.0, df))(4.0).round(4)",
        "np.float64(-0.0189)",
    ),
    "chi2": (
        "sg.grad(lambda df: chi2.sf(3.0, df))(2.0).round(4)",
        "np.float64(0.1596)",
    ),
    "f": (
        "sg.grad(lambda x: f.cdf(x, 2.0, 4.0))(1.0).round(4)",
        "np.float64(0.2963)",
    ),
    "lognorm": (
        "sg.grad(lambda s: lognorm.logpdf(2.0, s))(1.0).round(4)",
        "np.float64(-0.5195)",
    ),
    "uniform": (
        "sg.grad(lambda width: uniform.logpdf(0.5, scale=width))(2.0)",
        "np.float64(-0.5)",
    ),
    "weibull_min": (
        "sg.grad(lambda c: weibull_min.logsf(2.0, c))(1.0)",
        "np.float64(-1.3862943611198906)",
    ),
    "cauchy": (
        "sg.grad(lambda loc: cauchy.logpdf(1.0, loc))(0.0).round(4)",
        "np.float64(1.0)",
    ),
    "logistic": (
        "sg.grad(logistic.cdf)(0.0)",
        "np.float64(0.25)",
    ),
    "laplace": (
        "sg.grad(lambda scale: laplace.logpdf(3.0, 0.0, scale))(1.0)",
        "np.float64(2.0)",
    ),
    "halfnorm": (
        "sg.grad(lambda scale: halfnorm.logpdf(3.0, scale=scale))(1.0)",
        "np.float64(8.0)",
    ),
    "rayleigh": (
        "sg.grad(rayleigh.logpdf)(2.0)",
        "np.float64(-1.5)",
    ),
    "gumbel_r": (
        "sg.grad(gumbel_r.logpdf)(0.0)",
        "np.float64(0.0)",
    ),
    "pareto": (
        "sg.grad(lambda b: pareto.logpdf(2.0, b))(1.0).round(4)",
        "np.float64(0.3069)",
    ),
    "invgamma": (
        "sg.grad(lambda a: invgamma.logpdf(2.0, a))(3.0).round(4)",
        "np.float64(-1.6159)",
    ),
    "skewnorm": (
        "sg.grad(lambda a: skewnorm.logpdf(1.0, a))(0.0).round(4)",
        "np.float64(0.7979)",
    ),
    "vonmises": (
        "sg.grad(lambda kappa: vonmises.logpdf(0.5, kappa))(1.0).round(4)",
        "np.float64(0.4312)",
    ),
    "truncnorm": (
        "sg.grad(lambda b: truncnorm.logpdf(0.5, 0.0, b))(1.0).round(4)",
        "np.float64(-0.7089)",
    ),
    "poisson": (
        "sg.grad(lambda rate: poisson.logpmf(3, rate))(2.0)",
        "np.float64(0.5)",
    ),
    "bernoulli": (
        "sg.grad(lambda p: bernoulli.logpmf(1, p))(0.25)",
        "np.float64(4.0)",
    ),
    "binom": (
        "sg.grad(lambda p: binom.logpmf(3, 10, p))(0.5)",
        "np.float64(-8.0)",
    ),
    "nbinom": (
        "sg.grad(lambda p: nbinom.logpmf(3, 2.0, p))(0.5)",
        "np.float64(-2.0)",
    ),
    "geom": (
        "sg.grad(lambda p: geom.logpmf(3, p))(0.5)",
        "np.float64(-2.0)",
    ),
    "multinomial": (
        "sg.grad(lambda p: multinomial.logpmf([2.0, 1.0], 3, np.array([p, 1.0 - p])))(0.5)",
        "np.float64(2.0)",
    ),
    "multivariate_normal": (
        "sg.grad(lambda x: multivariate_normal.logpdf(x, np.zeros(2), np.eye(2)))(np.ones(2))",
        "array([-1., -1.])",
    ),
    "multivariate_t": (
        "sg.grad(lambda x: multivariate_t.logpdf(x, np.zeros(2), np.eye(2), 4.0))(np.ones(2))",
        "array([-1., -1.])",
    ),
    "dirichlet": (
        "sg.grad(lambda a: dirichlet.logpdf(np.array([0.5, 0.5]), a))(np.ones(2)).round(4)",
        "array([0.3069, 0.3069])",
    ),
    "wishart": (
        "sg.grad(lambda df: wishart.logpdf(np.eye(2), df, np.eye(2)))(3.0).round(4)",
        "np.float64(-0.4228)",
    ),
}


def shown(name: str) -> str:
    """Return the example of a distribution as a docstring has it; empty if it has none."""
    call, result = EXAMPLES.get(name, ("", ""))
    return f">>> from symgrad.scipy.stats import {name}\n>>> {call}\n{result}\n" if call else ""

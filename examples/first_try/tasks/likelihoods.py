"""Likelihoods, generalised linear models, survival."""

import numpy as np
import scipy.stats as st
from scipy.special import logsumexp, gammaln, expit
from scipy.stats import norm, poisson
from task import Task

rng = np.random.default_rng(42)

# ---------------------------------------------------------------- mixture of two normals

sample = np.concatenate([rng.normal(-1, 0.5, 60), rng.normal(2, 1.0, 40)])


def neg_log_lik(theta):
    mu1, mu2, log_s1, log_s2, logit_w = theta
    w = 1 / (1 + np.exp(-logit_w))
    parts = np.array(
        [
            np.log(w) + norm.logpdf(sample, mu1, np.exp(log_s1)),
            np.log(1 - w) + norm.logpdf(sample, loc=mu2, scale=np.exp(log_s2)),
        ]
    )
    return -np.sum(logsumexp(parts, axis=0))


def resample():
    global sample
    sample = sample[rng.integers(0, len(sample), len(sample))]


# ---------------------------------------------------------------- Poisson regression


class PoissonRegression:
    def __init__(self, X, y, penalty=0.0):
        self.X = np.column_stack([np.ones(len(X)), X])
        self.y = y
        self.penalty = penalty
        self.n_calls = 0

    def objective(self, beta):
        self.n_calls += 1
        mu = np.exp(self.X @ beta)
        ll = poisson.logpmf(self.y, mu).sum()
        return -ll + self.penalty * np.dot(beta[1:], beta[1:])


doctor = PoissonRegression(rng.normal(size=(50, 2)), rng.poisson(2.0, 50))


def ridge():
    doctor.penalty = 0.5


# ---------------------------------------------------------------- Weibull survival with censoring

survival = np.array([6, 19, 32, 42, 42, 43, 94, 126, 169, 207, 211, 227, 253, 255, 270, 310])
died = np.array([1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1])


def weibull_nll(p):
    k, lam = np.exp(p)
    event = died == 1
    ll = st.weibull_min.logpdf(survival[event], k, scale=lam).sum()
    ll += st.weibull_min.logsf(survival[~event], k, scale=lam).sum()
    return -ll


def follow_up():
    died[4] = 1


# ---------------------------------------------------------------- Cox regression

age = rng.normal(60, 8, 25)
treated = rng.integers(0, 2, 25)
months = np.round(rng.exponential(20, 25), 1)
observed = rng.random(25) < 0.7


def cox(beta):
    order = np.argsort(-months)
    eta = beta[0] * (age - age.mean()) / age.std() + beta[1] * treated
    log_risk = []
    loglik = 0.0
    for i in order:
        log_risk.append(eta[i])
        if observed[i]:
            loglik += eta[i] - logsumexp(log_risk)
    return -loglik


def drop_out():
    observed[:5] = False


# ---------------------------------------------------------------- hierarchical model

effects = [28, 8, -3, 7, -1, 1, 18, 12]
errors = [15, 10, 16, 11, 9, 11, 10, 18]
prior = dict(mu_scale=5.0, tau_scale=5.0)


def log_posterior(q):
    mu, log_tau = q[0], q[1]
    theta_tilde = q[2:]
    tau = np.exp(log_tau)
    lp = st.norm.logpdf(mu, 0, prior["mu_scale"])
    lp += st.halfcauchy.logpdf(tau, scale=prior["tau_scale"]) + log_tau
    lp += np.sum(st.norm.logpdf(theta_tilde))
    for j in range(len(effects)):
        lp += st.norm.logpdf(effects[j], loc=mu + tau * theta_tilde[j], scale=errors[j])
    return lp


def wider_prior():
    prior["tau_scale"] = 25.0


# ---------------------------------------------------------------- Student t, correlated errors

xs = np.linspace(-1, 1, 15)
ys = 0.5 + 2 * xs + rng.standard_t(3, 15) * 0.2


def t_regression(params):
    a, b, log_sigma, log_nu = params
    return -np.sum(st.t.logpdf(ys, df=np.exp(log_nu), loc=a + b * xs, scale=np.exp(log_sigma)))


def outlier():
    ys[3] = 4.0


def correlated(params):
    a, b, log_s, log_l = params
    d = np.abs(xs[:, None] - xs[None, :])
    cov = np.exp(2 * log_s) * np.exp(-d / np.exp(log_l)) + 0.01 * np.eye(len(xs))
    return -st.multivariate_normal.logpdf(ys, mean=a + b * xs, cov=cov)


# ---------------------------------------------------------------- overdispersed counts

trials = np.array([10, 12, 9, 15, 20, 8])
seeds = np.array([4, 7, 2, 11, 13, 3])


def betabinom(ab):
    a, b = ab
    betaln = lambda p, q: gammaln(p) + gammaln(q) - gammaln(p + q)
    ll = betaln(seeds + a, trials - seeds + b) - betaln(a, b)
    return -ll.sum()


def negbinom(log_params, data=[0, 3, 1, 7, 2, 2, 5, 0, 9, 1]):
    mean, r = np.exp(log_params)
    return -st.nbinom.logpmf(data, r, r / (r + mean)).sum()


def more_counts():
    negbinom.__defaults__[0].append(12)


# ---------------------------------------------------------------- logistic regression, by hand


def logistic(w, X, y):
    p = expit(X @ w)
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


def credit():
    X = rng.normal(size=(60, 4))
    return np.zeros(4), X, (X[:, 0] - X[:, 1] > 0).astype(int)


TASKS = [
    Task(neg_log_lik, lambda: ([-1, 2, 0, 0, 0],), resample),
    Task(doctor.objective, lambda: (np.array([0.5, 0.1, -0.1]),), ridge, hessian=True),
    Task(weibull_nll, lambda: (np.array([0.1, 5.3]),), follow_up),
    Task(cox, lambda: (np.array([0.3, -0.5]),), drop_out, hessian=True),
    Task(log_posterior, lambda: (np.array([4.0, 1, *np.linspace(-1, 1, 8)]),), wider_prior),
    Task(t_regression, lambda: (np.array([0.4, 1.8, -1, 1]),), outlier),
    Task(correlated, lambda: ([0.4, 1.8, -1, 0],), outlier),
    Task(betabinom, lambda: ((2, 3),), lambda: seeds.put(0, 9)),
    Task(negbinom, lambda: ([1, 0],), more_counts),
    Task(logistic, credit),
]

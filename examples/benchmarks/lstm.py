"""ADBench's LSTM: the loss of a recurrent network with diagonal weights, and its gradient.

    python examples/benchmarks/lstm.py [--quick]

Two layers of 14 numbers go through a sequence of characters, each given by its 14 bits, as in
ADBench's ``lstm_l2_c1024``; parameters and bits are random. The network has little work in a
step, so that the cost of a loop's step shows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

LAYERS, WIDTH = 2, 14

SOURCE = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
enum { L = 2, W = 14 };
/* For each step and layer are kept: input, hidden and cell before, gates, change, tanh(cell). */
typedef struct { double in[W], hidden[W], cell[W], f[W], i[W], o[W], c[W], t[W]; } kept;
double lstm(const double *main, const double *extra, const double *state, const double *seq,
            long count, double *gm, double *ge) {
    long steps = count - 1;
    kept *tape = malloc(sizeof(kept) * steps * L);
    double *last = malloc(sizeof(double) * steps * W), *share = malloc(sizeof(double) * steps * W);
    double now[2 * L][W], dh[L][W] = {0}, dc[L][W] = {0}, total = 0.0;
    memcpy(now, state, sizeof now);
    memset(gm, 0, sizeof(double) * L * 8 * W);
    memset(ge, 0, sizeof(double) * 3 * W);
    for (long n = 0; n < steps; n++) {
        const double *y = seq + n * W;
        double in[W], *out = last + n * W, *e = share + n * W, sum = 2.0;
        for (int j = 0; j < W; j++) in[j] = y[j] * extra[j];
        for (int l = 0; l < L; l++) {
            kept *k = tape + n * L + l;
            const double *w = main + l * 8 * W, *b = w + 4 * W;
            memcpy(k->in, in, sizeof in);
            memcpy(k->hidden, now[2 * l], sizeof in);
            memcpy(k->cell, now[2 * l + 1], sizeof in);
            for (int j = 0; j < W; j++) {
                k->f[j] = 1 / (1 + exp(-(in[j] * w[j] + b[j])));
                k->i[j] = 1 / (1 + exp(-(k->hidden[j] * w[W + j] + b[W + j])));
                k->o[j] = 1 / (1 + exp(-(in[j] * w[2 * W + j] + b[2 * W + j])));
                k->c[j] = tanh(k->hidden[j] * w[3 * W + j] + b[3 * W + j]);
                now[2 * l + 1][j] = k->cell[j] * k->f[j] + k->i[j] * k->c[j];
                k->t[j] = tanh(now[2 * l + 1][j]);
                now[2 * l][j] = in[j] = k->o[j] * k->t[j];
            }
        }
        memcpy(out, in, sizeof in);
        for (int j = 0; j < W; j++) {
            double guess = in[j] * extra[W + j] + extra[2 * W + j];
            total += y[W + j] * guess;
            sum += e[j] = exp(guess);
        }
        double whole = 0.0;
        for (int j = 0; j < W; j++) whole += y[W + j];
        for (int j = 0; j < W; j++) e[j] = y[W + j] - whole * e[j] / sum;
        total -= whole * log(sum);
    }
    double scale = -1.0 / (steps * W);
    for (long n = steps - 1; n >= 0; n--) {
        double d[W];
        for (int j = 0; j < W; j++) {
            double by = scale * share[n * W + j];
            ge[W + j] += by * last[n * W + j];
            ge[2 * W + j] += by;
            d[j] = by * extra[W + j];
        }
        for (int l = L - 1; l >= 0; l--) {
            kept *k = tape + n * L + l;
            const double *w = main + l * 8 * W;
            double *gw = gm + l * 8 * W, *gb = gw + 4 * W;
            for (int j = 0; j < W; j++) {
                double by = d[j] + dh[l][j];
                double o = by * k->t[j] * k->o[j] * (1 - k->o[j]);
                double cell = dc[l][j] + by * k->o[j] * (1 - k->t[j] * k->t[j]);
                double f = cell * k->cell[j] * k->f[j] * (1 - k->f[j]);
                double i = cell * k->c[j] * k->i[j] * (1 - k->i[j]);
                double c = cell * k->i[j] * (1 - k->c[j] * k->c[j]);
                dc[l][j] = cell * k->f[j];
                dh[l][j] = i * w[W + j] + c * w[3 * W + j];
                d[j] = f * w[j] + o * w[2 * W + j];
                gw[j] += f * k->in[j]; gb[j] += f;
                gw[W + j] += i * k->hidden[j]; gb[W + j] += i;
                gw[2 * W + j] += o * k->in[j]; gb[2 * W + j] += o;
                gw[3 * W + j] += c * k->hidden[j]; gb[3 * W + j] += c;
            }
        }
        for (int j = 0; j < W; j++) ge[j] += d[j] * seq[n * W + j];
    }
    free(tape); free(last); free(share);
    return scale * total;
}
"""


def layer(np: Any, weight: Any, bias: Any, hidden: Any, cell: Any, given: Any) -> Any:
    """The new hidden and cell states; weight and bias have a row for each gate."""
    forget = 1 / (1 + np.exp(-(given * weight[0] + bias[0])))
    ingate = 1 / (1 + np.exp(-(hidden * weight[1] + bias[1])))
    outgate = 1 / (1 + np.exp(-(given * weight[2] + bias[2])))
    change = np.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def step(np: Any, main: Any, extra: Any, states: Any, given: Any, wanted: Any) -> Any:
    """The states after a character, and the log likelihood of the next."""
    after, given = [], given * extra[0]
    for k, (hidden, cell) in enumerate(states):
        hidden, cell = layer(np, main[k, 0], main[k, 1], hidden, cell, given)
        after.append((hidden, cell))
        given = hidden
    guess = given * extra[1] + extra[2]
    return tuple(after), np.sum(wanted * (guess - np.log(2 + np.sum(np.exp(guess)))))


def loss(np: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The mean negative log likelihood of the next bits, by a loop of Python."""
    states, total = tuple((s[0], s[1]) for s in state), 0.0
    for k in range(len(sequence) - 1):
        states, likelihood = step(np, main, extra, states, sequence[k], sequence[k + 1])
        total = total + likelihood
    return -total / ((len(sequence) - 1) * WIDTH)


def scanned(np: Any, scan: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The same by a scan of symgrad or JAX, which have the same arguments."""
    first = tuple((state[k, 0], state[k, 1]) for k in range(LAYERS))
    _, likelihoods = scan(
        lambda states, pair: step(np, main, extra, states, *pair),
        first,
        (sequence[:-1], sequence[1:]),
    )
    return -np.mean(likelihoods) / WIDTH


def by_symgrad(np: Any, *given: Any) -> Any:
    """By its scan."""
    import symgrad as sg

    return scanned(np, sg.scan, *given)


def by_jax(np: Any, *given: Any) -> Any:
    """By its scan."""
    import jax

    return scanned(np, jax.lax.scan, *given)


def adjoint(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Value and gradient; what a step computes is kept."""
    layers, width, steps = main.shape[0], extra.shape[1], len(sequence) - 1
    # In the order of use: input, hidden and cell before, four gates, tanh of the cell after.
    tape = np.empty((steps, layers, 8, width), main.dtype)
    last, share = np.empty((steps, width), main.dtype), np.empty((steps, width), main.dtype)
    now = state.copy()
    by_main, by_extra = np.zeros_like(main), np.zeros_like(extra)
    given = np.zeros_like(extra[0])
    total = 0 * given[0]
    for n in range(steps):
        for j in range(width):
            given[j] = sequence[n, j] * extra[0, j]
        for k in range(layers):
            for j in range(width):
                x, hidden, cell = given[j], now[k, 0, j], now[k, 1, j]
                f = 1 / (1 + np.exp(-(x * main[k, 0, 0, j] + main[k, 1, 0, j])))
                i = 1 / (1 + np.exp(-(hidden * main[k, 0, 1, j] + main[k, 1, 1, j])))
                o = 1 / (1 + np.exp(-(x * main[k, 0, 2, j] + main[k, 1, 2, j])))
                c = np.tanh(hidden * main[k, 0, 3, j] + main[k, 1, 3, j])
                after = cell * f + i * c
                t = np.tanh(after)
                tape[n, k, 0, j], tape[n, k, 1, j], tape[n, k, 2, j] = x, hidden, cell
                tape[n, k, 3, j], tape[n, k, 4, j], tape[n, k, 5, j] = f, i, o
                tape[n, k, 6, j], tape[n, k, 7, j] = c, t
                now[k, 1, j] = after
                now[k, 0, j] = given[j] = o * t
        top, whole = 2 + 0 * total, 0 * total
        for j in range(width):
            last[n, j] = given[j]
            guess = given[j] * extra[1, j] + extra[2, j]
            share[n, j] = np.exp(guess)
            top += share[n, j]
            whole += sequence[n + 1, j]
            total += sequence[n + 1, j] * guess
        total -= whole * np.log(top)
        for j in range(width):
            share[n, j] = sequence[n + 1, j] - whole * share[n, j] / top
    scale = -1 / (0 * total + steps * width)
    back, carried = np.zeros_like(given), np.zeros_like(state)
    for n in range(steps - 1, -1, -1):
        for j in range(width):
            by = scale * share[n, j]
            by_extra[1, j] += by * last[n, j]
            by_extra[2, j] += by
            back[j] = by * extra[1, j]
        for k in range(layers - 1, -1, -1):
            for j in range(width):
                x, hidden, cell = tape[n, k, 0, j], tape[n, k, 1, j], tape[n, k, 2, j]
                f, i, o = tape[n, k, 3, j], tape[n, k, 4, j], tape[n, k, 5, j]
                c, t = tape[n, k, 6, j], tape[n, k, 7, j]
                by = back[j] + carried[k, 0, j]
                inner = carried[k, 1, j] + by * o * (1 - t * t)
                do, df = by * t * o * (1 - o), inner * cell * f * (1 - f)
                di, dc = inner * c * i * (1 - i), inner * i * (1 - c * c)
                carried[k, 1, j] = inner * f
                carried[k, 0, j] = di * main[k, 0, 1, j] + dc * main[k, 0, 3, j]
                back[j] = df * main[k, 0, 0, j] + do * main[k, 0, 2, j]
                by_main[k, 0, 0, j] += df * x
                by_main[k, 0, 1, j] += di * hidden
                by_main[k, 0, 2, j] += do * x
                by_main[k, 0, 3, j] += dc * hidden
                by_main[k, 1, 0, j] += df
                by_main[k, 1, 1, j] += di
                by_main[k, 1, 2, j] += do
                by_main[k, 1, 3, j] += dc
        for j in range(width):
            by_extra[0, j] += back[j] * sequence[n, j]
    return scale * total, by_main, by_extra


def arguments(case: Case) -> tuple[Any, ...]:
    """Parameters and states as ADBench draws them; the sequence has bits."""
    rng = np.random.default_rng(1)
    shapes = ((LAYERS, 2, 4, WIDTH), (3, WIDTH), (LAYERS, 2, WIDTH))
    parameters = (rng.random(shape) for shape in shapes)
    return (*parameters, rng.integers(0, 2, (case.size, WIDTH)).astype(float))


def exact(case: Case, *given: Any) -> Any:
    """The adjoint in long doubles."""
    parts = adjoint(*(a.astype(np.longdouble) for a in given))
    return np.concatenate([np.ravel(p) for p in parts])


def by_numba(case: Case, given: Any) -> Any:
    """The adjoint, compiled."""
    import numba

    return numba.njit(adjoint, error_model="numpy"), given


def by_c(case: Case, given: Any) -> Any:
    """The adjoint in C."""
    import ctypes

    function = compiled(SOURCE, "lstm")
    slopes = np.empty_like(given[0]), np.empty_like(given[1])
    fixed = (*map(pointer, given), ctypes.c_long(case.size), *map(pointer, slopes))
    return (lambda: (function(*fixed), *slopes)), ()


WORKLOAD = Workload(
    name="lstm",
    title="ADBench's LSTM, two layers (characters), value and gradient",
    kind="gradient",
    cases=(Case(64, quick=True), Case(1024), Case(4096)),
    arguments=arguments,
    exact=exact,
    function=loss,
    formulations={"symgrad": by_symgrad, "jax": by_jax},
    argnums=(0, 1),
    hand={"numba": by_numba, "C": by_c},
    aims=(Aim("1,024", ("numba",), 1 / 1.5), Aim("1,024", ("jax",), 1.0)),
)

if __name__ == "__main__":
    sys.exit(main(name="lstm"))

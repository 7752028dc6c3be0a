"""Linear regression with eager tensors: the backward pass becomes a kernel on the way.

The first steps run node by node under NumPy. Once the same graph has come back a few times,
symgrad compiles its backward pass; run with SYMGRAD_LOG=1 to see when.
"""

import time

import numpy as np

import symgrad.torch as torch

STEPS, REPORT = 600, 100

rng = np.random.default_rng(0)
features = rng.normal(size=(200, 5))
true_weights, true_offset = np.array([1.5, -2.0, 0.5, 0.0, 3.0]), 0.7
targets = features @ true_weights + true_offset + 0.1 * rng.normal(size=200)

x, y = torch.tensor(features), torch.tensor(targets)
weights = torch.zeros(5, requires_grad=True)
offset = torch.tensor(0.0, requires_grad=True)


def step():
    """Do one step of gradient descent and return the loss."""
    loss = ((x @ weights + offset - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for parameter in (weights, offset):
            parameter -= 0.05 * parameter.grad
            parameter.grad = None
    return loss.item()


print(f"{'step':>6}{'loss':>12}{'µs a step':>12}")
times = []
for k in range(STEPS):
    start = time.perf_counter()
    loss = step()
    times.append(time.perf_counter() - start)
    if k in (0, 4) or (k + 1) % REPORT == 0:
        recent = np.median(times[-50:]) if k > 50 else np.median(times)
        print(f"{k + 1:6}{loss:12.6f}{recent * 1e6:12.0f}")

# Gradient descent ends where the normal equations do.
design = np.column_stack([features, np.ones(200)])
exact, *_ = np.linalg.lstsq(design, targets, rcond=None)
np.testing.assert_allclose([*weights.tolist(), offset.item()], exact, rtol=1e-6, atol=1e-8)
print("weights", np.round(weights.detach().numpy(), 3), "offset", round(offset.item(), 3))
print("the same as by the normal equations, to 6 digits")

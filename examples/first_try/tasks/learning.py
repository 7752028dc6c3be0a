"""Machine learning by hand."""

import numpy as np
from task import Task

np.random.seed(0)

# ---------------------------------------------------------------- multilayer perceptron

X = np.random.randn(32, 4)
labels = np.random.randint(0, 3, 32)


def relu(z):
    return np.maximum(0, z)


def init(sizes):
    return [(np.random.randn(m, n) * 0.5, np.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]


class Network:
    def __init__(self, activation, l2=0.0):
        self.activation = activation
        self.l2 = l2
        self.history = []

    def forward(self, params, x):
        for W, b in params[:-1]:
            x = self.activation(x @ W + b)
        W, b = params[-1]
        return x @ W + b

    def loss(self, params, x, y):
        scores = self.forward(params, x)
        scores = scores - scores.max(axis=1, keepdims=True)
        logp = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value = -logp[np.arange(len(y)), y].mean()
        return value + self.l2 * sum((W**2).sum() for W, _ in params)


net = Network(relu)


def tanh_and_decay():
    net.activation = np.tanh
    net.l2 = 0.01


# ---------------------------------------------------------------- recurrent network

vocabulary = {ch: i for i, ch in enumerate("helo ")}
text = "hello hello"


def one_hot(i):
    v = np.zeros((len(vocabulary), 1))
    v[i] = 1
    return v


def rnn_loss(params):
    h = np.zeros((6, 1))
    loss = 0
    for a, b in zip(text[:-1], text[1:]):
        h = np.tanh(np.dot(params["Wxh"], one_hot(vocabulary[a])) + np.dot(params["Whh"], h))
        y = np.dot(params["Why"], h) + params["by"]
        p = np.exp(y) / np.sum(np.exp(y))
        loss += -np.log(p[vocabulary[b], 0])
    return loss


def rnn_params():
    r = np.random.RandomState(1)
    n = len(vocabulary)
    return (
        {
            "Wxh": r.randn(6, n) * 0.3,
            "Whh": r.randn(6, 6) * 0.3,
            "Why": r.randn(n, 6) * 0.3,
            "by": np.zeros((n, 1)),
        },
    )


def other_text():
    global text
    text = "hole hello"


# ---------------------------------------------------------------- attention


def attention(x, Wq, Wk, Wv, heads=2, causal=True):
    T, d = x.shape
    q, k, v = [(x @ W).reshape(T, heads, -1).transpose(1, 0, 2) for W in (Wq, Wk, Wv)]
    scores = np.einsum("htd,hsd->hts", q, k) / np.sqrt(d / heads)
    if causal:
        mask = np.triu(np.ones((T, T)), k=1).astype(bool)
        scores[:, mask] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = np.einsum("hts,hsd->htd", weights, v)
    return np.mean(out.transpose(1, 0, 2).reshape(T, d) ** 2)


def attention_args():
    r = np.random.default_rng(2)
    return r.normal(size=(5, 4)), *(r.normal(size=(4, 4)) for _ in range(3))


# ---------------------------------------------------------------- recommender

ratings = [(0, 0, 5), (0, 2, 3), (1, 0, 4), (1, 1, 1), (2, 1, 2), (2, 2, 5), (3, 0, 1)]


def factorization(users, items, bias):
    err = 0
    for u, i, r in ratings:
        err += (r - bias - users[u] @ items[i]) ** 2
    return err / len(ratings) + 0.1 * (np.linalg.norm(users) ** 2 + np.linalg.norm(items) ** 2)


def factors():
    r = np.random.default_rng(4)
    return r.normal(size=(4, 2)), r.normal(size=(3, 2)), 3


# ---------------------------------------------------------------- clustering, soft

centers_seen = []


def soft_kmeans(centers, temperature=0.5):
    centers_seen.append(len(centers))
    d = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(-1)
    return -temperature * np.log(np.exp(-d / temperature).sum(axis=1)).mean()


def tsne_loss(Y, P):
    n = Y.shape[0]
    sum_Y = np.sum(np.square(Y), 1)
    num = 1.0 / (1.0 + np.add(np.add(-2.0 * np.dot(Y, Y.T), sum_Y).T, sum_Y))
    num[range(n), range(n)] = 0.0
    Q = np.maximum(num / np.sum(num), 1e-12)
    return np.sum(P * np.log(np.maximum(P, 1e-12) / Q))


def tsne_args():
    r = np.random.default_rng(9)
    P = r.random((8, 8))
    P = P + P.T
    np.fill_diagonal(P, 0)
    return r.normal(size=(8, 2)), P / P.sum()


TASKS = [
    Task(net.loss, lambda: (init([4, 8, 3]), X, labels), tanh_and_decay),
    Task(rnn_loss, rnn_params, other_text),
    Task(attention, attention_args, argnums=(1, 2, 3)),
    Task(factorization, factors, lambda: ratings.append((3, 2, 4)), argnums=(0, 1, 2)),
    Task(soft_kmeans, lambda: (X[:3] + 0.1,)),
    Task(tsne_loss, tsne_args),
]

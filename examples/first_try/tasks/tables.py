"""Data in pandas' tables."""

import numpy as np
import pandas as pd
from scipy import stats
from task import Task

df = pd.DataFrame(
    {
        "dose": [0.1, 0.3, 1, 3, 10, 30, 100],
        "response": [2.0, 3.1, 8.5, 22, 55, 78, 91],
        "sd": [1, 1, 1.5, 2, 3, 3, 3],
        "site": ["A", "A", "B", "B", "A", "B", "A"],
    }
)


def hill(p):
    top, ec50, n = p
    predicted = top * df["dose"].values ** n / (ec50**n + df["dose"].values ** n)
    return (((df["response"] - predicted) / df["sd"]) ** 2).sum()


def hill_rows(p):
    total = 0
    for row in df.itertuples():
        predicted = p[0] / (1 + (p[1] / row.dose) ** p[2])
        total -= stats.norm.logpdf(row.response, predicted, row.sd)
    return total


def site_effects(params):
    means = df["site"].map({"A": 0, "B": 1}).to_numpy()
    mu = np.array([params["A"], params["B"]])[means] + params["slope"] * np.log(df.dose.to_numpy())
    return np.sum((df.response.to_numpy() - mu) ** 2) / len(df)


def correct_table():
    df.loc[2, "response"] = 10.5


sales = pd.DataFrame(
    {
        "price": [10.0, 9, 8, 11, 12, 9.5],
        "ads": [1.0, 2, 1, 3, 2, 2],
        "units": [100, 131, 140, 105, 84, 121],
    }
)


class DemandModel:
    features = ["price", "ads"]

    def __init__(self, data):
        self.X = data[self.features].to_numpy()
        self.y = np.log(data["units"])
        self.mean, self.std = self.X.mean(0), self.X.std(0)

    def loss(self, w):
        X = (self.X - self.mean) / self.std
        yhat = w[0] + X @ w[1:]
        return np.mean((self.y.values - yhat) ** 2)


demand = DemandModel(sales)


def new_features():
    demand.__init__(sales[:4])


def elasticity(weights):
    """Fit of weights that come as a Series."""
    return np.sum(
        (np.log(sales.units.values) - weights["c"] - weights["e"] * np.log(sales.price.values)) ** 2
    )


TASKS = [
    Task(hill, lambda: ([95, 7, 1],), correct_table, hessian=True),
    Task(hill_rows, lambda: (np.array([95.0, 7, 1]),), correct_table),
    Task(site_effects, lambda: ({"A": 20, "B": 15, "slope": 10},), correct_table),
    Task(demand.loss, lambda: (np.zeros(3),), new_features),
    Task(elasticity, lambda: (pd.Series({"c": 7.0, "e": -1.2}),)),
]

"""GradBench's protocol: messages and answers, one line of JSON each.

A *tool* reads messages on its standard input and answers each before it reads the next:

    {"id": 0, "kind": "start", "eval": "hello"}        {"id": 0, "tool": "symgrad"}
    {"id": 1, "kind": "define", "module": "hello"}     {"id": 1, "success": true}
    {"id": 2, "kind": "evaluate", "module": "hello",   {"id": 2, "success": true, "output": 4.0,
     "function": "double", "input": 2.0}                "timings": [{"name": "evaluate", ...}]}
    {"id": 3, "kind": "analysis", "of": 2, ...}        {"id": 3}

An input may ask for repetitions: ``min_runs`` of them, during ``min_seconds`` at least.
"""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

#: The problems: a module each, with its functions in a table ``FUNCTIONS``.
MODULES = (
    "hello",
    "llsq",
    "lse",
    "ode",
    "det",
    "gmm",
    "ba",
    "lstm",
    "ht",
    "kmeans",
    "particle",
    "saddle",
)


def plain(result: Any) -> Any:
    """Return arrays, numbers and what holds them as JSON knows them."""
    if isinstance(result, dict):
        return {name: plain(part) for name, part in result.items()}
    return np.asarray(result).tolist()


@dataclass(frozen=True)
class Function:
    """A function of a problem.

    Attributes
    ----------
    read:
        Makes the arguments from the message's input.
    compute:
        What is timed.
    write:
        Makes the message's output from the result.
    """

    read: Callable[[Any], tuple[Any, ...]]
    compute: Callable[..., Any]
    write: Callable[[Any], Any] = plain


def evaluate(function: Function, given: Any) -> dict[str, Any]:
    """Run a function as often as its input asks for.

    The first call, in which symgrad compiles for the kinds of the arguments, counts with the
    reading of the input as ``prepare``.
    """
    runs, seconds = 1, 0.0
    if isinstance(given, dict):
        runs, seconds = given.get("min_runs", 1), given.get("min_seconds", 0.0)
    begin = time.perf_counter_ns()
    arguments = function.read(given)
    result = function.compute(*arguments)
    timings = [{"name": "prepare", "nanoseconds": time.perf_counter_ns() - begin}]
    spent = 0
    while len(timings) <= runs or spent < seconds * 1e9:
        begin = time.perf_counter_ns()
        result = function.compute(*arguments)
        each = time.perf_counter_ns() - begin
        timings.append({"name": "evaluate", "nanoseconds": each})
        spent += each
    return {"success": True, "output": function.write(result), "timings": timings}


def find(module: str) -> dict[str, Function]:
    """Return the functions of a problem."""
    if module not in MODULES:
        raise KeyError(f"no problem {module!r}; there are {', '.join(MODULES)}")
    functions: dict[str, Function] = importlib.import_module(module).FUNCTIONS
    return functions


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Return what a message is answered with, apart from its id."""
    kind = message["kind"]
    if kind == "start":
        return {"tool": "symgrad"}
    try:
        if kind == "define":
            find(message["module"])
            return {"success": True}
        if kind == "evaluate":
            functions, name = find(message["module"]), message["function"]
            if name not in functions:
                raise KeyError(f"no function {name!r}; there are {', '.join(functions)}")
            return evaluate(functions[name], message["input"])
    except Exception:  # noqa: BLE001 - whatever goes wrong is an answer
        return {"success": False, "error": traceback.format_exc()}
    return {}  # an analysis of an earlier answer, or a kind that needs none


def serve(messages: TextIO, answers: TextIO) -> None:
    """Answer messages until they end."""
    for line in messages:
        message = json.loads(line)
        answers.write(json.dumps({"id": message["id"], **answer(message)}) + "\n")
        answers.flush()
        if message["kind"] == "end":
            return

"""The first gate: which characters and words a formula may consist of.

It bounds length and nesting before Python's parser sees the text, and answers the common
slips (``x^2``, ``2x``, ``sin x``) in words.
"""

from __future__ import annotations

import keyword
import re
from typing import NoReturn

from ..errors import ParseError

MAX_LENGTH = 10_000
MAX_DEPTH = 100
MAX_DIGITS = 300  # of an integer: it must have a double value

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<refused>//|[<>]{2}|:=|->)"
    r"|(?P<operator>\*\*|<=|>=|==|!=|[-+*/<>&|~,])"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
)

_ADVICE = {
    "^": "write ** for a power",
    "[": "subscripts and lists are refused in a formula; write parentheses ()",
    "]": "subscripts and lists are refused in a formula; write parentheses ()",
    "{": "braces are refused in a formula; write parentheses ()",
    "}": "braces are refused in a formula; write parentheses ()",
    ".": "attributes are refused in a formula",
    "=": "assignments and keyword arguments are refused in a formula; == compares",
    '"': "strings are refused in a formula",
    "'": "strings are refused in a formula",
    "!": "write gamma(n + 1) for a factorial",
    "%": "the remainder is refused in a formula; write x - y*floor(x/y)",
    "//": "write floor(x/y) for integer division",
    ":": "':' is refused in a formula",
    ";": "a formula is one expression",
    "#": "comments are refused in a formula",
    "@": "matrix products are refused in a formula",
    "−": "this minus sign is not ASCII; write -",
    "–": "this dash is not ASCII; write -",
    "×": "write * for a product",
    "·": "write * for a product",
    "⋅": "write * for a product",
    "÷": "write / for a quotient",
    "√": "write sqrt(x)",
    "π": "write pi",
    "∞": "infinity is refused in a formula",
}

_WORDS = {
    "and": "write & between conditions, each in parentheses",
    "or": "write | between conditions, each in parentheses",
    "not": "write ~ before a condition in parentheses",
    "if": "write where(condition, a, b)",
    "else": "write where(condition, a, b)",
    "lambda": "'lambda' is a word of Python; choose another name, such as lam",
}


def scan(text: str) -> None:
    """Refuse text that cannot be a formula.

    Raises
    ------
    ParseError
        At the first character, word, number or nesting that is refused.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(
            f"the formula has {len(text)} characters, more than the {MAX_LENGTH} allowed"
        )
    position, depth = 0, 0
    before = ""  # what the token before could end: "", "number", "name", "close"
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            _refuse_character(text, position)
        kind, token = match.lastgroup, match.group()
        if kind == "refused":
            raise ParseError(
                _ADVICE.get(token, f"{token!r} is refused in a formula"),
                text=text,
                position=position,
            )
        if kind == "number":
            _check_number(text, position, token)
        elif kind == "name":
            _check_name(text, position, token)
        elif kind == "open":
            depth += 1
            if depth > MAX_DEPTH:
                raise ParseError(
                    f"more than {MAX_DEPTH} nested parentheses", text=text, position=position
                )
        elif kind == "close":
            depth -= 1
        starts = kind in ("number", "name", "open")
        if starts and before and not (kind == "open" and before == "name"):
            raise ParseError(
                "an operator is missing here; write * for a product, f(x) for a function",
                text=text,
                position=position,
            )
        if kind != "space":
            before = kind if kind in ("number", "name", "close") else ""
        position = match.end()


def _refuse_character(text: str, position: int) -> NoReturn:
    character = text[position]
    advice = _ADVICE.get(character, f"the character {character!a} is refused in a formula")
    raise ParseError(advice, text=text, position=position)


def _check_number(text: str, position: int, token: str) -> None:
    if token.isdigit():
        if len(token) > MAX_DIGITS:
            raise ParseError(
                f"an integer of {len(token)} digits, more than the {MAX_DIGITS} allowed",
                text=text,
                position=position,
            )
    elif float(token) == float("inf"):
        raise ParseError(
            "this number is larger than any double, 1.8e308", text=text, position=position
        )


_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", range(10), strict=True))


def _check_name(text: str, position: int, token: str) -> None:
    if token in _ADVICE:
        raise ParseError(_ADVICE[token], text=text, position=position)
    if not token.isidentifier():
        for place, character in enumerate(token):
            power = _RAISED.get(character)
            if power is not None:
                raise ParseError(f"write **{power}", text=text, position=position + place)
        raise ParseError(f"{token!a} is no name", text=text, position=position)
    if keyword.iskeyword(token) and token not in ("True", "False"):
        advice = _WORDS.get(token, f"{token!r} is a word of Python, not a name")
        raise ParseError(advice, text=text, position=position)

"""The values of attributes: strings, integers, doubles, booleans, and what is refused among them.

Numbers are one type and compare exactly across int and float, as Python compares them; strings, numbers and booleans
never equal each other. Every other module asks here whether a value or a name is allowed.
"""

import math
from typing import TypeAlias

from interest.errors import InterestError

Value: TypeAlias = str | int | float | bool

MAX_ATTRIBUTES = 64  # of one publication, or constrained in one conjunct
MAX_NAME_BYTES = 255  # an attribute's name, in UTF-8
MAX_STRING_BYTES = 4096  # a string value, in UTF-8

LAYER = "layer"  # the reserved attribute: always a string

_EXACT = 2**63  # integers within ±this travel as 64 bits


def check_name(name: str) -> str:
    """Return an attribute's name; InterestError for one that is empty, too long or not text."""
    if not isinstance(name, str) or not name:
        raise InterestError(f"an attribute needs a name that is a non-empty string, not {name!r}")
    _check_text(name, MAX_NAME_BYTES, "an attribute's name")
    return name


def check_value(value: Value) -> Value:
    """Return a publication's attribute value; InterestError for a type or a value that no attribute can have."""
    if isinstance(value, str):
        _check_text(value, MAX_STRING_BYTES, "an attribute's value")
    elif not isinstance(value, bool | int | float):
        raise InterestError(f"an attribute's value is a str, int, float or bool, not {value!r}")
    elif value != value:
        raise InterestError("NaN is not a value: it equals nothing, so leave the attribute out")
    return value


def check_operand(value: Value) -> Value:
    """The one spelling of a value that a constraint compares with; InterestError for what cannot be compared with.

    A float that is a 64-bit integer becomes that integer, a larger integer the float equal to it.
    """
    check_value(value)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InterestError("a constraint cannot compare with infinity: leave that bound out")
        return int(value) if value.is_integer() and -_EXACT <= value < _EXACT else float(value)
    if -_EXACT <= value < _EXACT:
        return int(value)
    if abs(value) >= 2**1024 or float(value) != value:
        raise InterestError(f"the integer {str(value)[:40]} does not fit 64 bits, nor is a double equal to it")
    return float(value)


def _check_text(text: str, limit: int, what: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InterestError(f"{what} is not valid Unicode text (a lone surrogate): {text[:40]!r}") from None
    if size > limit:
        raise InterestError(f"{what} has {size} bytes, at most {limit} are allowed: {text[:40]!r}...")

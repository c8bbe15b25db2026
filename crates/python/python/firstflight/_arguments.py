"""Arguments of the functions, as the compiled module takes them."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, TypeAlias

from . import _firstflight as native
from ._error import Error

Quantity: TypeAlias = "str | SupportsFloat"
"""A text with its unit, such as ``"40 Mbit/s"``; or a number, also a scalar of numpy: bit/s, seconds or bytes."""


def wrong(keyword: str, value: Any, expected: str) -> Error:
    """The error of an argument of another type."""
    return Error(f"{keyword}: a value of type {type(value).__name__}; expected {expected}")


def quantity(keyword: str, value: Quantity | None, measure: str) -> str | None:
    """The text of a quantity. ``measure`` is rate (bit/s), time (seconds), size (bytes) or share (0 to 1)."""
    return None if value is None else native.quantity(keyword, value, measure)


def sizes(value: Quantity | Iterable[Quantity] | None) -> list[str] | None:
    """The texts of one or several sizes."""
    values = listed(value)
    return None if values is None else [native.quantity("sizes", size, "size") for size in values]


def depth(value: str | None) -> str | None:
    """The text of a buffer. A number is refused: it could be packets or bytes."""
    return None if value is None else word("buffer", value, 'a text such as "500 packets", "250 KB" or "1 BDP"')


def whole(keyword: str, value: Any, most: int) -> int:
    """A whole number from 0 to ``most``, also a scalar of numpy."""
    expected = f"a whole number from 0 to {most}"
    if isinstance(value, bool):
        raise wrong(keyword, value, expected)
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(keyword, value, expected) from None
    if not 0 <= number <= most:
        raise Error(f"{keyword} = {number}: out of range; expected {expected}")
    return number


def replications(value: Any) -> int:
    """A number of replications; the compiled module has its limit."""
    return whole("replications", value, 2**32 - 1)


def count(keyword: str, value: Any) -> int:
    """A number of things, one at least."""
    number = whole(keyword, value, 2**32 - 1)
    if number == 0:
        raise Error(f"{keyword} = 0: out of range; expected a whole number from 1 to {2**32 - 1}")
    return number


def seed(value: Any) -> int:
    """A seed."""
    return whole("seed", value, 2**63 - 1)


def ratio(keyword: str, value: float | None) -> float | None:
    """A number without unit."""
    if value is None:
        return None
    expected = "a number such as 1.1"
    if isinstance(value, (bool, str)):
        raise wrong(keyword, value, expected)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong(keyword, value, expected) from None


def flag(keyword: str, value: Any) -> bool:
    """True or False, also of numpy."""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return bool(value)
    raise wrong(keyword, value, "True or False")


def word(keyword: str, value: Any, expected: str = "a text") -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(keyword, value, expected)
    return value


Factors: TypeAlias = "list[tuple[list[str], list[list[Any]]]]"
"""Keys that vary together, and the values of all of them at each point."""


def factors(mapping: Mapping[Any, Any]) -> Factors:
    """The factors of a sweep. A key that is a tuple has tuples of values: the keys vary together."""
    if not isinstance(mapping, Mapping):
        raise wrong("factors", mapping, 'a mapping such as {"path.rate": ["10 Mbit/s", "20 Mbit/s"]}')
    every: Factors = []
    for key, values in mapping.items():
        together = isinstance(key, tuple)
        keys = [word("factors", one, "a text as the name of a key") for one in (key if together else (key,))]
        name = ", ".join(keys)
        if not keys or len(set(keys)) < len(keys):
            raise Error(f"factors: {key!r}; expected a key, or a tuple of different keys")
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            raise wrong(name, values, "a list of values")
        points = [list(value) if together and isinstance(value, (tuple, list)) else [value] for value in values]
        for point in points:
            if len(point) != len(keys):
                raise Error(f"{name}: {len(point)} values at a point; expected {len(keys)}, one for each key")
        every.append((keys, points))
    return every


def listed(values: Any) -> list[Any] | None:
    """A list from one value or from several."""
    if values is None:
        return None
    if isinstance(values, (str, os.PathLike)) or not isinstance(values, Iterable):
        return [values]
    # An array of numpy without dimensions is one value.
    return [values] if getattr(values, "shape", None) == () else list(values)


def paths(keyword: str, values: Any) -> list[str | os.PathLike[str]]:
    """Paths of one or several files."""
    every = listed(values) or []
    for value in every:
        if not isinstance(value, (str, os.PathLike)):
            raise wrong(keyword, value, "a path, or a list of paths")
    return every


def file(keyword: str, value: Any) -> str | os.PathLike[str] | None:
    """The path of a file, or None."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return value
    raise wrong(keyword, value, "a path")

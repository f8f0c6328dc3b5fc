"""Call a function in several threads at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")


def in_threads(function: Callable[[Value], Result], values: Iterable[Value]) -> list[Result]:
    """Call a function with each value, each in a thread; return the results in the order of the values."""
    given = list(values)
    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(function, given))

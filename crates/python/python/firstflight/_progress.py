"""Progress of long work, in a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

ProgressCallback = Callable[[str, int, int], object]
"""Called some 20 times a second with the name of the present part of the work, the steps done and their number (0: unknown)."""

_QUIET_S = 2.0
"""Work that is shorter shows nothing."""


def _text(what: str, done: int, total: int, elapsed: float) -> str:
    if total <= 0:
        return f"{what}: {done}, {elapsed:.0f} s"
    left = f", {elapsed * (total - done) / done:.0f} s left" if done else ""
    return f"{what}: {done} of {total} ({done / total:.0%}){left}"


class _Shown:
    """Shows the progress once the work has lasted two seconds."""

    def __init__(self) -> None:
        self._start = self._part_start = time.monotonic()
        self._what = ""
        self._last = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._part_start = what, now
        if now - self._start < _QUIET_S or now - self._last < 0.2:
            return
        self._last = now
        self.show(what, done, total, _text(what, done, total, now - self._part_start))

    def show(self, what: str, done: int, total: int, text: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Removes what was shown."""


class _Terminal(_Shown):
    _width = 0

    def show(self, what: str, done: int, total: int, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class _Notebook(_Shown):
    _handle: Any = None

    def show(self, what: str, done: int, total: int, text: str) -> None:
        from IPython.display import HTML, display  # pyright: ignore

        bar = f'<progress max="{total}" value="{done}"></progress> ' if total else ""
        shown: Any = HTML(bar + html.escape(text))
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self) -> None:
        if self._handle is not None:
            from IPython.display import HTML  # pyright: ignore

            self._handle.update(HTML(""))


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextlib.contextmanager
def shown(progress: bool | ProgressCallback | None) -> Iterator[ProgressCallback | None]:
    """The callback of a call: the user's own, a bar in a terminal or notebook, or none."""
    if progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif _in_notebook():
        with contextlib.closing(_Notebook()) as bar:
            yield bar
    elif progress is True or sys.stderr.isatty():
        with contextlib.closing(_Terminal()) as bar:
            yield bar
    else:
        yield None

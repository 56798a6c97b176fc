"""A token bucket: how often something may still be done, refilled with time, a second's worth deep.

Used for a host's publications (`endpoint`) and for answers to strangers (`sessions`).
"""

from __future__ import annotations

import attrs


@attrs.define
class Bucket:
    """`rate` a second; full at the beginning."""

    rate: float
    _at: float
    _left: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._left = self.rate

    def take(self, now: float) -> bool:
        self._left = min(self.rate, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

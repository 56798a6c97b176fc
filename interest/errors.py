"""The two errors of this package: what a user got wrong, and what arrived broken.

Everything in `interest` that reads values from people raises `InterestError`; everything that reads bytes raises
`DecodeError`, whose `reason` is counted by whoever drops the datagram.
"""


class InterestError(ValueError):
    """A value that cannot be meant: the message is one line that names the value and the remedy."""


class DecodeError(ValueError):
    """Bytes that do not decode.

    Parameters: `reason`, a short snake_case name under which the drop is counted; `message`, one line for people.
    """

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(reason, message)
        self.reason = reason

    def __str__(self) -> str:
        _, message = self.args
        return f"{self.reason}: {message}" if message else self.reason

"""The errors of this package: each is what Python calls such a thing, and a `CorralError`."""

from __future__ import annotations

__all__ = ["CorralError"]


class CorralError(Exception):
    """What every error of this package is, beside a `ValueError`, `TypeError`, `RuntimeError` or `OSError`.

    >>> import corral
    >>> try:
    ...     corral.Band(["LinUCB"], actions=2, features=3)
    ... except corral.CorralError as error:
    ...     print(error)
    unknown base "LinUCB"; did you mean "linucb"?
    """


class InvalidValue(CorralError, ValueError):
    """A value, a name, a decision, a file or a spec that cannot be used."""


class ActionsLeftOut(InvalidValue):
    """A round that offers some of the actions, and a base that must see all of them."""


class InvalidType(CorralError, TypeError):
    """Of another type than is needed."""


class CannotGoOn(CorralError, RuntimeError):
    """No base is left, a step that cannot be solved, a band that is called from inside one of its bases."""


class FileFailed(CorralError, OSError):
    """A file that cannot be read or written."""


class FileMissing(CorralError, FileNotFoundError):
    """A file that is not there."""

"""The exception of the package."""


class Error(ValueError):
    """Bad input, in one line: what is wrong, where, what is expected, and the nearest valid name.

    The message is the one that the command ``firstflight`` prints for the same input.
    """


Error.__module__ = "firstflight"

"""The one error of the content checks."""


class BadContent(ValueError):
    """A file is not what its name says; the message completes a sentence about it: "the content is not png"."""

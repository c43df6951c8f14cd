"""The one error of the content checks."""


class BadContent(ValueError):
    """A file's content does not match its name; the message completes a sentence about it: "the content is not png"."""

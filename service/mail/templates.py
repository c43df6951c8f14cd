"""Our own layouts as templates. Texts of projects and people are never templates: they are put into them as text."""

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

# The package of the mails' layouts, and of those that pages share with them.
SHARED = "service.mail"


def read_layouts(package: str = SHARED) -> Environment:
    """The layouts of a package, which may include those of mails."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(each, "layouts") for each in dict.fromkeys((package, SHARED))]),
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""The words that the console's log of changes has for the audited actions."""

import re
from pathlib import Path

import service
from service.domain.audit.actions import Action
from service.web.routes import ROUTES

WORDS = Path(service.__file__).parent / "web/console/static/parts/actions-words.js"


def test_each_audited_action_has_its_words_in_the_console() -> None:
    """A new action gets its line in parts/actions-words.js."""
    assert sorted(re.findall(r'"([a-z_.]+)": "', WORDS.read_text())) == sorted(Action)


def test_each_operation_on_data_that_is_noted_has_its_words() -> None:
    noted = {route.operation.id for route in ROUTES if route.operator is not None and route.operator.is_noted}
    assert sorted(re.findall(r'\b([a-z]+(?:[A-Z][a-z]+)+): "', WORDS.read_text())) == sorted(noted)

"""The words that the console's log of changes has for the audited actions."""

import re
from pathlib import Path

import service
from service.domain.audit.actions import Action

WORDS = Path(service.__file__).parent / "web/console/static/parts/actions-words.js"


def test_each_audited_action_has_its_words_in_the_console() -> None:
    """A new action gets its line in parts/actions-words.js."""
    assert sorted(re.findall(r'"([a-z_.]+)": "', WORDS.read_text())) == sorted(Action)

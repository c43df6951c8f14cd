"""Signer keys of Firebase come along: without them the imported users of a restored project could not log in."""

from datetime import datetime

from service.domain.portable.project_text import read_project, write_project
from service.domain.portable.restored_project import make_copy, make_project
from service.domain.projects.lookup import place_of_signer
from service.domain.projects.secrets import SecretBox

BOX, ANOTHER = SecretBox(b"k" * 32), SecretBox(b"x" * 32)
RECORD = {
    "_id": "shop",
    "name": "Shop",
    "created_at": datetime(2026, 1, 31),  # noqa: DTZ001 - as MongoDB gives it
    "settings": {},
    "signer_keys": {"fb_1": BOX.seal("c2lnbmVy", place_of_signer("shop", "fb_1"))},
}


def test_b37_signer_keys_are_in_a_backup_and_in_each_copy() -> None:
    text = read_project(write_project(RECORD, []))
    restored = make_project(text, BOX, is_ours=True, with_keys=True).record
    copied = make_copy(text, BOX, "copy", name=None, with_secrets=False).record
    assert BOX.open(restored["signer_keys"]["fb_1"], place_of_signer("shop", "fb_1")) == "c2lnbmVy"
    assert BOX.open(copied["signer_keys"]["fb_1"], place_of_signer("copy", "fb_1")) == "c2lnbmVy"
    assert "signer_keys" not in make_project(text, ANOTHER, is_ours=False, with_keys=True).record

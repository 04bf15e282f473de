# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Packs devsnowflake for pip (PEP 517), so that it needs nothing from elsewhere.

The same files always make the same wheel.
"""

import base64
import hashlib
import io
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (HERE / "devsnowflake/__init__.py").read_text(), re.M
).group(1)
NAME = f"devsnowflake-{VERSION}"

METADATA = f"""\
Metadata-Version: 2.1
Name: devsnowflake
Version: {VERSION}
Summary: Unique, time-sortable 64-bit ids from /dev/snowflake
License: GPL-2.0-only OR MIT
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: devsnowflake
Root-Is-Purelib: true
Tag: py3-none-any
"""


def _package():
    """Names and contents of the package's files."""
    for path in sorted((HERE / "devsnowflake").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"devsnowflake/{path.name}", path.read_bytes()


def _record(files):
    """What pip checks the files by, and uninstalls by."""
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        lines.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}\n")
    return "".join(lines).encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{NAME}.dist-info"
    files = dict(_package())
    files[f"{info}/METADATA"] = METADATA.encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    files[f"{info}/RECORD"] = _record(files) + f"{info}/RECORD,,\n".encode()
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, wheel), "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    files = dict(_package())
    files["PKG-INFO"] = METADATA.encode()
    for name in "README.md", "build_backend.py", "pyproject.toml":
        files[name] = (HERE / name).read_bytes()
    sdist = f"{NAME}.tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory, sdist), "w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{NAME}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return sdist

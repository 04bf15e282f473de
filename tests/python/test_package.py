# SPDX-License-Identifier: GPL-2.0-only OR MIT

import ast
import base64
import errno
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile

import pytest

import devsnowflake
from devsnowflake import Snowflake, SnowflakeError

TOP = pathlib.Path(__file__).resolve().parents[2]
PYTHON = TOP / "userspace/python"


def test_one_release():
    module = (TOP / "kmod/main.c").read_text()
    version = re.search(r'^MODULE_VERSION\("(.*)"\);$', module, re.M).group(1)
    assert devsnowflake.__version__ == version


def test_it_is_the_installed_one():
    assert not pathlib.Path(devsnowflake.__file__).is_relative_to(TOP)


def build(hook, folder):
    spec = importlib.util.spec_from_file_location("b", PYTHON / "build_backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return folder / getattr(backend, hook)(str(folder))


def test_wheel(tmp_path):
    with zipfile.ZipFile(build("build_wheel", tmp_path)) as wheel:
        names = wheel.namelist()
        record = next(name for name in names if name.endswith("/RECORD"))
        lines = dict(
            line.split(",", 1) for line in wheel.read(record).decode().splitlines()
        )
        assert sorted(lines) == sorted(names)
        for name in set(names) - {record}:
            digest = hashlib.sha256(wheel.read(name)).digest()
            text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert lines[name] == f"sha256={text},{len(wheel.read(name))}"
            assert stat.S_IMODE(wheel.getinfo(name).external_attr >> 16) == 0o644
    package = {name for name in names if name.startswith("devsnowflake/")}
    source = (PYTHON / "devsnowflake").iterdir()
    assert package == {
        f"devsnowflake/{path.name}" for path in source if path.is_file()
    }
    assert "devsnowflake/py.typed" in package


def test_wheel_is_reproducible(tmp_path):
    one = build("build_wheel", tmp_path).read_bytes()
    other = build("build_wheel", tmp_path).read_bytes()
    assert one == other


def test_sdist_makes_the_same_wheel(tmp_path):
    with tarfile.open(build("build_sdist", tmp_path)) as sdist:
        sdist.extractall(tmp_path)
    folder = next(path for path in tmp_path.iterdir() if path.is_dir())
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-index", "."]
    subprocess.run(pip, cwd=folder, check=True)
    wheel = next(folder.glob("*.whl")).read_bytes()
    assert wheel == build("build_wheel", tmp_path).read_bytes()


def load(library):
    return subprocess.run(
        [sys.executable, "-c", "import devsnowflake"],
        env={**os.environ, "DEVSNOWFLAKE_LIBRARY": library},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("library", ["/nonexistent/libsnowflake.so.0", "libc.so.6"])
def test_no_library(library):
    """Also not one that lacks functions; it says what to do."""
    process = load(library)
    assert process.returncode == 1
    last = process.stderr.splitlines()[-1]
    assert last.startswith("ImportError: devsnowflake needs the library")
    assert library in last and "make install-userspace" in last


def test_no_device(tmp_path):
    path = tmp_path / "snowflake"
    with pytest.raises(SnowflakeError) as caught:
        Snowflake(path)
    error = caught.value
    assert error.errno == errno.ENOENT and error.filename == str(path)
    assert "modprobe" in error.strerror
    path.write_bytes(bytes(8))
    with pytest.raises(SnowflakeError) as caught:
        Snowflake(path)
    assert caught.value.errno == errno.ENOTTY


@pytest.mark.parametrize("name", ["local:", "local:x", "local:-1", "local:1024"])
def test_no_local_engine(name, tmp_path):
    with pytest.raises(SnowflakeError):
        Snowflake(f"{name},dir={tmp_path}")
    assert not list(tmp_path.iterdir())


def test_all_that_it_shows_is_documented():
    for name in devsnowflake.__all__:
        shown = getattr(devsnowflake, name)
        assert shown.__doc__ and "Parameters" not in shown.__doc__
        for member, value in vars(shown).items() if isinstance(shown, type) else ():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"


def test_oldest_python():
    """No syntax that the oldest version it claims to run on does not have."""
    for path in (PYTHON / "devsnowflake").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.skipif(not shutil.which("mypy"), reason="there is no mypy here")
def test_types(tmp_path):
    """The package, and that those who use it see its types."""
    program = tmp_path / "program.py"
    program.write_text(
        "import devsnowflake\n"
        "with devsnowflake.Snowflake() as sf:\n"
        "    reveal_type(next(sf))\n"
        "    reveal_type(sf.fill(3))\n"
        "    reveal_type(sf.decode(1).time)\n"
        "    sf.next(timeout='1')\n"
    )
    mypy = ["mypy", "--strict", "--cache-dir", os.devnull]
    subprocess.run([*mypy, "devsnowflake"], cwd=PYTHON, check=True)
    output = subprocess.run(
        [*mypy, "--python-executable", sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for words in '"builtins.int"', '"array.array[builtins.int]"', 'datetime"':
        assert f"Revealed type is {words}" in output or words in output
    assert output.count("error:") == 1 and 'incompatible type "str"' in output

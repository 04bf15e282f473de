# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the tests share, and TAP: pytest --tap FILE."""

import os
import pathlib
import tempfile

import pytest

FAKE = "fake" in os.environ.get("DEVSNOWFLAKE_LIBRARY", "")
DEVICE = "/dev/snowflake"


def pytest_addoption(parser):
    parser.addoption("--tap", help="write results to this file, as TAP")


def pytest_configure(config):
    config.addinivalue_line("markers", "fake: needs the library of fake.c")
    config.tap = [] if config.getoption("--tap") else None


def pytest_collection_modifyitems(items):
    """Each library has its tests."""
    items[:] = [
        item
        for item in items
        if (item.get_closest_marker("fake") is not None) == FAKE
    ]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    tap = item.config.tap
    if tap is None or (report.when != "call" and report.passed):
        return
    name = f"{item.path.stem}: {item.name}".replace("#", "")
    if report.skipped:
        reason = str(report.longrepr[2]).replace("\n", " ")
        tap.append(f"ok {len(tap) + 1} - {name} # SKIP {reason}")
    elif report.passed:
        tap.append(f"ok {len(tap) + 1} - {name}")
    else:
        words = "".join(f"\n# {line}" for line in report.longreprtext.splitlines())
        tap.append(f"not ok {len(tap) + 1} - {name} ({report.when}){words}")


def pytest_sessionfinish(session):
    tap = session.config.tap
    if tap is not None:
        path = pathlib.Path(session.config.getoption("--tap"))
        path.write_text("".join(f"{line}\n" for line in (*tap, f"1..{len(tap)}")))


@pytest.fixture(params=["local", "device"])
def source(request):
    """The name of what gives ids: a local engine of this test, or the device."""
    if request.param == "device":
        if not os.path.exists(DEVICE):
            pytest.skip(f"there is no {DEVICE} here")
        yield DEVICE
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"local:5,dir={folder}"

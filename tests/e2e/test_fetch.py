"""Fetching the real examples: pinned, checked, nothing run, nothing written outside."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def fetch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_examples", EXAMPLES / "fetch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_source(fetch, tmp_path, monkeypatch):
    """A source whose wheel is in the cache already."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(files: dict[str, str]):
        archive = tmp_path / "thing-1.0-py3-none-any.whl"
        with zipfile.ZipFile(archive, "w") as wheel:
            for name, text in files.items():
                wheel.writestr(name, text)
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        kept = fetch.cache() / digest / archive.name
        kept.parent.mkdir(parents=True)
        archive.rename(kept)
        (tmp_path / "task" / "environment").mkdir(parents=True)
        return fetch.Source(
            task=tmp_path / "task",
            package="thing",
            version="1.0",
            file=archive.name,
            sha256=digest,
            take=("thing/",),
        )

    return make


def test_the_package_and_its_licence_become_the_workspace(fetch, make_source):
    source = make_source(
        {
            "thing/__init__.py": "",
            "thing/part/x.py": "",
            "other/__init__.py": "",
            "thing-1.0.dist-info/LICENSE": "free",
            "thing-1.0.dist-info/METADATA": "",
        }
    )
    fetch.unpack(source, fetch.wheel(source))
    files = sorted(
        str(path.relative_to(source.workspace))
        for path in source.workspace.rglob("*")
        if path.is_file()
    )
    assert files == ["LICENSE", "thing/__init__.py", "thing/part/x.py"]
    assert source.ready


def test_a_workspace_of_another_source_is_made_anew(fetch, make_source):
    source = make_source({"thing/__init__.py": "new"})
    source.workspace.mkdir()
    (source.workspace / "old.py").write_text("")
    source.stamp.write_text("0" * 64)
    assert not source.ready
    fetch.unpack(source, fetch.wheel(source))
    assert [path.name for path in source.workspace.iterdir()] == ["thing"]


@pytest.mark.parametrize("name", ["thing/../../evil.py", "/thing/evil.py"])
def test_a_file_outside_of_the_wheel_is_refused(fetch, make_source, name):
    source = make_source({name: ""})
    with pytest.raises(fetch.FetchError, match="outside of itself"):
        fetch.unpack(source, fetch.wheel(source))


def test_a_damaged_download_is_not_used(fetch, make_source, monkeypatch):
    source = make_source({"thing/__init__.py": ""})
    kept = fetch.cache() / source.sha256 / source.file
    kept.write_bytes(b"damaged")
    monkeypatch.setattr(fetch, "download", lambda source, folder: None)
    with pytest.raises(fetch.FetchError, match="brought something else"):
        fetch.wheel(source)


def test_an_unknown_example_is_named_with_those_there_are(fetch):
    with pytest.raises(fetch.FetchError, match="no example nonsense; there are boltons-"):
        fetch.sources(["nonsense"])


def test_every_source_is_pinned_by_version_and_hash(fetch):
    for source in fetch.sources([]):
        assert len(bytes.fromhex(source.sha256)) == 32
        assert source.version in source.file

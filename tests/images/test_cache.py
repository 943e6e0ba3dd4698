"""The cache: nothing half made under a final name, one builder at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_images import HOST, Image, ImageError, prune
from sandbox_images.cache import Cache, default_caches


def quiet(line: str) -> None:
    pass


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "a" / "images")


def kept(cache: Cache, name: str = "python", key: str = "k1", text: str = "one") -> Image:
    with cache.lock(quiet), cache.building() as folder:
        (folder / "tree").mkdir()
        (folder / "tree" / "file").write_text(text)
        return cache.keep(Image(name=name, key=key, digest="sha256:0"), folder / "tree")


def test_a_kept_image_is_found_by_its_name_with_its_tree(cache):
    image = kept(cache)
    assert cache.find("python") == image
    assert image.tree is not None
    assert (image.tree / "file").read_text() == "one"


def test_a_record_says_again_what_was_written(cache):
    wanted = Image(
        name="p",
        key="k",
        source="registry",
        docker_id="sha256:1",
        docker_digest="sha256:2",
        docker_tag="stockade/p:k",
        digest="sha256:3",
        python_version="3.11",
        packages={"git": "1"},
        requirements=("six==1",),
        created="2026-01-01T00:00:00Z",
    )
    with cache.lock(quiet):
        assert cache.keep(wanted, None) == wanted


def test_every_folder_above_a_tree_is_open_to_other_users_whatever_the_umask(cache):
    before = os.umask(0o077)
    try:
        image = kept(cache)
    finally:
        os.umask(before)
    assert image.tree is not None
    folders = [image.tree, *image.tree.parents][:4]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o755}
    assert (image.tree.parent / "record.json").stat().st_mode & 0o777 == 0o644


def test_a_build_that_fails_leaves_nothing(cache):
    def fail() -> None:
        with cache.lock(quiet), cache.building() as folder:
            (folder / "tree").mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert sorted(path.name for path in cache.root.iterdir()) == ["lock"]


def test_what_a_killed_builder_left_goes_with_the_next_build(cache):
    kept(cache)
    (cache.root / "building-dead" / "tree").mkdir(parents=True)
    with cache.lock(quiet):
        pass
    assert sorted(path.name for path in cache.root.iterdir()) == ["lock", "names", "store"]


def test_a_second_builder_says_that_it_waits_and_gets_its_turn(cache):
    held = (
        "import sys; from pathlib import Path; from sandbox_images.cache import Cache\n"
        "with Cache(Path(sys.argv[1])).lock(print): print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held, str(cache.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        said: list[str] = []

        def waiting(line: str) -> None:
            said.append(line)
            assert other.stdin is not None
            other.stdin.close()

        with cache.lock(waiting):
            assert other.wait() == 0
    assert said == ["another build is under way; waiting for it"]


def test_a_new_build_under_the_same_key_replaces_the_old_tree(cache):
    kept(cache, text="one")
    image = kept(cache, text="two")
    assert image.tree is not None
    assert (image.tree / "file").read_text() == "two"


def test_a_damaged_record_is_an_error_that_names_the_file(cache):
    image = kept(cache)
    assert image.tree is not None
    record = image.tree.parent / "record.json"
    record.write_text("{")
    with pytest.raises(ImageError, match=str(record)):
        cache.find("python")


def test_a_record_of_another_schema_is_refused(cache):
    image = kept(cache)
    assert image.tree is not None
    record = image.tree.parent / "record.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"schema": 99}))
    with pytest.raises(ImageError, match="schema 99"):
        cache.find("python")


def test_a_tree_that_was_removed_is_not_claimed(cache):
    image = kept(cache)
    assert image.tree is not None
    (image.tree / "file").unlink()
    image.tree.rmdir()
    found = cache.find("python")
    assert found is not None
    assert found.tree is None


def test_dropping_one_of_two_names_keeps_the_tree_of_the_other(cache):
    kept(cache, name="one")
    with cache.lock(quiet):
        cache.keep(Image(name="two", key="k1", digest="sha256:0"), None)
        assert cache.drop("two")
        assert not cache.drop("two")
    image = cache.find("one")
    assert image is not None
    assert image.tree is not None


def test_what_no_name_stands_for_any_more_is_pruned(cache, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    kept(cache, key="old")
    kept(cache, key="new")
    assert prune(cache=cache) == ("python old",)
    assert prune(cache=cache) == ()
    assert sorted(path.name for path in (cache.root / "store").iterdir()) == ["new"]


def test_a_user_builds_below_the_cache_folder_and_also_looks_where_root_built(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    roots = [str(cache.root) for cache in default_caches()]
    assert roots == ["/somewhere/stockade/images", "/var/cache/stockade/images"]


def test_the_lock_entry_holds_only_what_is_known():
    assert HOST.lock == {"name": "host", "source": "host"}

"""The image itself: built once for all tests, then looked at from every side."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import sandbox_images
from sandbox_images import HOST, Image, ImageError
from sandbox_images.builder import Builder
from sandbox_images.cache import Cache
from sandbox_images.definition import Definition, load_definition
from sandbox_images.engine import Engine, connect
from sandbox_images.store import build, find, list_images, remove, verify
from sandbox_images.tree import finish_tree, tree_digest, unpack

pytestmark = pytest.mark.timeout(600)  # the first test may have to build the image

NETWORK_NONE = "unix:///nonexistent/docker.sock"


def quiet(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def image() -> Image:
    try:
        return build("python", progress=quiet)
    except sandbox_images.NoTreeError as error:
        pytest.skip(str(error))


@pytest.fixture
def cache(image: Image, tmp_path: Path) -> Iterator[Cache]:
    """A cache of the test's own that begins with the built image, its files shared."""
    assert image.tree is not None
    own = Cache(tmp_path / "images")
    with own.lock(quiet), own.building() as folder:
        argv = ["cp", "-al", str(image.tree), str(folder / "tree")]
        if subprocess.run(argv, capture_output=True, check=False).returncode != 0:
            shutil.copytree(image.tree, folder / "tree", symlinks=True)
        own.keep(image, folder / "tree")
    yield own
    for name in own.names():
        if name != "python":
            remove(name, cache=own)


@pytest.fixture
def no_bridge(monkeypatch) -> None:
    """Steps of a build get no network: these need none, and not every engine has a bridge."""
    real = Engine.build

    def build(self, *args, **named):
        return real(self, *args, **{**named, "network": "none"})

    monkeypatch.setattr(Engine, "build", build)


def inside(image: Image, *argv: str) -> str:
    """Run a program with the tree as its root."""
    binary = shutil.which("bwrap")
    assert binary is not None
    bwrap = [binary, "--unshare-user", "--unshare-all", "--ro-bind", str(image.tree), "/"]
    bwrap += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/workspace", "--chdir", "/workspace"]
    bwrap += ["--uid", "1000", "--clearenv", "--setenv", "PATH"]
    bwrap += ["/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    done = subprocess.run([*bwrap, *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_second_build_has_nothing_to_do(image):
    said: list[str] = []
    assert build("python", progress=said.append) == image
    assert said == []


def test_the_image_is_found_and_its_tree_is_what_was_built(image):
    assert find("python", engine=False) == image
    assert verify("python").problems == ()


def test_the_list_names_it(image):
    assert "python" in [found.name for found in list_images()]


def test_the_record_names_the_version_of_every_package(image):
    assert {"git", "python3", "ripgrep", "libc6"} <= set(image.packages)
    assert all(image.packages.values())


def test_no_program_of_the_tree_gains_rights(image):
    found = subprocess.run(
        ["find", str(image.tree), "-xdev", "-type", "f", "-perm", "/6000"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == ""


def test_no_package_source_of_the_machine_stays_in_the_tree(image):
    etc = image.tree / "etc/apt"
    names = sorted(path.name for path in etc.rglob("*") if path.is_file()) if etc.is_dir() else []
    assert not [name for name in names if name.endswith((".list", ".sources", "mmdebstrap"))]
    assert (image.tree / "etc/resolv.conf").read_text() == ""


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("python", "-c", "import json, ssl, sqlite3, ctypes; print('ok')"), "ok\n"),
        (("pytest", "--version"), "pytest "),
        (("python3", "-m", "pytest", "--version"), "pytest "),
        (("git", "--version"), "git version "),
        (("rg", "--version"), "ripgrep "),
        (("sh", "-c", "echo a | sed s/a/b/ | grep b | awk '{print $1}'"), "b\n"),
        (("diff", "--version"), "diff "),
        (("patch", "--version"), "GNU patch "),
        (("make", "--version"), "GNU Make "),
    ],
)
def test_what_a_task_needs_runs_in_the_tree(image, argv, expected):
    assert inside(image, *argv).startswith(expected)


@pytest.mark.docker
def test_the_docker_image_is_the_same_tree(image, tmp_path):
    with connect() as engine:
        engine.export(image.docker_id, tmp_path / "export.tar")
    unpack(tmp_path / "export.tar", tmp_path / "tree")
    finish_tree(tmp_path / "tree")
    assert tree_digest(tmp_path / "tree") == image.digest


@pytest.mark.docker
def test_the_docker_image_runs_as_a_user_without_rights_on_the_fixed_path(image):
    with connect() as engine:
        config = engine.inspect(image.docker_id)["Config"]
    fixed = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert config["User"] == "1000:1000"
    assert f"PATH={fixed}" in config["Env"]
    assert config["Labels"]["stockade.image"] == "python"


def test_without_an_engine_the_tree_is_still_found(image, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NETWORK_NONE)
    found = find("python")
    assert found is not None
    assert (found.docker_id, found.tree) == (None, image.tree)


def test_without_an_engine_a_built_tree_is_complete(cache, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NETWORK_NONE)
    said: list[str] = []
    assert build("python", progress=said.append, cache=cache).digest is not None
    assert said == []


def test_a_changed_tree_is_noticed(cache):
    tree = cache.find("python").tree
    (tree / "workspace" / "planted").write_text("x")
    assert verify("python", cache=cache).problems == ("its root tree differs from what was built",)


@pytest.mark.docker
def test_a_second_cache_takes_over_the_docker_image_of_an_equal_tree(cache, image):
    with cache.lock(quiet):
        cache.keep(replace(image, docker_id=None, docker_tag=None), None)
    said: list[str] = []
    with connect() as engine:
        builder = Builder(cache, engine, said.append)
        definition = load_definition("python")
        assert definition is not None
        kept = builder.cache.load(image.key)
        assert not builder.complete(kept)
        assert builder.from_definition(definition).docker_id == image.docker_id
    assert said == []


@pytest.mark.docker
def test_an_image_that_the_engine_lost_is_made_again_from_the_tree(cache, image, tmp_path):
    ours = load_definition("python")
    assert ours is not None
    shutil.copytree(ours.folder, tmp_path / "definition")
    with (tmp_path / "definition" / "Dockerfile").open("a") as file:
        file.write("# so that its key and tag are the test's own\n")
    own = Definition("test-lost", tmp_path / "definition")
    said: list[str] = []
    gone = replace(image, name=own.name, key=own.key, docker_id="sha256:" + "0" * 64)
    with connect() as engine, cache.lock(quiet):
        folder = cache.root / "store" / own.key
        cache.keep(gone, None)
        (cache.root / "store" / image.key / "tree").rename(folder / "tree")
        again = Builder(cache, engine, said.append).from_definition(own)
        assert engine.holds(again.docker_id)
    assert (again.digest, again.tree) == (image.digest, folder / "tree")
    assert not [line for line in said if "building a root tree" in line]


@pytest.mark.docker
@pytest.mark.slow
def test_a_base_that_the_engine_gets_by_name_is_built_on_and_its_tree_taken_out(
    cache, image, tmp_path, no_bridge
):
    ours = load_definition("python")
    assert ours is not None
    base = "stockade/test-base:1"
    shutil.copytree(ours.folder, tmp_path / "definition")
    dockerfile = tmp_path / "definition" / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("debian:bookworm-slim", base))
    own = Definition("test-registry", tmp_path / "definition")
    said: list[str] = []
    with connect() as engine, cache.lock(quiet), cache.building() as folder:
        below = engine.client.images.list(filters={"label": f"stockade.tree={image.digest}"})
        rootly = next(x for x in below if x.tags and x.tags[0].startswith("stockade/base:"))
        engine.client.api.tag(rootly.id, "stockade/test-base", "1")
        try:
            made = Builder(cache, engine, said.append).from_registry(own, folder)
        finally:
            engine.remove(base)
            engine.remove(f"stockade/{own.name}:{own.key}")
    assert made is not None, said
    assert (made.source, made.digest, made.docker_digest) == ("registry", image.digest, None)


def test_where_no_tree_can_be_built_the_cure_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NETWORK_NONE)
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    with pytest.raises(
        sandbox_images.NoTreeError, match=r"apt-get install mmdebstrap|needs root|not Debian"
    ):
        build("python", cache=Cache(tmp_path / "c"), progress=said.append)
    there = build("python", cache=Cache(tmp_path / "c"), host_fallback=True, progress=said.append)
    assert there == HOST
    assert "the host's own system folders take its place" in said[-1]


@pytest.mark.docker
def test_an_operators_dockerfile_is_built_on_our_image(cache, tmp_path, no_bridge):
    (tmp_path / "context").mkdir()
    dockerfile = tmp_path / "context" / "Dockerfile"
    dockerfile.write_text("ARG BASE\nFROM ${BASE}\nUSER 0\nCOPY greeting /opt/greeting\n")
    (tmp_path / "context" / "greeting").write_text("hello\n")
    made = build("test-dockerfile", dockerfile=dockerfile, cache=cache, progress=quiet)
    assert (made.tree / "opt/greeting").read_text() == "hello\n"
    assert (made.source, made.uid, made.gid) == ("dockerfile", 1000, 1000)
    assert verify("test-dockerfile", cache=cache).ok


def test_a_dockerfile_without_an_engine_is_refused_with_the_other_way(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", NETWORK_NONE)
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    with pytest.raises(ImageError, match="--requirements"):
        build("mine", dockerfile=tmp_path / "Dockerfile", cache=cache, progress=quiet)


@pytest.mark.docker
@pytest.mark.slow
def test_a_dockerfile_that_fails_says_what_its_step_said(cache, tmp_path, no_bridge):
    (tmp_path / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\nRUN echo the cause; exit 4\n")
    with pytest.raises(ImageError, match="the cause"):
        build("mine", dockerfile=tmp_path / "Dockerfile", cache=cache, progress=quiet)


@pytest.mark.docker
@pytest.mark.bubblewrap
@pytest.mark.slow
@pytest.mark.network
def test_a_projects_packages_are_the_same_in_tree_and_docker_image(cache, tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("six==1.16.0\n")
    made = build("test-requirements", requirements=requirements, cache=cache, progress=quiet)
    assert made.requirements == ("six==1.16.0",)
    assert inside(made, "python3", "-c", "import six; print(six.__version__)") == "1.16.0\n"
    with connect() as engine:
        engine.export(made.docker_id, tmp_path / "export.tar")
    unpack(tmp_path / "export.tar", tmp_path / "tree")
    finish_tree(tmp_path / "tree")
    assert tree_digest(tmp_path / "tree") == made.digest


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.bubblewrap
def test_a_tree_is_built_without_root_and_runs(tmp_path, monkeypatch):
    def closed(*_: object) -> Path:
        raise sandbox_images.NoTreeError("mmdebstrap needs root here")

    monkeypatch.setattr("sandbox_images.builder.bootstrap", closed)
    monkeypatch.setenv("DOCKER_HOST", NETWORK_NONE)
    made = build("python", cache=Cache(tmp_path / "c"), progress=quiet)
    assert made.docker_id is None
    assert inside(made, "pytest", "--version").startswith("pytest ")
    assert inside(made, "git", "--version").startswith("git version ")

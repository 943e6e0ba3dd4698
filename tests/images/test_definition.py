"""What an image is made of decides its key; its name must be usable everywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sandbox_images
from sandbox_images import ImageNameError
from sandbox_images.definition import Definition, check_name, key_of, load_definition


@pytest.fixture
def definition(tmp_path: Path) -> Definition:
    ours = load_definition("python")
    assert ours is not None
    shutil.copytree(ours.folder, tmp_path / "python")
    return Definition("python", tmp_path / "python")


def test_equal_definitions_in_different_places_have_one_key(definition):
    ours = load_definition("python")
    assert ours is not None
    assert definition.key == ours.key


@pytest.mark.parametrize("name", ["Dockerfile", "packages.txt", "setup.sh"])
def test_a_change_in_any_file_changes_the_key(definition, name):
    before = definition.key
    with (definition.folder / name).open("a") as file:
        file.write("# changed\n")
    assert definition.key != before


def test_text_moved_from_one_part_to_the_next_changes_the_key():
    assert key_of("ab", "c") != key_of("a", "bc")


def test_the_image_holds_what_tasks_need():
    ours = load_definition("python")
    assert ours is not None
    assert {"git", "python3", "python3-pytest", "ripgrep"} <= set(ours.packages)


def test_the_image_runs_as_a_user_without_rights():
    ours = load_definition("python")
    assert ours is not None
    users = [line for line in ours.dockerfile.read_text().splitlines() if line.startswith("USER")]
    assert users == ["USER 1000:1000"]


@pytest.mark.parametrize(
    "name", ["", "Python", "../x", "a/b", "-a", "a..b", "a b", "a:b", "x" * 101]
)
def test_a_name_that_cannot_be_a_tag_or_a_file_is_refused(name):
    with pytest.raises(ImageNameError):
        check_name(name)


def test_an_unknown_image_is_the_operators_mistake():
    with pytest.raises(ImageNameError) as caught:
        sandbox_images.build("no-such-image", progress=lambda _: None)
    assert caught.value.exit_code == 2
    assert "there is 'python'" in str(caught.value)


def test_our_own_name_cannot_be_given_to_a_projects_image(tmp_path):
    with pytest.raises(ImageNameError, match="a name of its own"):
        sandbox_images.build("python", requirements=tmp_path / "r.txt", progress=lambda _: None)

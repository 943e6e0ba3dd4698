"""The image of a task, built of its Dockerfile."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from harness.config import Images
from harness.errors import HarnessError
from harness.run.image import built_image


@pytest.mark.docker
async def test_a_dockerfile_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.write_text("FROM no-such-image:1\n")
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "Dockerfile").symlink_to(aim)
    images = Images({"no-such-image:1": f"no-such-image-{uuid.uuid4().hex}"})
    with pytest.raises(HarnessError):
        await built_image(environment / "Dockerfile", images, lambda _: None)
    assert aim.read_text() == "FROM no-such-image:1\n"

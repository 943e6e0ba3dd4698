"""An engine, images made from this machine's files, and a check that nothing is left behind."""

from __future__ import annotations

import time

import pytest

TEST_LABEL = "stockade.test"


@pytest.fixture(scope="session")
def api():
    """The SDK's own client, to look at the engine independently of our code."""
    import docker

    client = docker.APIClient(version="auto")
    yield client
    client.close()


def import_image(api, tar: bytes, name: str, changes: list[str]) -> str:
    changes = [*changes, f"LABEL {TEST_LABEL}=1"]
    api.import_image_from_data(tar, repository=name, tag="test", changes=changes)
    return api.inspect_image(f"{name}:test")["Id"]


@pytest.fixture(scope="session")
def machine_image(api):
    """The id of an image with Python, a shell and some tools."""
    from tests.runners.docker.machine_image import machine_tar

    changes = ["ENV SECRET_OF_THE_IMAGE=1", "VOLUME /var/lib/data", 'ENTRYPOINT ["/bin/false"]']
    image = import_image(api, machine_tar(), "stockade-test-machine", changes)
    yield image
    api.remove_image(image, force=True)


@pytest.fixture
def ours(api):
    """All containers with our label, by id; after the test none that it made may be left."""

    def listing() -> dict[str, dict]:
        found = api.containers(all=True, filters={"label": "stockade.session"})
        return {entry["Id"]: entry for entry in found}

    before = set(listing())
    yield lambda: {key: value for key, value in listing().items() if key not in before}
    deadline = time.monotonic() + 3
    while (left := set(listing()) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    for container in left:
        api.remove_container(container, force=True)
    assert not left, "containers were left behind"

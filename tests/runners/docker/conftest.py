"""An engine, images made from this machine's files, and a check that nothing is left behind."""

from __future__ import annotations

import secrets

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
def run() -> str:
    """The run that all sessions of this test belong to."""
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def ours(api, run):
    """The containers of this test's run, by id; after the test none may be left."""

    def listing() -> dict[str, dict]:
        found = api.containers(all=True, filters={"label": f"stockade.run={run}"})
        return {entry["Id"]: entry for entry in found}

    yield listing
    left = listing()
    for container in left:
        api.remove_container(container, force=True)
    assert not left, "containers were left behind"

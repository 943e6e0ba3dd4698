"""The docker box: sessions in containers that end with the connection that made them."""

from runners.docker.runner import DockerRunner

__all__ = ["DockerRunner"]

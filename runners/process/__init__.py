"""The process box: held by what the kernel gives without a container or another program."""

from runners.process.runner import ProcessRunner

__all__ = ["ProcessRunner"]

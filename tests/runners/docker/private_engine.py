"""A Docker engine of our own, with its own data and containerd: to be stopped, started, set up."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from runners.docker.endpoint import Endpoint

START_SECONDS = 30


class PrivateEngine:
    """Touches no other engine; everything is in one folder, which goes at the end."""

    def __init__(self, *, runtimes: dict[str, list[str]] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="skd"))
        self.socket = self.folder / "s"
        self.endpoint = Endpoint("unix", str(self.socket), "this test")
        entries = {
            name: {"path": argv[0], "runtimeArgs": argv[1:]}
            for name, argv in (runtimes or {}).items()
        }
        (self.folder / "daemon.json").write_text(json.dumps({"runtimes": entries}))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # A network of its own: with --bridge none an engine removes the docker0 that it finds,
        # and that is the machine's.
        argv = [
            "unshare",
            "--net",
            "dockerd",
            "--config-file",
            self.folder / "daemon.json",
            "-H",
            f"unix://{self.socket}",
        ]
        argv += ["--data-root", self.folder / "data", "--exec-root", self.folder / "exec"]
        argv += ["--storage-driver", "overlay2"]
        argv += ["--pidfile", self.folder / "pid", "--bridge", "none", "--iptables=false"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.1)

    def answers(self) -> bool:
        import docker
        from docker.errors import DockerException

        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(self.socket))
            client = docker.APIClient(base_url=self.endpoint.url, version="1.40", timeout=5)
        except (DockerException, OSError):
            return False
        try:
            return bool(client.ping())
        except (DockerException, OSError):
            return False
        finally:
            client.close()

    def kill(self) -> None:
        """As if the engine had crashed."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None
        # Its containerd dies with it; the shims, and so the boxes, do not.
        for name in ("pid", "exec/containerd/containerd.pid", "exec/containerd/containerd.sock"):
            (self.folder / name).unlink(missing_ok=True)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def remove(self) -> None:
        self.stop()
        for pid in self.leftovers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for line in Path("/proc/self/mounts").read_text().splitlines()[::-1]:
            if line.split()[1].startswith(f"{self.folder}/"):
                subprocess.run(["umount", "-l", line.split()[1]], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def leftovers(self) -> list[int]:
        """Shims and sandboxes of this engine: they are started with a path in its folder."""
        mark = f"{self.folder}/".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

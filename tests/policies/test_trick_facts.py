"""That the tricks are real: some of them run here, each leaving the mark that shows its effect."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EVIL = '#!/bin/sh\necho ran >> "$MARK"\nexit 0\n'
RUNS = """
find . -name a.txt -exec ./evil {} ;
find . -name a.txt -execdir {evil} {} ;
sort --compress-program={evil} -S 1k big.txt
sed 1e{evil} a.txt
sed s|one|./evil|e a.txt
sed 's,[^^]*,./evil #],e#,' a.txt
tar -tf a.tar -I {evil}
tar -cf b.tar a.txt big.txt --checkpoint=1 --checkpoint-action=exec={evil}
tar -xf a.tar --to-command={evil}
git -c core.fsmonitor={evil} status
git grep --open-files-in-pager={evil} one
git rebase --exec={evil} HEAD~1
git bisect run ./evil
git -c alias.x=!{evil} x
make -f Makefile '--eval=$(shell {evil})'
make SHELL={evil} -f Makefile shell
make CC={evil} thing.o
env -S {evil}
timeout 5 ./evil
nice ./evil
nohup ./evil
stdbuf -oL ./evil
xargs -a a.txt ./evil
split --filter={evil} -l 1 a.txt p
zip -q z.zip a.txt -T -TT {evil}
node -r ./evil.js empty.js
npm test --script-shell={evil}
npm exec -c {evil}
gcc -wrapper ./evil -c thing.c
gcc -B. -c thing.c
cmake -P evil.cmake
cmake -E env ./evil
ctest -S evil.cmake
ninja -f evil.ninja
gdb -batch -ex '!{evil}'
gdb -batch -x evil.gdb
diffstat 'x";./evil;".gz'
bison skeleton.y
env M4=./evil bison skeleton.y
sqlite3 a.db '.shell {evil}'
rustc -C linker={evil} thing.rs
cargo --config 'build.rustc="{evil}"' check
bash --rcfile evil -i
awk 'BEGIN{system("{evil}")}'
python3 -m evil
"""
WRITES = """
find . -name a.txt -fprint {out}
find . -name a.txt -fls {out}
sort -o {out} a.txt
sed -n 'w {out}' a.txt
git log --output={out}
git diff --output={out} HEAD~1
git format-patch --output={out} -1
uniq a.txt {out}
xxd a.txt {out}
tree -o {out}
shuf -o {out} a.txt
iconv -o {out} a.txt
time -o {out} true
gcc -S -o {out} thing.c
env DEPENDENCIES_OUTPUT={out} gcc -c thing.c
env NODE_V8_COVERAGE={out} node empty.js
objcopy --dump-section .text={out} thing.obj
tee {out}
tar -cf {out} a.txt
node --redirect-warnings={out} -e 'process.emitWarning("x")'
ctest --output-log {out}
curl -s -o {out} file:///etc/hostname
rustc --emit=metadata -o {out} thing.rs
"""
PROTECTED = """
find .git -name config -exec rm {} ;
find .git -name config -exec timeout 5 rm {} ;
cp -r x/.git .
cp -rT x .
sqlite3 -safe .git/a 'create table t(a)'
tidy -q -m .git/a.html
"""
READS = """
env POSIXLY_CORRECT=1 grep the -e {secret}
grep -f {secret} {secret}
sed '1r {secret}' a.txt
git diff --no-index a.txt {secret}
wc --files0-from={names}
file -f {secret}
date -f {secret}
diff --from-file={secret} a.txt
xargs -a {secret} echo
gcc -E -include {secret} thing.c
xz --files={secret}
tree --fromfile {secret}
gcc @{secret} thing.c
"""


def rows(texts: str) -> list[str]:
    return [text for text in texts.splitlines() if text]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with everything that the tricks need."""
    work = tmp_path / "work"
    (work / "bisect").mkdir(parents=True)
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    home = os.environ.get("HOME", "/")
    for name, place in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")):
        monkeypatch.setenv(name, os.environ.get(name, f"{home}/{place}"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secret").write_text("the-secret\n")
    (tmp_path / "names").write_bytes(b"the-secret\0")
    files = {
        "a.txt": "one\ntwo\nthree\n",
        "big.txt": "line\n" * 200_000,
        "Makefile": "all:\n\t@true\nshell:\n\techo x\n",
        "thing.c": "int main(void) { return 0; }\n",
        "thing.rs": "fn main() {}\n",
        "empty.js": "",
        "evil.js": 'require("child_process").execFileSync("./evil")\n',
        "evil.py": 'import subprocess\nsubprocess.run(["./evil"])\n',
        "evil.cmake": "execute_process(COMMAND ./evil)\n",
        "evil.ninja": "rule r\n  command = ./evil\nbuild x: r\n",
        "evil.gdb": "shell ./evil\n",
        "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "true"}}',
        "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/main.rs": "fn main() {}\n",
        "CTestTestfile.cmake": "",
        "x/.git/added": "",
        "skeleton.y": '%skeleton "./skeleton.c"\n%%\ns: ;\n',
        "skeleton.c": "m4_divert_push(0)m4_esyscmd([./evil])\n",
    }
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    for name in ("evil", "as", "cc1"):
        (work / name).write_text(EVIL)
        (work / name).chmod(0o755)

    def quiet(*argv: str) -> None:
        subprocess.run(argv, cwd=work, check=True, capture_output=True)

    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "safe.directory=*"]
    quiet("git", "init", "-q")
    for text in ("first", "second"):
        (work / "log.txt").write_text(text)
        quiet(*git, "add", "a.txt", "log.txt")
        quiet(*git, "commit", "-qm", text)
    quiet("git", "config", "user.name", "x")
    quiet("git", "config", "user.email", "x@x")
    quiet("tar", "-cf", "a.tar", "a.txt")
    return work


def run(text: str, work: Path, **places: str) -> subprocess.CompletedProcess[str]:
    """Run a trick, or skip when its program is not here."""
    for name, value in {"evil": str(work / "evil"), **places}.items():
        text = text.replace(f"{{{name}}}", value)
    argv = shlex.split(text)
    program = argv[2] if argv[0] == "env" and "=" in argv[1] else argv[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if argv[:2] == ["git", "bisect"]:
        subprocess.run(
            ["git", "bisect", "start", "HEAD", "HEAD~1"], cwd=work, check=True, capture_output=True
        )
    if argv[0] == "objcopy":
        subprocess.run(["gcc", "-c", "-o", "thing.obj", "thing.c"], cwd=work, check=True)
    return subprocess.run(
        argv,
        cwd=work,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


@pytest.mark.parametrize("text", rows(RUNS))
def test_a_trick_that_runs_programs_really_does(text, folder, tmp_path):
    done = run(text, folder)
    assert (tmp_path / "mark").exists(), done


@pytest.mark.parametrize("text", rows(WRITES))
def test_a_trick_that_writes_elsewhere_really_does(text, folder, tmp_path):
    done = run(text, folder, out=str(tmp_path / "out"))
    assert (tmp_path / "out").exists(), done


@pytest.mark.parametrize("text", rows(READS))
def test_a_trick_that_reads_elsewhere_really_does(text, folder, tmp_path):
    secret = str(tmp_path / "secret")
    done = run(text, folder, secret=secret, names=str(tmp_path / "names"))
    assert "the-secret" in done.stdout + done.stderr, done


def below_git(work: Path) -> dict[str, bytes]:
    """What the protected folder holds."""
    places = (work / ".git").rglob("*")
    return {str(one.relative_to(work)): one.read_bytes() for one in places if one.is_file()}


@pytest.mark.parametrize("text", rows(PROTECTED))
def test_a_trick_that_changes_a_protected_place_really_does(text, folder):
    (folder / ".git/a.html").write_text("<p>x")
    before = below_git(folder)
    done = run(text, folder)
    assert below_git(folder) != before, done

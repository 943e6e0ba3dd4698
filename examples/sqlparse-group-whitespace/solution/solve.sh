#!/bin/bash
set -eu
python3 - <<'EOF'
from pathlib import Path

path = Path("sqlparse/filters/others.py")
text = path.read_text()
old = "            tlist.tokens.pop(-2)\n"
new = (
    old
    + "        if tlist.tokens[-2].is_group:\n"
    + "            while tlist.tokens[-2].tokens[-1].is_whitespace:\n"
    + "                tlist.tokens[-2].tokens.pop(-1)\n"
)
assert text.count(old) == 1
path.write_text(text.replace(old, new))
EOF

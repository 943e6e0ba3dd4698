#!/bin/bash
set -eu
python3 - <<'EOF'
from pathlib import Path

path = Path("boltons/timeutils.py")
text = path.read_text()
old = "    dt_args = [int(p) for p in _NONDIGIT_RE.split(iso_str)]\n"
new = (
    "    parts = _NONDIGIT_RE.split(iso_str)\n"
    "    dt_args = [int(p) for p in parts]\n"
    "    if len(parts) > 6:\n"
    "        dt_args[6] = int(parts[6].ljust(6, '0')[:6])\n"
)
assert text.count(old) == 1
path.write_text(text.replace(old, new))
EOF

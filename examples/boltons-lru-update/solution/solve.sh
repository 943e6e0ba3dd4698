#!/bin/bash
set -eu
python3 - <<'EOF'
from pathlib import Path

path = Path("boltons/cacheutils.py")
text = path.read_text()
store = "super(LRI, self).__setitem__(key, value)\n"
old = f"                {store}            else:\n                link[VALUE] = value\n"
new = f"            else:\n                link[VALUE] = value\n            {store}"
assert text.count(old) == 1
path.write_text(text.replace(old, new))
EOF

#!/bin/bash
# For other harnesses of this layout; stockade uses [metadata.stockade.verify].
tests=${STOCKADE_TESTS:-/tests}
logs=${STOCKADE_LOGS:-/logs}/verifier
mkdir -p "$logs"
if PYTHONPATH=. python3 -m pytest -q "$tests"; then
    echo 1 >"$logs/reward.txt"
else
    echo 0 >"$logs/reward.txt"
fi

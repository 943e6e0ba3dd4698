#!/bin/bash
set -eu
sed -i "s|output.append('.+')|output.append('[^/]+(?:(?P<ps_d>/).*)?')|" pathspec/patterns/gitwildmatch.py

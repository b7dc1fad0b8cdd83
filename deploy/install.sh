#!/usr/bin/env bash
# Builds the program and installs it with its manual page, shell completions, documentation and systemd unit, as root or through sudo.
# Starts nothing. Run it again to upgrade.
#
#   deploy/install.sh                                   below /usr/local
#   PREFIX=/usr DESTDIR=package deploy/install.sh       for a package
#   PROGRAM=fanfare deploy/install.sh                   one that is built already
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly prefix=${PREFIX:-/usr/local} root=${DESTDIR:-} articles=Sources/fanfare/Documentation.docc
made=$(mktemp --directory)
readonly made
trap 'rm -rf "$made"' EXIT

# Runs a command as root, unless the caller can write to the target.
as_owner() {
    if ((EUID == 0)) || [[ -n "$root" ]]; then "$@"; else sudo "$@"; fi
}

# put MODE FILE PLACE: installs a file below the prefix.
put() { as_owner install -D --mode "$1" "$2" "$root$prefix/$3"; }

program=${PROGRAM:-$(deploy/release.sh)}
"$program" manual > "$made/fanfare.1"
for shell in bash zsh fish; do "$program" --generate-completion-script "$shell" > "$made/$shell"; done
# In the installed README, the articles are in the same directory.
sed "s|$articles/||g" README.md > "$made/README.md"

put 755 "$program" bin/fanfare
put 644 "$made/fanfare.1" share/man/man1/fanfare.1
put 644 "$made/bash" share/bash-completion/completions/fanfare
put 644 "$made/zsh" share/zsh/site-functions/_fanfare
put 644 "$made/fish" share/fish/vendor_completions.d/fanfare.fish
put 644 "$made/README.md" share/doc/fanfare/README.md
while read -r article; do put 644 "$articles/$article" "share/doc/fanfare/$article"; done < <(cd "$articles" && find . -name '*.md' -printf '%P\n')
# The files that the articles name as deploy/… are installed beside them.
sed "s|/usr/local/|$prefix/|g" deploy/alerts.yaml > "$made/alerts.yaml"
put 644 "$made/alerts.yaml" share/doc/fanfare/deploy/alerts.yaml
while read -r file; do put "$([[ -x "$file" ]] && echo 755 || echo 644)" "$file" "share/doc/fanfare/$file"; done \
    < <(printf 'deploy/%s\n' prometheus.yaml grafana-dashboard.json && find deploy/examples -type f -not -path '*/.*' -not -path '*/__pycache__/*')
for unit in systemd/*; do
    sed "s|/usr/local/|$prefix/|g" "$unit" > "$made/unit"
    put 644 "$made/unit" "lib/systemd/system/${unit##*/}"
done
echo "installed $root$prefix/bin/fanfare, its manual page fanfare(1), completions, and units of systemd, none of them enabled"

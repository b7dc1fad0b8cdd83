#!/usr/bin/env bash
# Creates a Debian package of the files that deploy/install.sh installs, and prints its path; with --lab one of fanfare-lab, which has
# `dev`, `sandbox` and `bench`. Runs as root or as an ordinary user; leaves nothing outside the checkout but the package. The same commit
# and program produce the same package, byte for byte.
#
#   deploy/package.sh [--lab] [--output FOLDER] [PROGRAM]     builds the release, unless a program is named; writes to dist/
#
# DEBFULLNAME and DEBEMAIL name the maintainer. The package works on the Debian release that it is built on, and newer ones.
# Exit codes: 0 it is created, 1 not, 64 usage, 69 it cannot be created here.
set -euo pipefail

name=fanfare
output=dist
program=""
made=$(mktemp --directory --tmpdir fanfare-package.XXXXXX)
readonly made stage=$made/stage
trap 'rm -rf "$made"' EXIT

fail() {
    echo "package: $1" >&2
    exit "${2:-1}"
}

# The caller's paths are relative to the caller's directory; all others to the checkout.
read_arguments() {
    local checkout
    checkout=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
    output=$checkout/dist
    if [[ "${1:-}" == --lab ]]; then
        name=fanfare-lab
        shift
    fi
    if [[ "${1:-}" == --output && $# -ge 2 ]]; then
        output=$(realpath --canonicalize-missing "$2")
        shift 2
    fi
    if (($# > 1)) || [[ "${1:-}" == -* ]]; then fail "usage: package.sh [--lab] [--output FOLDER] [PROGRAM]" 64; fi
    if (($# == 1)); then
        [[ -x "$1" && -f "$1" ]] || fail "there is no program $1" 64
        program=$(realpath "$1")
    fi
    cd "$checkout"
}

# Prints the program's path in the package.
place() { if [[ "$name" == fanfare ]]; then echo "$stage/usr/bin/fanfare"; else echo "$stage/usr/libexec/fanfare/$name"; fi; }

# stage_files VERSION: installs the files that every Debian package has.
stage_files() {
    local share=$stage/usr/share
    if [[ "$name" == fanfare ]]; then stage_fanfare; else install -D --mode 755 "$program" "$(place)"; fi
    strip --remove-section=.comment "$(place)"
    install -D --mode 644 deploy/debian/copyright "$share/doc/$name/copyright"
    install --directory "$share/lintian/overrides"
    sed "s/^fanfare:/$name:/" deploy/debian/lintian-overrides > "$share/lintian/overrides/$name"
    gzip --best --no-name < CHANGELOG.md > "$share/doc/$name/changelog.gz"
    debian_changelog "$1" | gzip --best --no-name > "$share/doc/$name/changelog.Debian.gz"
}

# Installs the files of deploy/install.sh in Debian's locations, and the daemon's other files.
stage_fanfare() {
    local share=$stage/usr/share
    PROGRAM=$program PREFIX=/usr DESTDIR=$stage deploy/install.sh > /dev/null
    sed --in-place '1{/^#!/d}' "$share/bash-completion/completions/fanfare"
    gzip --best --no-name "$share/man/man1/fanfare.1"
    mkdir "$share/zsh/vendor-completions"
    mv "$share/zsh/site-functions/_fanfare" "$share/zsh/vendor-completions"
    rmdir "$share/zsh/site-functions"
    install -D --mode 644 deploy/fanfare.yaml "$stage/etc/fanfare/fanfare.yaml"
    # systemd reads the keys as root and passes them to the daemon.
    install --directory --mode 700 "$stage/etc/fanfare/credentials"
    install --directory "$stage/DEBIAN"
    install --mode 755 --target-directory "$stage/DEBIAN" deploy/debian/{postinst,prerm,postrm}
    echo /etc/fanfare/fanfare.yaml > "$stage/DEBIAN/conffiles"
}

# debian_changelog VERSION
debian_changelog() {
    printf '%s (%s) unstable; urgency=medium\n\n  * Built from the sources; changelog.gz says what changed.\n\n -- %s  %s\n' \
        "$name" "$1" "$(maintainer)" "$(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")"
}

maintainer() { echo "${DEBFULLNAME:-Fanfare} <${DEBEMAIL:-root@localhost}>"; }

# Prints the version in Debian's order: 1.0.0-rc.1 sorts before 1.0.0.
version() {
    local version
    version=$("$program" --version | sed --quiet --regexp-extended '1s/^([0-9][^ ,]*)$/\1/p')
    [[ -n "$version" ]] || fail "$program does not tell its version; '$name --version' has to print '1.2.3'"
    echo "${version//-/\~}-1"
}

# Prints the packages of the libraries that the program is linked to, each with its minimum version.
libraries() {
    mkdir -p "$made/debian"
    printf 'Source: fanfare\n\nPackage: fanfare\nArchitecture: any\n' > "$made/debian/control"
    (cd "$made" && dpkg-shlibdeps -O "$(place)" 2> "$made/warnings") | sed --quiet 's/^shlibs:Depends=//p' \
        || { cat "$made/warnings" >&2 && fail "dpkg-shlibdeps does not know what the program is linked to"; }
}

# relations VERSION LIBRARIES: prints the package's dependencies and its description.
relations() {
    if [[ "$name" == fanfare ]]; then
        cat << END
Depends: adduser, ca-certificates, tzdata, $2
Suggests: postgresql, fanfare-lab
Section: net
Priority: optional
Description: push-notification fan-out from PostgreSQL
 A row changes, and a trigger emits an event in the same transaction. This
 daemon hears it, finds the rules for it, turns topics, conditions and users
 into devices, and pushes to APNs, FCM, Web Push and webhooks over HTTP/2, with collapse
 ids, retries and pruning of dead tokens. PostgreSQL is the only state and the
 only coordinator.
 .
 It is not started by itself: it needs a configuration, the keys of the push
 services, and its schema in a database.
END
    else
        cat << END
Source: fanfare
Depends: fanfare (= $1), $2
Suggests: postgresql
Section: devel
Priority: optional
Description: simulated push services, a demo and a benchmark for Fanfare
 The commands fanfare sandbox, fanfare dev and fanfare bench: push services
 simulated on loopback with real TLS and HTTP/2, a demo with a private
 PostgreSQL cluster, and measurements. For machines that develop and test
 rules; what only sends needs none of it.
END
    fi
}

# write_control VERSION
write_control() {
    local dependencies
    dependencies=$(libraries)
    [[ "$dependencies" == *libpq5* ]] || fail "dpkg-shlibdeps found too little: '$dependencies'"
    install --directory "$stage/DEBIAN"
    (cd "$stage" && find usr -type f -print0 | sort --zero-terminated | xargs --null md5sum) > "$stage/DEBIAN/md5sums"
    {
        printf '%s\n' "Package: $name" "Version: $1" "Architecture: $(dpkg --print-architecture)" \
            "Maintainer: $(maintainer)" \
            "Installed-Size: $(du --apparent-size --summarize --block-size=1K --exclude=DEBIAN "$stage" | cut --fields=1)"
        relations "$1" "$dependencies"
    } > "$stage/DEBIAN/control"
}

main() {
    local tool version package
    read_arguments "$@"
    for tool in dpkg-deb dpkg-shlibdeps strip; do
        command -v "$tool" > /dev/null || fail "$tool is missing; on Debian: apt install dpkg-dev" 69
    done
    umask 022
    # The time of the commit, so that the build is reproducible; a copy without history uses the time of its files.
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log --max-count=1 --format=%ct 2> /dev/null || stat --format=%Y CHANGELOG.md)}
    export SOURCE_DATE_EPOCH
    [[ -n "$program" ]] || program=$(deploy/release.sh "$name")
    [[ -n "${DEBEMAIL:-}" ]] || echo "package: its maintainer is $(maintainer); DEBFULLNAME and DEBEMAIL name another" >&2
    version=$(version)
    stage_files "$version"
    write_control "$version"
    mkdir -p "$output"
    package=$output/${name}_${version}_$(dpkg --print-architecture).deb
    echo "package: compressing; takes up to a minute" >&2
    dpkg-deb --root-owner-group --build "$stage" "$package" > /dev/null
    echo "package: $(du --apparent-size --block-size=1K "$package" | cut --fields=1) KB, of which the program has, unpacked," \
        "$(du --apparent-size --block-size=1K "$(place)" | cut --fields=1) KB" >&2
    echo "$package"
}

main "$@"

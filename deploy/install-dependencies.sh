#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that building, testing and the quick start need, if any is missing.
#
#   install-dependencies.sh           install what is missing, as root or through sudo
#   install-dependencies.sh --check   only list it; exit 1 if something is missing
#   install-dependencies.sh --faults  the packages of deploy/faults.sh too: PgBouncer, which is not left running, and
#                                     libfaketime
#   install-dependencies.sh --schedules  the packages of deploy/schedules.sh too: pg_cron and busybox
#   install-dependencies.sh --clients  those of deploy/clients.sh, deploy/contract.sh and deploy/testing.sh too: curl, jq, Python with
#                                     pytest, and Node
#   install-dependencies.sh --bareroot  the packages of deploy/bareroot.sh too
#   install-dependencies.sh --browser  the packages of tests of pages too: Chromium and its driver
#   install-dependencies.sh --metrics  the packages of deploy/metrics.sh and of tests of the metrics too: Prometheus' tools, without a
#                                     running server, and jq
#
# Exit codes: 0 nothing is missing (any more), 1 something is missing, 64 usage, 69 it cannot be installed here.
set -euo pipefail

readonly minimum_postgres=15
with_faults=false
with_bareroot=false
with_browser=false
with_clients=false
with_metrics=false
with_schedules=false
# Files that exist only while packages are installed.
for_now=()
trap '((${#for_now[@]} == 0)) || as_root rm -f "${for_now[@]}"' EXIT

# Prints the missing packages. Checks for programs and libraries, not for packages: other installations are accepted.
missing_packages() {
    local have_pkg_config=true
    if ! command -v pkg-config > /dev/null; then
        have_pkg_config=false
        echo pkg-config
    fi
    library libpq libpq-dev "$have_pkg_config"
    library libcurl libcurl4-openssl-dev "$have_pkg_config"
    library openssl libssl-dev "$have_pkg_config"
    library libnghttp2 libnghttp2-dev "$have_pkg_config"
    has_postgres || echo postgresql
    # Debian leaves sbin out of an ordinary user's PATH.
    PATH="$PATH:/usr/sbin:/sbin" command -v nghttpd > /dev/null || echo nghttp2-server
    if "$with_schedules"; then
        command -v busybox > /dev/null || echo busybox-static
        compgen -G '/usr/share/postgresql/*/extension/pg_cron.control' > /dev/null || echo postgresql-15-cron
    fi
    if "$with_clients"; then
        command -v curl > /dev/null || echo curl
        command -v python3 > /dev/null || echo python3
        python3 -c 'import ensurepip, venv' 2> /dev/null || echo python3-venv
        command -v node > /dev/null || echo nodejs
        command -v pytest > /dev/null || echo python3-pytest
        command -v jq > /dev/null || echo jq
    fi
    if "$with_browser"; then
        command -v chromedriver > /dev/null || printf '%s\n' chromium chromium-driver
    fi
    if "$with_bareroot"; then
        PATH="$PATH:/usr/sbin:/sbin" command -v debootstrap > /dev/null || echo debootstrap
        command -v dpkg-shlibdeps > /dev/null || echo dpkg-dev
    fi
    if "$with_metrics"; then
        command -v promtool > /dev/null && command -v prometheus > /dev/null || echo prometheus
        command -v jq > /dev/null || echo jq
        command -v python3 > /dev/null || echo python3
        command -v curl > /dev/null || echo curl
    fi
    "$with_faults" || return 0
    PATH="$PATH:/usr/sbin:/sbin" command -v pgbouncer > /dev/null || echo pgbouncer
    command -v faketime > /dev/null || echo faketime
}

# library MODULE PACKAGE HAVE_PKG_CONFIG: prints the package unless the module's headers are there.
library() {
    local module=$1 package=$2 have_pkg_config=$3
    if "$have_pkg_config" && pkg-config --exists "$module"; then return; fi
    if ! "$have_pkg_config" && is_installed "$package"; then return; fi
    echo "$package"
}

is_installed() {
    command -v dpkg-query > /dev/null \
        && [[ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2> /dev/null)" == installed ]]
}

# Returns whether a supported PostgreSQL server is installed; Debian keeps it out of PATH.
has_postgres() {
    local program version
    for program in /usr/lib/postgresql/*/bin/postgres "$(command -v postgres || true)"; do
        [[ -x "$program" ]] || continue
        version=$("$program" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
        if ((version >= minimum_postgres)); then return 0; fi
    done
    return 1
}

fail() {
    echo "install-dependencies: $1" >&2
    exit 69
}

# Runs a command as root, without a password prompt if there is no terminal.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo --non-interactive "$@"
    fi
}

install_packages() {
    command -v apt-get > /dev/null \
        || fail "missing: $*. This is neither Debian nor Ubuntu: install what these packages hold by your system's own means."
    if ((EUID != 0)) && ! command -v sudo > /dev/null; then
        fail "missing: $*. Run as root: apt-get install $*"
    fi
    echo "install-dependencies: installing $*" >&2
    as_root apt-get update --quiet=2 || echo "install-dependencies: package lists could not be refreshed" >&2
    # The quick start and the tests use private clusters; installing a server must not start one of its own.
    local keep_off=/etc/postgresql-common/createcluster.d/fanfare-no-main.conf
    if [[ " $* " == *" postgresql "* ]] && ! [[ -e /etc/postgresql ]]; then
        as_root mkdir -p "${keep_off%/*}"
        echo "create_main_cluster = false" | as_root tee "$keep_off" > /dev/null
        for_now+=("$keep_off")
    fi
    # Tests start their own servers. Debian asks this program whether an installed service may be started; an existing one is kept.
    local policy=/usr/sbin/policy-rc.d
    if [[ " $* " == *" prometheus "* || " $* " == *" pgbouncer "* ]] && ! [[ -e "$policy" ]]; then
        printf '#!/bin/sh\n# Of fanfare install-dependencies, while it installs: nothing is started.\nexit 101\n' | as_root tee "$policy" > /dev/null
        as_root chmod 755 "$policy"
        for_now+=("$policy")
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "$@" \
        || fail "apt-get could not install: $*. See its message above."
    # The service must not start at boot either.
    local service
    for service in pgbouncer prometheus; do
        if [[ " $* " == *" $service "* ]] && command -v systemctl > /dev/null; then
            as_root systemctl disable --now --quiet "$service" 2> /dev/null || true
        fi
    done
}

main() {
    local packages
    case "${1:-}" in
        "" | --check) ;;
        --faults) with_faults=true ;;
        --bareroot) with_bareroot=true ;;
        --schedules) with_schedules=true ;;
        --clients) with_clients=true ;;
        --browser) with_browser=true ;;
        --metrics) with_metrics=true ;;
        *)
            echo "usage: install-dependencies.sh [--check | --faults | --schedules | --clients | --browser | --bareroot | --metrics]" >&2
            exit 64
            ;;
    esac
    mapfile -t packages < <(missing_packages)
    if ((${#packages[@]} == 0)); then return 0; fi
    if [[ "${1:-}" == --check ]]; then
        echo "install-dependencies: missing: ${packages[*]}" >&2
        exit 1
    fi
    install_packages "${packages[@]}"
    mapfile -t packages < <(missing_packages)
    if ((${#packages[@]} > 0)); then
        fail "still missing after the installation: ${packages[*]} (PostgreSQL has to be $minimum_postgres or newer)"
    fi
}

main "$@"

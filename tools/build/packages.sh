#!/usr/bin/env bash
# Makes sure that groups of third_party/debian-packages.txt are installed:  packages.sh GROUP...
# Silent when nothing is missing. Installs with apt where that is possible, else says what is needed and exits 1.
set -euo pipefail

list="${BASH_SOURCE[0]%/*}/../../third_party/debian-packages.txt"

# Fills wanted (package names in order) and reason (package -> why) from the groups named.
declare -A reason=()
wanted=()
read_list() {
    local group='' name why
    while read -r name why; do
        case "$name" in
        '' | '#'*) ;;
        '['*) group="${name//[\[\]]/}" ;;
        *)
            if [[ " $* " == *" $group "* ]]; then
                wanted+=("$name")
                reason[$name]=$why
            fi
            ;;
        esac
    done <"$list"
}

# Prints those of wanted that are not installed.
missing_packages() {
    local name state
    local -A installed=()
    if command -v dpkg-query >/dev/null; then
        while read -r name state; do
            [[ $state == installed ]] && installed[$name]=1
        done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null)
    fi
    for name in "${wanted[@]}"; do
        [[ ${installed[$name]:-} ]] || echo "$name"
    done
}

read_list "$@"
mapfile -t missing < <(missing_packages)
((${#missing[@]})) || exit 0

{
    echo "onstage needs these Debian packages, which are not installed:"
    for name in "${missing[@]}"; do printf '  %-22s %s\n' "$name" "${reason[$name]}"; done
} >&2

if ! command -v apt-get >/dev/null; then
    echo "This is not Debian or Ubuntu: install what these packages hold, headers and libraries under /usr." >&2
    echo "(ONSTAGE_SKIP_PACKAGES=1 skips this check.)" >&2
    exit 1
elif ((EUID != 0)) && ! { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }; then
    echo "Neither root nor sudo here. As root, run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

echo "Installing them, and what they need, with apt:" >&2
"${BASH_SOURCE[0]%/*}/apt_install.sh" "${missing[@]}"

#!/usr/bin/env bash
# Installs Debian packages and shows progress in place of apt's output:  apt_install.sh PACKAGE...
# On a terminal one line is rewritten, elsewhere there are few plain lines. apt's output goes to a file, which is kept and shown where
# the installation fails. Uses sudo unless it is root.
set -uo pipefail

# How many seconds to wait while another program installs packages.
PATIENCE=${ONSTAGE_PACKAGES_PATIENCE:-300}

as_root=()
((EUID == 0)) || as_root=(sudo)
log=$(mktemp "${TMPDIR:-/tmp}/onstage-packages.XXXXXX") || exit 1
terminal='' columns=80
if [[ -t 2 ]]; then
    terminal=yes
    columns=$(tput cols 2>/dev/null) || columns=80
fi

# Says $1: on a terminal in the place of what was said before.
say() {
    if [[ $terminal ]]; then printf '\r\033[K%s' "${1:0:columns-1}"; else echo "$1"; fi >&2
}

# Clears the line of a terminal.
end_line() { [[ ! $terminal ]] || printf '\r\033[K' >&2; }

# Says $3 with $1, which changes often; $2 is the percentage that is done. Where there is no terminal, each quarter is said once.
quarter=-1
say_progress() {
    if [[ $terminal ]]; then
        say "$1"
    elif (($2 / 25 != quarter)); then
        quarter=$(($2 / 25))
        say "$1"
    fi
}

megabytes() { echo "$((($1 + 500000) / 1000000))"; }

# Reads what apt reports of its state, which is lines "dlstatus:FILE:PERCENT:TEXT" and "pmstatus:PACKAGE:PERCENT:TEXT".
show_installation() {
    local line kind percent text unpacked=0 installed=0 last=''
    while read -r line; do
        # A package's name may hold a colon, too.
        [[ $line =~ ^([a-z]+):.*:\ *([0-9]+)(\.[0-9]+)?:(.*)$ ]] || continue
        kind=${BASH_REMATCH[1]} percent=${BASH_REMATCH[2]} text=${BASH_REMATCH[4]}
        [[ $kind == "$last" ]] || quarter=-1
        last=$kind
        case "$kind:$text" in
        dlstatus:*) say_progress "  fetching: $(megabytes $((percent * bytes / 100))) of $(megabytes "$bytes") MB" "$percent" ;;
        pmstatus:Unpacking*) unpacked=$((unpacked + 1)) ;;&
        pmstatus:Installed*) installed=$((installed + 1)) ;;&
        pmstatus:*) say_progress "  installing: $unpacked of $packages unpacked, $installed set up; ${text,}" "$percent" ;;
        esac
    done
}

# Runs apt-get with these arguments; its state goes to standard output, all else to the log.
apt() {
    # The shell, since sudo passes on no further file.
    # shellcheck disable=SC2016  # for the inner shell
    "${as_root[@]}" sh -c 'exec "$@" 3>&1 >&2' sh env LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o APT::Status-Fd=3 "$@" 2>>"$log" </dev/null
}

# Runs $1, a function, again as long as another program holds apt's locks.
patiently() {
    local begin said=''
    while begin=$(wc -c <"$log") && ! "$1"; do
        holder=$(tail -c "+$((begin + 1))" "$log" | sed -nE 's/^E: Could not get lock.*held by (process .*)/\1/p' | head -1)
        tail -c "+$((begin + 1))" "$log" | grep -q '^E: Could not get lock' && ((SECONDS < PATIENCE)) || return 1
        if [[ $terminal || ! $said ]]; then say "  waiting for another program that installs packages: ${holder:-unknown}"; fi
        said=yes
        sleep 2
    done
}

update() { apt update >/dev/null; }
install() { apt install -y --no-install-recommends "${wanted[@]}" | show_installation; }

# What can be done about the failure that the log tells of.
remedy() {
    if grep -q '^E: Could not get lock' "$log"; then
        echo "Another program is installing packages (${holder:-unknown}). Give the command again when it has ended."
    elif grep -qE 'resolving|Could not resolve|Could not connect|Unable to connect|Network is unreachable|timed out' "$log"; then
        echo "The archive of packages cannot be reached. Check the network. Behind a proxy, apt wants a line in a file of /etc/apt/apt.conf.d:"
        echo "  Acquire::http::Proxy \"http://HOST:PORT\";"
    elif grep -qE "No space left|don't have enough free space" "$log"; then
        echo "The disk is full."
    elif grep -q 'dpkg was interrupted' "$log"; then
        echo "An earlier installation was interrupted. As root, run: dpkg --configure -a"
    elif grep -qE '404 +Not Found|Hash Sum mismatch|does not have a Release file' "$log"; then
        echo "The archive of packages is being changed, or has moved (/etc/apt/sources.list, /etc/apt/sources.list.d). Try again later."
    elif grep -qE 'Unable to locate package|has no installation candidate' "$log"; then
        echo "The archives of this system lack a package. onstage is built on Debian 12 and 13. Ubuntu is not tried; its"
        echo "packages are in the part 'universe' (add-apt-repository universe)."
    elif grep -qE 'unmet dependencies|held broken packages' "$log"; then
        echo "Packages of this system contradict each other. As root, run: apt-get --fix-broken install"
    fi
}

fail() {
    end_line
    {
        echo "The packages could not be installed. The end of apt's output:"
        tail -n 12 "$log" | sed 's/^/  | /'
        remedy
        echo "All of apt's output: $log"
    } >&2
    exit 1
}

wanted=("$@")
holder=''
# Asks for the password, if at all, before there is progress to be shown.
if ((EUID != 0)) && ! sudo -v; then
    echo "sudo refuses. As root, run: apt-get update && apt-get install -y --no-install-recommends ${wanted[*]}" >&2
    exit 1
fi
say "  reading the lists of packages"
# What fails here need not matter: the lists that were there may do, and another archive may be the one that is not reached.
patiently update || true
# What is to come, as apt sees it: "N upgraded, N newly installed, …", and for each file 'ADDRESS' NAME BYTES DIGEST.
coming=$(LC_ALL=C apt-get install -y --no-install-recommends --print-uris "${wanted[@]}" 2>>"$log") || fail
packages=$(sed -nE 's/^([0-9]+) upgraded, ([0-9]+) newly installed.*/\1 + \2/p' <<<"$coming")
packages=$((${packages:-0}))
bytes=$(awk "/^'/ { bytes += \$3 } END { printf \"%d\", bytes }" <<<"$coming")
patiently install || fail
end_line
rm -f "$log"
echo "  installed $packages packages, $(megabytes "$bytes") MB fetched, in $SECONDS s" >&2

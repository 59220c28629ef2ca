#!/usr/bin/env bash
# Runs a command of this project on another Debian: in a root folder of that release, made once with debootstrap, on a
# copy of this tree as it lies here (what git ignores is left out).
#   tools/build/other_debian.sh                                 .ci/run default on Debian 13, or on 12 where this is 13
#   tools/build/other_debian.sh trixie ./bazelw test //tests/rooms/kernels/...
# The last lines are the command's: "N passed, N failed" after .ci/run. Where there is no root, no debootstrap or no way
# to the packages it prints "not run: REASON" and succeeds.
#   ONSTAGE_DEBIAN_ROOTS    the folder of these roots (default: ~/.cache/onstage/debian); 8 GB each after a run
#   ONSTAGE_DEBIAN_MIRROR   where the packages are (default: this machine's own mirror)
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../.."

not_run() {
    echo "=== ${suite}: not run: $1"
    exit 0
}

other_suite() {
    local codename=''
    # shellcheck source=/dev/null
    [[ ! -r /etc/os-release ]] || codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [[ $codename == trixie ]] && echo bookworm || echo trixie
}

# The mirror that this machine's apt uses for Debian, if it does.
mirror() {
    local known=''
    # shellcheck disable=SC2016  # apt expands them
    known=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        'Component: main' 2>/dev/null | head -n 1) || true
    echo "${ONSTAGE_DEBIAN_MIRROR:-${known:-http://deb.debian.org/debian}}"
}

# What apt knows about reaching packages from here, such as a proxy.
apt_access() { apt-config dump | grep -E '^Acquire::(https?|Retries|ForceIPv[46]|Check-(Date|Valid-Until))\b' || true; }

make_root() {
    [[ ! -e $root/made ]] || return 0
    tools/build/packages.sh debian >&2 || not_run "debootstrap is not installed"
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$suite" "$root" "$(mirror)" >"$root.log" 2>&1 ||
        not_run "debootstrap did not succeed, see $root.log"
    apt_access >"$root/etc/apt/apt.conf.d/99host"
    touch "$root/made"
}

copy_tree() {
    local file
    rm -rf "$root/onstage"
    mkdir "$root/onstage"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"
    done | tar --create --null --files-from=- | tar --extract --no-same-owner --directory="$root/onstage"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

suite=${1:-$(other_suite)}
command=("${@:2}")
((${#command[@]})) || command=(.ci/run default)
root="${ONSTAGE_DEBIAN_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/onstage/debian}/$suite"

((EUID == 0)) || not_run "only root can make it"
command -v git >/dev/null || not_run "git is not installed"
# Mounts and processes, the Bazel server among them, end with the command.
own=(unshare --mount --pid --fork --kill-child)
"${own[@]}" true 2>/dev/null || not_run "mounting is not allowed here"
mkdir -p "${root%/*}"
exec 9>"$root.lock" # one at a time; the next one waits
flock 9
make_root
copy_tree
echo "=== $suite: ${command[*]}"
# shellcheck disable=SC2016  # expanded by the inner shells
"${own[@]}" bash -c '
    set -e
    root=$1
    shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c "cd /onstage && exec \"\$@\"" bash "$@"
' bash "$root" "${command[@]}" &
inside=$!
# unshare itself does not listen; with it everything inside ends.
trap 'kill -KILL "$inside"; exit 130' INT TERM
wait "$inside"

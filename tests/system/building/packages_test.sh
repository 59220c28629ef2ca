#!/usr/bin/env bash
# How packages are installed, with an apt that only pretends: progress, and what to do where it fails.
set -uo pipefail
source "$PWD/tests/system/building/cases.sh"

export TMPDIR=$work/logs ONSTAGE_PACKAGES_PATIENCE=3 FAKE=$work/fake
mkdir "$TMPDIR" "$FAKE"
# The one who is not root has a sudo, which only runs the command.
# shellcheck disable=SC2016  # for the program
program sudo 'case $1 in -v) exit 0 ;; -n) shift ;; esac; exec "$@"'
program dpkg-query 'echo "gcc installed"; echo "zlib1g-dev not-installed"'
# $FAKE/update and $FAKE/install hold what apt-get does for these commands.
# shellcheck disable=SC2016  # for the program
program apt-get '
echo "apt-get $*" >>"$FAKE/calls"
case "$*" in
*--print-uris*)
    echo "1 upgraded, 2 newly installed, 0 to remove and 0 not upgraded."
    for size in 1000000 2000000 7000000; do echo "'\''http://x/y.deb'\'' y.deb $size SHA256:0"; done
    ;;
*" update"*) source "$FAKE/update" ;;
*" install "*) source "$FAKE/install" ;;
esac'

good_install() {
    cat >"$FAKE/install" <<'END'
echo "Need to get 10.0 MB of archives."
for percent in 0.0000 10.0000 30.0000 60.0000 100.0000; do echo "dlstatus:1:$percent:Retrieving file 1 of 3" >&3; done
echo "pmstatus:dpkg-exec:0.0000:Running dpkg" >&3
for name in a b:amd64 c; do echo "pmstatus:$name:30.0000:Unpacking $name (amd64)" >&3; done
for name in a b c; do echo "pmstatus:$name:90.0000:Installed $name (amd64)" >&3; done
END
}
# Installs whatever of [build] the machine is said to lack; what it prints is in the file output.
install() { "$root/tools/build/packages.sh" "$@" >"$work/output" 2>&1; }
begin() {
    rm -f "$FAKE/calls" "$TMPDIR"/*
    : >"$FAKE/update"
    good_install
}
fails_with() { # WHAT APT SAYS
    begin
    printf 'echo "E: %s" >&2\nexit 100\n' "$1" >"$FAKE/install"
    ! install build
}

begin
check "installs" install build
check "says what is missing, and why" says '^  zlib1g-dev +\.gz and \.npz files'
check "not what is there" says_not '^  gcc '
check "asks apt for what is missing" grep -qE 'install -y --no-install-recommends .*zlib1g-dev' "$FAKE/calls"
check "megabytes" says '^  fetching: 6 of 10 MB$'
check "packages" says '^  installing: 3 of 3 unpacked, 1 set up; installed a \(amd64\)$'
check "the end" says '^  installed 3 packages, 10 MB fetched, in [0-9]+ s$'
check "apt's own words are not shown" says_not 'Need to get|status'
check "few lines" test "$(grep -c '^  fetching' "$work/output")" -le 5
no_logs() { [[ -z $(ls "$TMPDIR") ]]; }
check "no log is left" no_logs

begin
program dpkg-query 'for name in "${@:4}"; do echo "$name installed"; done'
check "nothing is missing" install build
check "and nothing is said" test ! -s "$work/output"
program dpkg-query 'exit 1'

check "without a network" fails_with "Failed to fetch http://x/y.deb  Temporary failure resolving 'x'"
check "says so" says 'cannot be reached. Check the network'
check "and shows the end of the log" says "^  \| E: Failed to fetch"
log_is_there() { grep -q 'Temporary failure' "$(sed -n "s/^All of apt's output: //p" "$work/output")"; }
check "and keeps it" log_is_there
check "an interrupted installation" fails_with "dpkg was interrupted, you must manually run 'dpkg --configure -a'"
check "says what to run" says 'As root, run: dpkg --configure -a'
check "a package that is not there" fails_with 'Unable to locate package libdnnl-dev'
check "names Ubuntu's universe" says 'universe'
check "a full disk" fails_with "You don't have enough free space in /var/cache/apt/archives/."
check "is said" says 'disk is full'

locked="Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 123 (unattended-upgr)"
check "a lock that is held for too long" fails_with "$locked"
check "waits and says for whom" says 'waiting for another program that installs packages: process 123 \(unattended-upgr\)'
check "and what to do" says 'Give the command again when it has ended'
begin
mv "$FAKE/install" "$FAKE/later"
# shellcheck disable=SC2016  # for the program
printf 'if [[ -e $FAKE/once ]]; then source "$FAKE/later"; else touch "$FAKE/once"; echo "E: %s" >&2; exit 100; fi\n' "$locked" >"$FAKE/install"
check "a lock that is let go" install build
check "is waited for" says 'waiting for another program'

begin
printf 'echo "E: The repository http://other/ does not have a Release file." >&2; exit 100\n' >"$FAKE/update"
check "an archive of others that is gone does not matter" install build
report_and_exit

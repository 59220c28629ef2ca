# shellcheck shell=bash
# What these tests share: a folder to work in, programs that only pretend, and the ways to state what must happen. Sourced.

root=$PWD
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
# shellcheck disable=SC2034  # for those who source this
tools_path=$PATH
PATH=$work/bin:$PATH
passed=0 failed=0

# A program $1 of the lines $2, found before the real one.
program() {
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# NAME COMMAND...: the command succeeds.
check() {
    if "${@:2}"; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
        sed 's/^/    /' "$work/output" 2>/dev/null
    fi
}
says() { grep -qE -- "$1" "$work/output"; }
says_not() { ! says "$1"; }

report_and_exit() {
    echo "$passed passed, $failed failed"
    ((failed == 0))
    exit
}

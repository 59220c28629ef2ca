#!/usr/bin/env bash
# Which groups of packages bazelw asks for: what the command needs and nothing else.
set -uo pipefail
source "$PWD/tests/system/building/cases.sh"

tree=$work/tree
mkdir -p "$tree/tools/build" "$tree/tests/rooms/graph" "$tree/kernels"
cp "$root/bazelw" "$tree/"
printf '#!/bin/sh\necho "$*" >"%s/groups"\n' "$work" >"$tree/tools/build/packages.sh"
chmod +x "$tree/tools/build/packages.sh"
# shellcheck disable=SC2016  # for the program
program bazel 'printf "%s\n" "$@" >"${0%/*}/../arguments"'

# GROUPS COMMAND...: in the folder $here of the tree, bazelw asks for these groups and passes the arguments on.
here=.
asks() {
    local groups=$1
    shift
    rm -f "$work/groups" "$work/arguments"
    (cd "$tree/$here" && "$tree/bazelw" "$@") >"$work/output" 2>&1 || return 1
    [[ $(cat "$work/groups" 2>/dev/null) == "$groups" && $(tail -n $# "$work/arguments") == "$(printf '%s\n' "$@")" ]]
}

check "an example needs the program's packages" asks "build" run //examples:mnist
check "what follows -- is the program's" asks "build" run //tools:onstage -- train //... //tests:x
check "the command by its short name" asks "build" build //:onstage
check "options are no targets" asks "build" build --config=cuda --test_output=all -c dbg //kernels:cuda_0
check "options before the command" asks "build test" --output_base /x test //kernels:x
check "tests" asks "build test" test //...
check "all targets" asks "build test" build //...
check "a target of a test among others" asks "build test" build //tools:onstage //tests/rooms/kernels:harness
check "a benchmark" asks "build test" run //bench:operators -- Relu
check "the suite of all tests" asks "build test" build //:test
check "from another workspace" asks "build" build @onstage//tools:onstage
check "tests from another workspace" asks "build test" build @onstage//tests/rooms/graph:fixture
check "names without slashes" asks "build test" build tests/rooms/graph:fixture
check "nothing is built" asks "" info bazel-bin
check "the server ends" asks "" shutdown
here=tests/rooms/graph
check "a name that begins in a folder of tests" asks "build test" build :fixture
here=kernels
check "a name that begins in another folder" asks "build" build :kernels
report_and_exit

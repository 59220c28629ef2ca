#!/usr/bin/env bash
# Checks the C sources of this repository.
#   tools/build/lint.sh           all checks; ends with "N passed, N failed"
#   tools/build/lint.sh change    the same, but clang-tidy follows paths (clang-analyzer-*), which takes twenty times as long as its
#                                 other checks together, in the files of the last 30 commits only
#   tools/build/lint.sh format    layout only (clang-format)
#   tools/build/lint.sh tidy      suspicious code only (clang-tidy)
#   tools/build/lint.sh fix       rewrites the layout in place
# clang-tidy is slow, so a file is looked at again only when it, a header of ours that it includes, or the rules changed.
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/onstage/clang-tidy"

# Names of the C files of the repository, NUL-terminated: tracked ones and new ones. Arguments: patterns.
sources() {
    local file
    git ls-files -z --cached --others --exclude-standard -- "$@" | sort -zu |
        while IFS= read -r -d '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done
}

check_format() { sources '*.c' '*.h' '*.cu' '*.cuh' | xargs -0 -r clang-format --dry-run -Werror; }

fix_format() { sources '*.c' '*.h' '*.cu' '*.cuh' | xargs -0 -r clang-format -i; }

# The digest of all that a finding in file $1 can depend on.
# shellcheck disable=SC2046,SC2086  # lists of flags and names
digest() {
    local headers
    headers=$(gcc -MM -MG $tidy_flags "$1" | sed 's/^[^:]*://; s/\\$//')
    {
        echo "$tidy_checks $tidy_flags"
        clang-tidy --version
        cat .clang-tidy "$1" $(for header in $headers; do [[ ! -f $header ]] || echo "$header"; done)
    } | sha256sum | cut -d ' ' -f 1
}

# Looks at file $1 unless its digest is known to be clean. Prints the findings.
# shellcheck disable=SC2086  # a list of flags
tidy_file() {
    local stamp output
    stamp="$cache/$(digest "$1")"
    [[ ! -e $stamp ]] || return 0
    if output=$(clang-tidy --quiet --checks="$tidy_checks" "$1" -- $tidy_flags 2>&1); then
        touch "$stamp"
    else
        printf '%s\n' "$output" | grep -vE '^[0-9]+ warnings? (generated|treated as error)|^Suppressed' || true
        return 1
    fi
}

# Looks at the C files of the patterns given, with clang-tidy's checks $1 beside those of .clang-tidy. Cases are lists of numbers.
tidy_sources() {
    export tidy_checks="$1"
    # shellcheck disable=SC2016  # for the inner shell
    sources "${@:2}" ':!kernels/*_cases.c' "${without[@]}" | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'tidy_file "$1"' tidy
}

# The C files that the last 30 commits changed; none where the clone does not hold as many.
recent_sources() { git diff --name-only 'HEAD~30' -- '*.c' 2>/dev/null || true; }

check_tidy() {
    local bin cuda=/usr/local/cuda without=() recent
    ./bazelw build //third_party/onnx:onnx_proto_c //planner/cost:profiles || return 1
    bin=$(./bazelw info bazel-bin 2>/dev/null)
    mkdir -p "$cache"
    export cache
    export tidy_flags="-std=gnu17 -D_GNU_SOURCE -DONS_CPU_VARIANT=baseline -fopenmp -Iinclude -iquote . -iquote $bin -isystem $bin/third_party/onnx $(mpicc --showme:compile)"
    # What includes CUDA's headers can be looked at where they are.
    if [[ -d $cuda/include ]]; then
        tidy_flags+=" -isystem $cuda/include"
    else
        without=(':!device/cuda.c' ':!device/cuda_compiler.c' ':!*_cuda.c' ':!tests/fake_gpu/cuda_runtime/*'
            ':!kernels/common/cudnn/*' ':!kernels/common/gemm/cublaslt.c')
    fi
    export -f digest tidy_file
    if [[ $scope == all ]]; then
        tidy_sources '' '*.c'
    else
        tidy_sources '-clang-analyzer-*' '*.c' || return 1
        mapfile -t recent < <(recent_sources)
        ((${#recent[@]} == 0)) || tidy_sources '' "${recent[@]}"
    fi
}

# Kernels of CUDA, as the emulation compiles them: by an ordinary compiler, without CUDA's headers. Formulas alone are looked at, as
# the analyser would follow every combination of templates.
check_cuda() {
    local units=//tests/rooms/kernels/emulation:units emulation=tests/rooms/kernels/emulation bin
    ./bazelw build $units || return 1
    bin=$(./bazelw info bazel-bin 2>/dev/null)
    find "$bin/$emulation" -name 'unit_*.cc' -print0 | xargs -0 -r -P "$(nproc)" -I{} clang-tidy --quiet --config-file=.clang-tidy \
        --checks='-clang-analyzer-*' --header-filter='\.cuh?$' {} -- -std=gnu++17 -Wno-unknown-pragmas -I$emulation/include -iquote . \
        -iquote "$bin"
}

# Rooms read the environment through base/environment.h alone, whose table the manual page is made from.
check_environment() {
    ! git grep -nw 'getenv\|secure_getenv' -- 'device/*.[ch]' 'engine/*.[ch]' 'graph/*.[ch]' 'kernels/*.[ch]' 'onnx_import/*.[ch]' \
        'planner/*.[ch]' 'runtime/*.[ch]' 'tools/*.[ch]'
}

# The macro that keeps a header from being read twice is called as the header's path; the public one's is short.
# shellcheck disable=SC2016  # awk's own $
check_guards() {
    sources '*.h' '*.cuh' ':!include/onstage.h' | xargs -0 awk '
        function complain(file, text) { print file ": " text; bad = 1 }
        FNR == 1 {
            if (file != "" && !line) complain(file, "no include guard")
            file = FILENAME; line = 0
            guard = "ONSTAGE_" toupper(file); gsub(/[^A-Z0-9]/, "_", guard)
        }
        !line && $1 == "#ifndef" { line = FNR; if ($2 != guard) complain(file, "the guard is " $2 ", not " guard) }
        line && FNR == line + 1 && ($1 != "#define" || $2 != guard) { complain(file, guard " is not defined") }
        END { if (!line) complain(file, "no include guard"); exit bad }'
}

# A rule that begins a section ends on its own line: the formatter breaks one that is too long, and no one sees it.
check_rules() {
    ! git grep -nE '^/\* -{5,}' -- '*.[ch]' '*.cu' '*.cuh' | grep -vE '\*/$'
}

passed=0 failed=0
# Runs check $1, which is called $2 in the report, and counts it.
count() {
    if "$1"; then
        echo "[ ok ] $2"
        passed=$((passed + 1))
    else
        echo "[FAIL] $2"
        failed=$((failed + 1))
    fi
}

tools/build/packages.sh build test lint
scope="${1:-all}"
case "$scope" in
all | change)
    count check_environment "variables of the environment are in base/environment.inc"
    count check_guards "include guards are called as their files are"
    count check_rules "rules between sections fit one line"
    count check_format "layout (clang-format; tools/build/lint.sh fix mends it)"
    count check_tidy "suspicious code (clang-tidy)"
    count check_cuda "suspicious code in CUDA's kernels (clang-tidy)"
    ;;
format) count check_format "layout (clang-format; tools/build/lint.sh fix mends it)" ;;
tidy)
    scope=all
    count check_tidy "suspicious code (clang-tidy)"
    count check_cuda "suspicious code in CUDA's kernels (clang-tidy)"
    ;;
fix)
    fix_format
    exit
    ;;
*)
    echo "usage: tools/build/lint.sh [all|change|format|tidy|fix]" >&2
    exit 2
    ;;
esac
echo "$passed passed, $failed failed"
((failed == 0))

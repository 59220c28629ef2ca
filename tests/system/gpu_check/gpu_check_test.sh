#!/usr/bin/env bash
# Runs tools/gpu_check.sh in a package whose programs only pretend. What is looked at is the script: it must never call a pass what
# was not tried, keep what it found when its time is over, and write results that can be read.
set -euo pipefail

root=$PWD
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/gpu_check.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}
expect() { grep -qE -- "$2" "$1" || { fail "$1 has no '$2':"; sed 's/^/    /' "$1" >&2; }; }
expect_not() { ! grep -qE -- "$2" "$1" || { fail "$1 has '$2':"; sed 's/^/    /' "$1" >&2; }; }

# A program of these lines in folder $1.
program() { # FOLDER NAME LINES
    printf '#!/usr/bin/env bash\n%s\n' "$3" >"$1/$2"
    chmod +x "$1/$2"
}

# A package in $work/NAME, and a folder of what the machine has.
make_package() {
    package=$work/$1 machine=$work/$1.machine
    mkdir -p "$package/bin" "$package/lib" "$package/gpu" "$package/models" "$machine"
    cp "$root/tools/gpu_check.sh" "$root/bench/hidden_copies.awk" "$package/"
    cp "$root"/tools/gpu/*.sh "$package/gpu/"
    echo v1 >"$package/version"
    local passes='echo "[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0"'
    program "$package/bin" device_test "$passes"
    program "$package/bin" golden_test "$passes"
    program "$package/bin" gpu_nccl_test "[[ \"\$*\" != *several* ]] || echo 'onstage: not run: 2 GPUs are needed, there are 1'; $passes"
    program "$package/bin" cuda_test "echo 'no kernel: If: a \"branch\" is the host'\\''s' >&2; $passes"
    program "$package/bin" step_time 'exit 1'
    program "$package/bin" onstage "$trains"
    program "$machine" python3 'exit 1'
}

# Writes what it is asked for: a model, a plan, a log.
# shellcheck disable=SC2016  # for the program's own shell
trains='while (($#)); do
    case $1 in
    --out) echo "the same" >"$2" ;;
    -o) echo "{\"capacity_bytes\": 100, \"arena_bytes\": 50}" >"$2" ;;
    --log-json) echo "{\"loss\": 2.5, \"val_loss\": 3.5, \"memory_peak_bytes\": 50}" >"$2" ;;
    esac
    shift
done'

has_gpu() { program "$machine" nvidia-smi 'case $* in *name*) echo "Pretended GPU" ;; *) echo 1.2 ;; esac'; }

# The root of a checkout.
checkout=$work/checkout
mkdir -p "$checkout/tests/agreement/golden/mlp"
: >"$checkout/tests/agreement/golden/mlp/model.onnx"

# What it prints goes to $work/out; sets status.
check() { # LIMIT ARGUMENTS...
    local limit=$1
    shift
    status=0
    (cd "$checkout" && PATH=$machine:$PATH LIMIT_SECONDS=$limit LIBRARY_ROOTS=$machine OUT=$work timeout 200 "$package/gpu_check.sh" run results.json "$@" >"$work/out" 2>&1) ||
        status=$?
}

# Braces and quotes fit: a JSON reader would need more than a shell has.
expect_json() {
    tr -d '\n' <"$1" | awk '{
        for (i = 1; i <= length($0); ++i) {
            c = substr($0, i, 1)
            if (inside) { if (c == "\\") ++i; else if (c == "\"") inside = 0 }
            else if (c == "\"") inside = 1
            else if (c == "{" || c == "[") ++depth
            else if (c == "}" || c == "]") { if (last == ",") exit 1; if (--depth < 0) exit 1 }
            if (!inside && c != " ") last = c
        }
        exit depth != 0 || inside
    }' || { fail "$1 is no JSON:"; cat "$1" >&2; }
}

# ---- no GPU: not a pass, and nothing is written
make_package none
program "$machine" nvidia-smi 'exit 9'
check 60
[[ $status == 77 ]] || fail "without a GPU it ends with $status"
expect "$work/out" '^not run: no GPU$'
expect_not "$work/out" 'passed'
[[ ! -e $work/results.json ]] || fail 'results of nothing'
program "$package/bin" device_test 'exit 127'
check 60
[[ $status == 1 ]] || fail "programs that do not start end with $status"

# ---- all that can pass does; what cannot be tried is said
make_package good
has_gpu
check 60
[[ $status == 0 ]] || fail "it ends with $status"
expect "$work/out" '^device +device +passed'
expect "$work/out" '^refusals +If +not run +no kernel on GPUs: a "branch" is the host.s'
expect "$work/out" '^bits +mlp, 4 --pipeline 1f1b +passed'
expect "$work/out" '^nccl +one GPU +passed'
expect "$work/out" '^nccl +several GPUs +not run +not run: 2 GPUs'
expect "$work/out" '^bits +mlp, CUDA graphs on +passed'
expect "$work/out" '^bits +mlp, capuchin +not run +nothing can be saved'
expect "$work/out" '^runs +gpt_tied, validation.s loss +passed +0 off'
expect "$work/out" '^bits +mlp, apart +passed'
expect "$work/out" '^models +networks +not run'
expect "$work/out" '^caps +gpt2 +not run'
expect "$work/out" '^race +race +not run +no torch'
expect "$work/out" '^others +race +not run +no torch'
expect "$work/out" '^race: not run: no torch$'
expect "$work/out" '^smoke +mlp bf16, graphs +passed'
expect "$work/out" '^smoke +gpt2 +not run +no weights and data'
expect "$work/smoke.tsv" '^[0-9]+.versions.passed'
expect "$work/smoke.tsv" '^[0-9]+.epilogues.passed'
[[ $(cut -f 2 "$work/smoke.tsv" | head -3 | paste -sd,) == 'versions,device,first operators' ]] || fail 'the smoke test has another order'
[[ $(grep -nE '^smoke: ' "$work/out" | cut -d: -f 1) -lt $(grep -nE '^device: ' "$work/out" | cut -d: -f 1) ]] || fail 'smoke is not the first'
expect "$work/results.table.txt" '^device +device +passed'
tar -tzf "$work/results.logs.tar.gz" | grep logs/smoke >/dev/null || fail 'no logs are packed'
[[ -L $package/tests ]] || fail 'the test data are not the checkout'"'"'s'
expect_json "$work/results.json"
for each in '"gpu": "Pretended GPU"' '"driver": "1.2"' '"date": "20' '"version": "v1"' '"command": "gpu_check.sh run' '\\"branch\\"' \
    '"numbers": \{"tested": 3\}'; do
    expect "$work/results.json" "$each"
done

# ---- the race in a run of its own: it has nearly all the time, and finds what the run before made
# shellcheck disable=SC2016  # for the program's own shell
program "$machine" python3 'case "$*" in
*models.py\ data*) touch "models/$4.bin"; echo "$4" >>made ;;
*worker.py*) [[ $ONSTAGE_BENCH_CACHE == "$PWD"/* ]] || exit 1; echo "$4" >>warmed ;;
*race.py*)
    echo "$@" >race_arguments
    while [[ $1 != --records ]]; do shift; done
    printf "gpt2 bf16\tpassed\t1.2 of compile\tcompile_ms=1.5 padded_vocabulary=50304\n" >>"$2"
    ;;
esac'
for each in gpt2 resnet50; do echo '{"batch": 4}' >"$package/models/$each.json"; done
check 60 models
expect "$work/out" '^models +networks +passed +2 made, 2 of them compiled'
check 600 models race
[[ $status == 0 ]] || fail "the race by itself ends with $status"
expect_not "$work/out" 'no torch'
expect "$work/out" '^race +gpt2 bf16 +passed'
expect "$work/results.json" '"padded_vocabulary": 50304'
expect "$package/race_arguments" '--seconds 4[89][0-9] .*--models gpt2,resnet50'
[[ $(sort "$package/made" | paste -sd,) == gpt2,resnet50 ]] || fail 'networks were not kept from one run to the next'
[[ $(sort "$package/warmed" | paste -sd,) == gpt2,resnet50 ]] || fail 'what was compiled was not kept from one run to the next'
echo '{"batch": 8}' >"$package/models/gpt2.json"
check 60 models
[[ $(grep -cx gpt2 "$package/made") == 2 ]] || fail 'other networks, but the data of those before'

# ---- other bits, failures, tests that tested nothing, programs that crash
make_package bad
has_gpu
program "$package/bin" onstage "${trains/the same/\$RANDOM \$RANDOM}"
program "$package/bin" golden_test 'echo "[FAIL] golden::trajectory"; echo "[====] Synthesis: Tested: 3 | Passing: 2 | Failing: 1"; exit 1'
program "$package/bin" device_test 'echo "[====] Synthesis: Tested: 0 | Passing: 0 | Failing: 0 | Crashing: 0"'
program "$package/bin" cuda_test 'kill -SEGV $$'
program "$package/bin" gpu_nccl_test "echo 'not run: no GPU: the driver is too old'; echo '[====] Synthesis: Tested: 1 | Passing: 1 | Failing: 0 | Crashing: 0'"
check 60 device operators golden nccl bits runs
[[ $status == 1 ]] || fail "with failures it ends with $status"
expect "$work/out" '^device +device +not run'
expect "$work/out" '^operators +operators, share 1/[0-9]+ +failed +exit 139'
expect "$work/out" '^nccl +one GPU +failed +no GPU: the driver is too old; but nvidia-smi names one'
expect "$work/out" '^golden +golden +failed .*Passing: 2'
expect "$work/out" '^bits +mlp, again +failed +other weights'
expect "$work/out" '^runs +mlp, resumed +failed +other weights'
expect_json "$work/results.json"

# ---- time: a part that hangs is ended, the others have theirs; what was found before is kept
make_package slow
has_gpu
program "$package/bin" golden_test 'echo begins: Conv; sleep 1000'
# shellcheck disable=SC2016  # for the program's own shell
program "$package/bin" onstage '[[ "$*" != *"--stages 4"* ]] || sleep 1000
'"$trains"
sed -i -E 's/ golden:[0-9]+/ golden:5/; s/ bits:[0-9]+/ bits:20/' "$package/gpu_check.sh"
SECONDS=0
check 100 golden bits operators
((SECONDS < 100)) || fail "it took $SECONDS seconds"
[[ $status == 1 ]] || fail "where something hangs it ends with $status"
expect "$work/out" '^golden +golden +failed +exit 124: not done in time; the last it said: begins: Conv'
expect "$work/out" '^bits +mlp, 2 --pipeline 1f1b +passed'
expect "$work/out" '^bits +mlp, 4 --pipeline gpipe +failed +not done in 1[0-9] seconds'
expect "$work/out" '^operators +operators, share 1/[0-9]+ +passed'
expect_json "$work/results.json"

# ---- no time for the rest
check 15 golden bits operators
expect "$work/out" '^bits +mlp, 4 --pipeline gpipe +failed +not done in'
check 12 golden bits operators
expect "$work/out" '^bits +bits +not run +no time left'
expect_json "$work/results.json"

# ---- a step of the smoke test that hangs costs its own time
make_package stuck
has_gpu
program "$package/bin" cuda_test '[[ "$*" != *epilogues* ]] || sleep 1000
echo "[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0"'
sed -i 's/smoke 15 tests_of epilogues/smoke 5 tests_of epilogues/' "$package/gpu/smoke.sh"
check 60 smoke
expect "$work/smoke.tsv" '^[0-9]+.first operators.passed'
expect "$work/smoke.tsv" '^[0-9]+.epilogues.failed.exit 124'
expect "$work/smoke.tsv" '^[0-9]+.mlp bf16, graphs.passed'
(($(sed -nE 's/^([0-9]+).resnet50 profile.*/\1/p' "$work/smoke.tsv") < 15)) || fail 'a step that hangs took the time of others'

# ---- killed at any time, all at once: what was said to be done is in the results
seed=${SEED:-$(($(date +%s) % 100000))}
echo "seed $seed"
RANDOM=$seed
make_package killed
has_gpu
found=0
for ((i = 0; i < 10; ++i)); do
    rm -f "$work"/results.* "$package"/records/*.process
    (cd "$checkout" && PATH=$machine:$PATH LIMIT_SECONDS=60 LIBRARY_ROOTS=$machine OUT=$work exec setsid "$package/gpu_check.sh" run results.json >"$work/out" 2>&1) &
    leader=$!
    sleep "$((RANDOM % 5)).$((RANDOM % 1000))"
    kill -KILL -- "-$leader" 2>/dev/null || true
    # Parts lead groups of their own.
    for each in "$package"/records/*.process; do [[ ! -e $each ]] || kill -KILL -- "-$(cat "$each")" 2>/dev/null || true; done
    wait "$leader" 2>/dev/null || true
    while read -r part; do
        found=$((found + 1))
        grep -q "\"$part\": [0-9]" "$work/results.json" || fail "run $i was killed, and $part is not in its results"
        grep -qE "^$part " "$work/results.table.txt" || fail "run $i was killed, and $part is not in its table"
        tar -tzf "$work/results.logs.tar.gz" "logs/$part" >/dev/null || fail "run $i was killed, and no logs of $part are there"
    done < <(sed -nE 's/^([a-z_]+): [0-9]+ (passed|failed|not run).*, [0-9]+ s$/\1/p' "$work/out")
    [[ ! -e $work/results.json ]] || expect_json "$work/results.json"
done
echo "$found parts were done in runs that were killed"
((found > 0)) || fail 'no run was killed when a part was done'

# ---- wrong words
for each in nonsense 'smoke nonsense'; do
    # shellcheck disable=SC2086  # a list
    check 60 $each
    [[ $status == 2 ]] || fail "an unknown part ends with $status"
done
((failures == 0)) || exit 1
echo "all as it should be"

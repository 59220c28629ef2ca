#!/usr/bin/env bash
# Checks onstage on a machine with an NVIDIA GPU that can build nothing: what is needed is packed where it can be built.
#   tools/gpu_check.sh pack FILE.tar.xz            builds for Hopper (sm_90a) and packs programs, libraries and the benchmarks' graphs (< 30 MiB)
#   FOLDER/gpu_check.sh run [RESULTS.json [PART...]]   from the root of a checkout, whose test data it takes: all parts, or some
#   FOLDER/gpu_check.sh run smoke.json smoke       first: in 4 minutes, what works at all; then checks, race and rest, each in a run of its own
#   FOLDER/gpu_check.sh parts                      what there is to run
# Results, a table and an archive of logs are written after every part; RESULTS.json without a folder lies in $OUT, or here.
# `run` needs the NVIDIA driver and cuBLASLt (CUDA 13); cuDNN, NCCL and NVRTC are used where they are found. Comparisons with PyTorch need a
# python3 with torch and numpy. LIBRARY_ROOTS: folders below which the libraries are looked for. It ends within LIMIT_SECONDS (540): every part
# has a time of its own.
# Exit code 0: nothing failed; 1: something did; 77 with "not run: no GPU" where there is none: that is not a pass.
set -euo pipefail

LIMIT_BYTES=$((30 * 1024 * 1024))
LIMIT_SECONDS=${LIMIT_SECONDS:-540}
# Groups of parts, in this order; a part and its seconds, at most. Checks look at results and run two at a time: more of them have waited for each
# other's start on the GPU longer than they worked (an H100 with 16 processors). All others run one by one, since they take times or look at how
# much memory is free, and may use what those before have left.
SMOKE="smoke:240"
ALONE="device:40"
CHECKS="refusals:20 operators:150 own_kernels:150 golden:240 precision:240 nccl:60 bits:240 bits_bf16:240 replicas:150 runs:150"
RACE_PARTS="models:240 speed:30 race:500"
REST="step:60 caps:100 others:400 sanitizer:110"
PARTS="$SMOKE $ALONE $CHECKS $RACE_PARTS $REST"

# ------------------------------------------------------------------------------------------------------------------ pack

# Copies program $1 into folder $2/bin, stripped, and the libraries that it is linked with into $2/lib; the C library and the
# dynamic loader are the other machine's own.
pack_program() {
    local program=$1 folder=$2 library
    install -m 755 "$program" "$folder/bin/"
    strip --strip-debug "$folder/bin/${program##*/}"
    ldd "$program" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | while read -r library; do
        case ${library##*/} in
        libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | libutil.so.* | libanl.so.* | ld-linux*) ;;
        *) [[ -e $folder/lib/${library##*/} ]] || install -m 644 "$library" "$folder/lib/" ;;
        esac
    done
}

# The benchmarks' networks without weights, kept from one packing to the next in $GRAPHS; a python3 with torch and onnx makes them.
pack_graphs() {
    local folder=$1 graphs=${GRAPHS:-$HOME/.cache/onstage/gpu_graphs}
    mkdir -p "$graphs"
    cmp -s bench/gpu/models.py "$graphs/models.py" || rm -f "$graphs"/*
    if [[ ! -e $graphs/models.py ]]; then
        if ! "${PYTHON:-python3}" -W ignore bench/gpu/models.py graphs "$graphs"; then
            echo "gpu_check: no networks for benchmarks: PYTHON must name a python3 with torch and onnx" >&2
            return 0
        fi
        cp bench/gpu/models.py "$graphs/"
    fi
    cp "$graphs"/*.onnx "$graphs"/*.json "$folder/"
}

# The C library that all of it needs on the other machine.
needed_libc() {
    local each
    for each in "$1"/bin/* "$1"/lib/*; do readelf -V "$each" | grep -oE 'GLIBC_[0-9]+\.[0-9]+' || true; done | sort -uV | tail -1 | tr _ ' '
}

pack() {
    local result=$1 folder bytes program targets=()
    local programs=(tools/onstage tests/rooms/kernels/cuda_test tests/rooms/device/device_test tests/agreement/golden/golden_test tests/fake_gpu/nccl/gpu_nccl_test bench/step_time)
    for program in "${programs[@]}"; do targets+=("//${program%/*}:${program##*/}"); done
    ./bazelw build --config=cuda --define=cuda_architecture=sm_90a "${targets[@]}"
    folder=$(mktemp -d)
    mkdir -p "$folder/onstage_gpu/bin" "$folder/onstage_gpu/lib" "$folder/onstage_gpu/gpu" "$folder/onstage_gpu/models"
    for program in "${programs[@]}"; do
        pack_program "bazel-bin/$program" "$folder/onstage_gpu"
    done
    cp tools/gpu_check.sh bench/hidden_copies.awk bench/gpu/*.py "$folder/onstage_gpu/"
    cp tools/gpu/*.sh "$folder/onstage_gpu/gpu/"
    git describe --always --dirty >"$folder/onstage_gpu/version" 2>/dev/null || echo unknown >"$folder/onstage_gpu/version"
    pack_graphs "$folder/onstage_gpu/models"
    # Every program has the kernels in it: a window as wide as the package finds them again.
    tar -C "$folder" -cf - onstage_gpu | xz -T1 --lzma2=preset=4,dict=192MiB >"$result"
    bytes=$(stat -c %s "$result")
    echo "$result: $((bytes / 1024)) KiB; it needs $(needed_libc "$folder/onstage_gpu")"
    rm -rf "$folder"
    ((bytes < LIMIT_BYTES)) || { echo "gpu_check: the package is larger than 30 MiB" >&2; exit 1; }
}

# ------------------------------------------------------------------------------------------------------------------- run

# Every part writes lines into records/PART: name, state (passed, failed, not run), detail, numbers ("key=value key=value"), separated by
# tabs, each as soon as it is known.
put_record() { printf '%s\t%s\t%s\t%s\n' "$2" "$3" "$4" "${5:-}" >>"records/$1"; }

# Runs part $1 for at most $2 seconds; its output is kept in logs/PART, and its process, which leads a group, in records/PART.process.
run_part() {
    local part=$1 seconds=$2 left status=0 start=$SECONDS
    left=$((LIMIT_SECONDS - SECONDS - 8))
    ((seconds < left)) || seconds=$left
    : >"records/$part"
    if ((seconds < 5)); then
        put_record "$part" "$part" 'not run' 'no time left'
        keep "$part" 0
        return 0
    fi
    PART=$part PART_SECONDS=$seconds timeout -k 5 "$seconds" bash ./gpu/part.sh "$part" >"logs/$part" 2>&1 </dev/null &
    echo $! >"records/$part.process"
    wait $! || status=$?
    rm "records/$part.process"
    case $status in
    0) [[ -s records/$part ]] || put_record "$part" "$part" failed 'it said nothing of what it did' ;;
    124 | 137) put_record "$part" "$part" failed "not done after its $seconds seconds" ;;
    *) put_record "$part" "$part" failed "exit $status: $(tail -n 1 "logs/$part" | tr -cd '[:print:]' | cut -c 1-200)" ;;
    esac
    keep "$part" $((SECONDS - start))
    echo "$part: $(cut -f 2 "records/$part" | sort | uniq -c | awk '{ printf "%s%s %s", sep, $1, $2 " " $3; sep = ", " }'), $((SECONDS - start)) s"
}

# What a part has found is on disk before it is said that the part is done; parts that run at once wait for each other here.
keep() { # PART SECONDS
    local each done_parts=()
    exec 9>records/.lock
    flock 9
    echo "$2" >"records/$1.seconds"
    for each in "${chosen[@]}"; do [[ ! -e records/$each.seconds ]] || done_parts+=("$each"); done
    print_table "${done_parts[@]}" >"$table.new" && mv "$table.new" "$table"
    write_results "$results" "${done_parts[@]}"
    pack_logs
    exec 9>&-
}

# What programs said, and their profiles, in one file. Not all machines have xz.
pack_logs() {
    local profiles archive=${results%.json}.logs.tar.gz
    mapfile -t profiles < <(compgen -G 'work/*.json*')
    # A file that grows meanwhile is in it as far as it is.
    timeout 20 tar --warning=no-file-changed -czf "$archive.new" logs "${profiles[@]}" 2>/dev/null || (($? == 1)) || return 0
    mv "$archive.new" "$archive"
}

LIBRARIES="libcublasLt.so.13 libcudnn.so.9 libnccl.so.2 libnvrtc.so.13"

# Folders of NVIDIA's libraries below folders.
find_libraries() {
    local roots=() root names=() library
    for root; do [[ ! -d $root ]] || roots+=("$root/"); done
    ((${#roots[@]} > 0)) || return 0
    for library in $LIBRARIES; do names+=(-o -name "$library"); done
    timeout 20 find "${roots[@]}" -xdev \( "${names[@]:1}" \) -printf '%h\n' 2>/dev/null | awk '!seen[$0]++' | head -12 || true
}

# Those of python3's packages, which PyTorch uses, then the toolkit's; where one is missing, wherever else they may lie.
library_folders() {
    local found library missing='' folder
    if [[ -n ${LIBRARY_ROOTS:-} ]]; then
        # shellcheck disable=SC2086  # a list
        find_libraries $LIBRARY_ROOTS
        return 0
    fi
    found=$(find_libraries "$(timeout 20 python3 -c 'import sysconfig; print(sysconfig.get_path("purelib") + "/nvidia")' 2>/dev/null)" /usr/local/cuda)
    for library in $LIBRARIES; do
        for folder in $found missing; do [[ ! -e $folder/$library ]] || break; done
        [[ $folder != missing ]] || missing+=" $library"
    done
    [[ -z $found ]] || echo "$found"
    [[ -z $missing ]] || find_libraries /usr/lib /usr/local /opt /home /root
}

# Which of them there are; where they lie is nobody's business.
found_libraries() {
    local library folder
    for library in $LIBRARIES; do
        for folder in ${folders//:/ }; do
            [[ -e $folder/$library ]] && echo "$library" && break
        done
    done | paste -sd' '
}

quoted() { printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }

# Records of part $1 as JSON.
records_of() {
    local name state detail numbers pair separator=''
    while IFS=$'\t' read -r name state detail numbers; do
        printf '%s\n    {"part": "%s", "name": "%s", "state": "%s", "detail": "%s", "numbers": {' "$separator" "$1" "$(quoted "$name")" \
            "$state" "$(quoted "$detail")"
        separator=''
        for pair in $numbers; do
            [[ $pair =~ ^[a-zA-Z0-9_]+=-?[0-9][0-9.e+-]*$ ]] || continue
            printf '%s"%s": %s' "$separator" "${pair%%=*}" "${pair#*=}"
            separator=', '
        done
        printf '}}'
        separator=,
    done <"records/$1"
}

write_results() {
    local file=$1 part separator='' text
    shift
    {
        printf '{\n  "date": "%s",\n  "version": "%s",\n' "$(date -u +%FT%TZ)" "$(quoted "$(cat version)")"
        printf '  "gpu": "%s",\n  "driver": "%s",\n  "command": "%s",\n  "libraries": "%s",\n  "torch": "%s",\n  "seconds": %d,\n  "parts": {' \
            "$(quoted "$gpu")" "$(quoted "$driver")" "$(quoted "$command")" "$(quoted "$(found_libraries)")" "$(quoted "$torch")" "$SECONDS"
        for part in "$@"; do
            printf '%s"%s": %d' "$separator" "$part" "$(cat "records/$part.seconds")"
            separator=', '
        done
        printf '},\n  "checks": ['
        separator=''
        for part in "$@"; do
            text=$(records_of "$part")
            printf '%s%s' "$separator" "$text"
            separator=,
        done
        printf '\n  ]\n}\n'
    } >"$file.new"
    mv "$file.new" "$file"
}

print_table() {
    local part
    printf '%-10s %-40s %-8s %s\n' part check state detail
    for part in "$@"; do
        awk -F '\t' -v part="$part" '{ printf "%-10s %-40s %-8s %s\n", part, $1, $2, $3 }' "records/$part"
    done
    for part in "$@"; do cut -f 2 "records/$part"; done | sort | uniq -c | awk '{ print $0 }'
}

stop_parts() {
    local each
    for each in records/*.process; do
        [[ ! -e $each ]] || kill "$(cat "$each")" 2>/dev/null || true
    done
}

# What an exit signal leaves: children of ours are ended, results written, logs packed.
finish() {
    local part done_parts=()
    trap - EXIT INT TERM
    stop_parts
    wait
    for part in "${chosen[@]}"; do
        [[ ! -e records/$part.seconds ]] || done_parts+=("$part")
    done
    print_table "${done_parts[@]}" | tee "$table"
    write_results "$results" "${done_parts[@]}"
    pack_logs
    echo "wrote $results"
    for part in "${done_parts[@]}"; do
        ! cut -f 2 "records/$part" | grep -qx failed || exit 1
    done
    exit 0
}

is_chosen() { [[ " ${chosen[*]} " == *" $1 "* ]]; }

# Only looks for it: what it takes to load it is seconds.
finds_torch() { timeout 20 python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; }

start_programs() {
    "${ours[@]}" bin/device_test --jobs=1 || { echo "gpu_check: the programs do not start here" >&2; exit 1; }
}

# The parts that words name: parts, and groups of them.
choose_parts() {
    local each word
    for word; do
        case $word in
        checks) chosen_words+=" $ALONE $CHECKS " ;;
        race) chosen_words+=" $RACE_PARTS " ;;
        rest) chosen_words+=" $REST " ;;
        *)
            [[ " $PARTS" == *" $word:"* ]] || { echo "gpu_check: no such part: $word; see gpu_check.sh parts" >&2; exit 2; }
            chosen_words+=" $word: "
            ;;
        esac
    done
    for each in $PARTS; do
        (($# > 0)) && [[ $chosen_words != *" ${each%%:*}:"* ]] || chosen+=("${each%%:*}")
    done
}

# Takes test data from the checkout that this is called from.
link_checkout() {
    local root
    root=$(realpath "${CHECKOUT:-$PWD}")
    cd "$(dirname "${BASH_SOURCE[0]}")"
    [[ -d tests/agreement/golden && ! -L tests ]] || ln -sfn "$root/tests" tests
    [[ -e tests/agreement/golden/mlp/model.onnx ]] || { echo "gpu_check: $root has no tests/agreement/golden: call it from the root of a checkout" >&2; exit 2; }
}

# Two at a time: programs that wait for the GPU leave processors to others.
run_checks() {
    local each running=0
    for each in $CHECKS; do
        is_chosen "${each%%:*}" || continue
        if ((running == 2)); then
            wait -n || true
            running=1
        fi
        run_part "${each%%:*}" "${each##*:}" &
        running=$((running + 1))
    done
    wait
}

run_one_by_one() { # PART:SECONDS...
    local each
    for each; do ! is_chosen "${each%%:*}" || run_part "${each%%:*}" "${each##*:}"; done
}

run() {
    local library_path chosen_words=
    results=${1:-results.json}
    [[ $results == */* ]] || results=${OUT:-$PWD}/$results
    results=$(realpath -m "$results") table=${results%.json}.table.txt
    shift || true
    chosen=()
    choose_parts "$@"
    mkdir -p "${results%/*}"
    link_checkout
    # Measured anew in each run. What was prepared is kept: networks, and what torch.compile makes of them.
    rm -rf records work/precision work/*.profile.json
    mkdir -p logs records work
    folders=$(library_folders | paste -sd: -)
    library_path="$PWD/lib${folders:+:$folders}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    # For our programs alone: others, nvidia-smi say, have libraries of their own.
    ours=(env "LD_LIBRARY_PATH=$library_path")
    gpu=$(timeout 20 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1 || true)
    driver=$(timeout 20 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1 || true)
    if [[ -z $gpu ]]; then
        start_programs
        echo "not run: no GPU"
        exit 77
    fi
    torch=$(timeout 20 python3 -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || echo none)
    echo "$gpu, driver $driver, $(nproc) processors, PyTorch $torch; $(found_libraries)"
    # Where the driver's list of GPUs is not shown, the one of several that is ours cannot be told: it is the first.
    [[ -d /proc/driver/nvidia/gpus ]] || export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
    export ONSTAGE_LIBRARIES=$library_path DRIVER=$driver SMOKE_TABLE=${results%/*}/smoke.tsv
    # Nothing is kept outside this folder but results; what torch.compile makes is kept in files.
    export XDG_CACHE_HOME=$PWD/work/cache ONSTAGE_BENCH_CACHE=$PWD/work/compiled.cache
    trap finish EXIT INT TERM
    ! is_chosen race || finds_torch || echo 'race: not run: no torch'
    ! is_chosen smoke || : >"$SMOKE_TABLE"
    # shellcheck disable=SC2086  # lists
    run_one_by_one $SMOKE $ALONE
    run_checks
    # shellcheck disable=SC2086
    run_one_by_one $RACE_PARTS $REST
}

case ${1:-} in
pack) pack "${2:?where to}" ;;
run)
    command="gpu_check.sh $*"
    shift
    run "$@"
    ;;
parts) tr ' ' '\n' <<<"$PARTS" | sed 's/:/ at most /; s/$/ s/' ;;
*)
    sed -n '2,12s/^# //p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac

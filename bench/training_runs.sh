# Sourced by the benchmarks of pipelines, after `cd` into the repository: models, their data, and figures out of runs.
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here is read there, and the other way round
shopt -s inherit_errexit
onstage=${ONSTAGE:-bazel-bin/tools/onstage}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

shakespeare=(--tokens examples/data/shakespeare/train.bin --seq 64)
digits=(--input examples/data/mnist/t10k-images-idx3-ubyte.gz --target examples/data/mnist/t10k-labels-idx1-ubyte.gz)
common=(--loss cross_entropy --optimizer adamw)

# Sets model, data, and how many samples these are.
choose() { # NAME
    case $1 in
        gpt | words) model=bench/models/$1.onnx data=("${shakespeare[@]}") samples=15685 ;;
        char_gpt) model=examples/shakespeare/char_gpt.onnx data=("${shakespeare[@]}") samples=15685 ;;
        mnist_cnn) model=examples/mnist/mnist_cnn.onnx data=("${digits[@]}") samples=10000 ;;
        bert) model=bench/models/bert.onnx data=("${shakespeare[@]}") samples=15685 ;;
        *) model=bench/models/$1.onnx data=("${digits[@]}") samples=10000 ;;
    esac
}

# The rows of whole batches: a shorter one at the end has kernels of its own, which can take more scratch memory than the
# plan's, and a cap of what the plan takes is exact.
whole_batches() { echo "0:$((samples / $1 * $1))"; } # BATCH

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# The first number under a name in a JSON file; the largest.
number() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$' | head -1; }
largest() { grep -oE "\"$1\":[[:space:]]*[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$' | sort -g | tail -1; }

# Median seconds of a step. The log has samples a second of a moving mean, 0.95 of it from the steps before: undone.
step_seconds() { # LOG BATCH
    sed -n 's/.*"samples_per_s":\([0-9.e+-]*\).*/\1/p' "$1" |
        awk -v batch="$2" '{ mean = batch / $1; if (NR > 1) print (mean - 0.95 * last) / 0.05; last = mean }' | median
}

machine() { sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1; }
load() { echo "load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg) on $(nproc) processors"; }

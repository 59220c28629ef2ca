#!/usr/bin/env bash
# What a checkpoint takes against `dd conv=fsync` of as many bytes into the same folder, in turns: prints the median of the ratios.
# Of neither is it counted what giving back the space of the file before takes: each waits until the other's is given back.
#   bench/checkpoint_speed.sh [ROUNDS]
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."
rounds=${1:-9}
./bazelw build //bench:step_time 2>/dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mlp=tests/agreement/golden/mlp
# A head of so many classes makes weights and Adam's states worth writing.
mkfifo "$folder/orders"
bazel-bin/bench/step_time "$mlp/model.onnx" --input "$mlp/input.npy" --target "$mlp/target.npy" --loss cross_entropy --new-head 400000 --batch 4 \
    --checkpoint "$folder/c" --checkpoint-every 1000000 <"$folder/orders" >"$folder/answers" &
exec 3>"$folder/orders"
answers() { until (($(wc -l <"$folder/answers") >= $1)); do kill -0 $! && sleep 0.02; done; }
echo 'run 1' >&3
answers 2
for ((i = 0; i < rounds; ++i)); do
    echo checkpoint >&3
    answers $((3 + i))
    ours=$(tail -n 1 "$folder/answers" | grep -oE '[0-9.]+')
    sleep 0.3
    bytes=$(stat -c %s "$folder"/c/*.safetensors | tail -n 1)
    begin=$(date +%s.%N)
    dd if=/dev/zero of="$folder/dd" bs=1M count="$bytes" iflag=count_bytes conv=fsync status=none
    awk -v ours="$ours" -v begin="$begin" -v end="$(date +%s.%N)" -v bytes="$bytes" 'BEGIN {
        printf "%.1f MiB: checkpoint %.3f s, dd %.3f s, ratio %.3f\n", bytes / 1048576, ours, end - begin, ours / (end - begin) }'
    rm "$folder/dd"
    sleep 0.3
done | tee "$folder/rounds"
exec 3>&-
wait
awk '{ print $NF }' "$folder/rounds" | sort -n | awk '{ v[NR] = $1 } END { print "median ratio " v[int((NR + 1) / 2)] }'

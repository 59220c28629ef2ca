#!/usr/bin/env python3
"""Predicts the training steps of a machine that was never measured, from a profile of another one, and trains there.

    ./bazelw build //bench:step_time //tools:onstage
    python3 bench/pytorch/other_machine.py [--models NAME,...] [--from v3 --to v4] >bench/results/other_machine_cpu.md

The two machines are this one with the instructions of two variants of kernels/kernels.h. `onstage profile` measures each model's
nodes on the first one. Of the second one three things are taken, as a datasheet has them: the rate of large products in fp32, that
of memory, and its instructions. A device profile is made of these, and `onstage plan --profile FIRST --device-profile SECOND` says
what a step takes there. What instructions mean for a kernel is surveyed on other networks (instruction_survey.py). Profile and
training take turns.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import warnings

from compare import CAPS, ROOT, Side, cpu_name, model_and_data, onstage_command, steps_for

ONSTAGE = ROOT / "bazel-bin" / "tools" / "onstage"
STEP_TIME = ROOT / "bazel-bin" / "bench" / "step_time"
MODELS = "mlp,lenet,resnet18_cifar,resnet18_imagenet,gpt_char,gpt_large,bert_base,cnn_dynamic"
BAR = 0.15
ROUNDS_OF_RATES = 3


def run_on(variant, *words):
    """The command's output; what it says is of the variant's machine."""
    return subprocess.run([str(w) for w in words], env={**os.environ, **CAPS.get(variant, {})}, check=True, capture_output=True, text=True).stdout


def settings(workload, folder, threads):
    """The command line of `onstage`, as onstage_command has it for the benchmark's program."""
    options = argparse.Namespace(step_time="")
    words = [str(w) for w in onstage_command(workload, folder / "model.onnx", folder, threads, options)][1:]
    data = [words[i : i + 2] for i in range(0, len(words) - 1) if words[i] in ("--input", "--target")]
    left_out = {"--shuffle", "--steps", *(d[0] for d in data)}
    kept = [words[0]]
    i = 1
    while i < len(words):
        if words[i] not in left_out:
            kept += words[i : i + 2]
        i += 2
    return kept, [w for pair in data for w in pair]


def profile_of(variant, workload, folder, threads, options):
    common, data = settings(workload, folder, threads)
    path = folder / f"profile-{variant}.json"
    run_on(variant, ONSTAGE, "profile", *common, *data, "--repetitions", options.repetitions, "--no-cache", "-o", path)
    return json.loads(path.read_text()), path


def rates_of(variant, workload, folder, threads, options):
    """The machine's numbers: medians, of profiles that measure nothing else of use here."""
    found = []
    for _ in range(ROUNDS_OF_RATES):
        device = profile_of(variant, workload, folder, threads, argparse.Namespace(repetitions=1))[0]["device"]
        found.append((device["matrix_flops"]["fp32"], device["memory_bandwidth"]))
    return [statistics.median(x) for x in zip(*found)]


def other_device(device, rates, here, instructions):
    """The first machine's profile with the second one's numbers; by rates alone what is no product is faster in proportion."""
    device = json.loads(json.dumps(device))
    products, memory = (there / mine for there, mine in zip(rates, here))
    device["matrix_flops"] = {"fp32": device["matrix_flops"]["fp32"] * products}
    device["vector_flops"] *= products
    device["memory_bandwidth"] *= memory
    device["name"] = "other"
    device["instructions"] = instructions
    return device


def predict(variant, workload, folder, threads, path, device):
    common, _ = settings(workload, folder, threads)
    other, plan = folder / "other.json", folder / "plan.json"
    other.write_text(json.dumps(device))
    run_on(variant, ONSTAGE, "plan", *common, "--profile", path, "--device-profile", other, "-o", plan)
    return json.loads(plan.read_text())["predicted"]["step_seconds"]


def train(variant, workload, folder, threads, options):
    with_options = argparse.Namespace(step_time=STEP_TIME)
    os.environ.update(CAPS[variant])
    side = Side(onstage_command(workload, folder / "model.onnx", folder, threads, with_options))
    for key in CAPS[variant]:
        del os.environ[key]
    first = side.run(2)["seconds"]
    seconds = statistics.median(side.run(steps_for(options.seconds, min(first)))["seconds"])
    side.close()
    return seconds


def compare(workload, threads, rates, options):
    with model_and_data(workload) as folder:
        predicted, trained, here = [], [], []
        for _ in range(options.rounds):
            profile, path = profile_of(options.source, workload, folder, threads, options)
            device = other_device(profile["device"], rates[options.to], rates[options.source], options.to)
            predicted.append(predict(options.source, workload, folder, threads, path, device))
            here.append(train(options.source, workload, folder, threads, options))
            trained.append(train(options.to, workload, folder, threads, options))
    ratio = statistics.median(p / t for p, t in zip(predicted, trained))
    return statistics.median(here), statistics.median(predicted), statistics.median(trained), ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--from", dest="source", default="v3")
    parser.add_argument("--to", default="v4")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--repetitions", type=int, default=10)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    import workloads

    rates = {}
    with model_and_data(workloads.WORKLOADS["mlp_small"]) as folder:
        for variant in (options.source, options.to):
            rates[variant] = rates_of(variant, workloads.WORKLOADS["mlp_small"], folder, options.threads, options)
    gflops = {v: r[0] / 1e9 for v, r in rates.items()}
    gigabytes = {v: r[1] / 1e9 for v, r in rates.items()}
    print(f"""# Steps of a machine that was never measured

Written by `bench/pytorch/other_machine.py` ({datetime.date.today()}): {cpu_name()}, {options.threads} thread(s); load at the start {os.getloadavg()[0]:.2f}.
The nodes of each model are measured with the instructions of {options.source}, steps are predicted for {options.to}, and trained there; medians of {options.rounds} rounds.
Of {options.to} its name is known, and two numbers: products of {gflops[options.to]:.1f} GFLOP/s ({options.source}: {gflops[options.source]:.1f}), memory of {gigabytes[options.to]:.1f} GB/s ({options.source}: {gigabytes[options.source]:.1f}). The bar: within {BAR:.0%}.

| model | batch | trained on {options.source}, ms | predicted for {options.to}, ms | trained on {options.to}, ms | predicted ÷ trained | within the bar |
|---|--:|--:|--:|--:|--:|---|""")
    outside = 0
    for name in options.models.split(","):
        workload = workloads.WORKLOADS[name]
        here, predicted, trained, ratio = compare(workload, options.threads, rates, options)
        inside = abs(ratio - 1) <= BAR
        outside += not inside
        print(f"| {workload.what} | {workload.batch} | {1e3 * here:.2f} | {1e3 * predicted:.2f} | {1e3 * trained:.2f} | {ratio:.3f} | {'yes' if inside else 'no'} |", flush=True)
    print(f"\n{outside} outside of the bar.")
    return outside > 0


if __name__ == "__main__":
    raise SystemExit(main())

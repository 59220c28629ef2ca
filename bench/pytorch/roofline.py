#!/usr/bin/env python3
"""How far a training step is from what this machine's CPU can do: a roofline for each workload, and for each operator.

    ./bazelw build //bench:step_time //bench:product_rates //tools:onstage
    python3 bench/pytorch/roofline.py --models gpt_char,lstm [--variant sdpa+fused,sdpa+compile] [--rounds N] [--profiles N] [--json FILE] >PAGE.md

Products and convolutions at the best rate that any of oneDNN, PyTorch, OpenBLAS and our own nodes reaches on that shape in
the same run; what a step has to move, over the memory's rate. bench/README.md says what counts.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import warnings

import compare
import other_machine
import roofline_page
from roofline_rates import LADDER, RATES, STATISTICS, Rates
from roofline_shapes import Node, check, parts_of


def moved_bytes(workload, profile):
    """What a step moves, by kind: each tensor once a pass, and whatever is both read and written counts twice."""
    import workloads

    parameters = dict(workloads.build(workload).named_parameters())
    weights = sum(4 * p.numel() for p in parameters.values())
    trained = sum(4 * p.numel() for name, p in parameters.items() if not workload.frozen(name))
    kind, settings = workload.optimizer
    states = {"adamw": 2, "sgd": 1 if settings.get("momentum") else 0}[kind]
    return {
        "weights": 2 * weights + 2 * trained,  # read forward, read backward; the update reads and writes
        "gradients": 2 * trained,  # written backward, read by the update
        "states": 2 * states * trained,
        "saved": 2 * sum(n["saved_bytes"] for n in profile["nodes"]),  # written forward, read backward
    }


def measured_nodes(profiles, middle):
    """The nodes of the first profile, each with its time over all."""
    nodes = [Node(entry) for entry in profiles[0]["nodes"]]
    for at, node in enumerate(nodes):
        node.seconds = middle(p["nodes"][at]["seconds"] for p in profiles)
        node.parts = parts_of(node)
        check(node, node.parts)
        node.dense = node.entry["matrix"]
    return nodes


def set_floors(nodes, rates, step_bandwidth, statistic):
    """Each node's least time by its roofline, `floor`, and what of it is products, `products`; all nodes of a key have the same."""
    least = {}
    for node in nodes:
        key = node.entry["key"]
        least[key] = min(node.seconds, least.get(key, node.seconds))
    for node in nodes:
        size = node.entry["bytes"]
        node.products, node.by = 0.0, "memory"
        node.floor = node.near_floor = size / step_bandwidth
        if size > 0:
            node.near_floor = size / rates.bandwidth(size, statistic)
        if node.dense:
            ours = least[node.entry["key"]]
            best = [rates.best(line, statistic) for line, _ in node.parts] if node.parts else []
            theirs = sum(b[0] * times for b, (_, times) in zip(best, node.parts or ()))
            node.products = node.floor = node.near_floor = min(theirs, ours) if best else ours
            node.by = "ours" if not best or ours <= theirs else "+".join(dict.fromkeys(f"{b[1]} {b[2]}" for b in best))


def measure(name, workload, options):
    with compare.model_and_data(workload) as folder:
        steps = compare.compare_in(folder, name, workload, options.threads, options)
        fill = max(3, min(50, int(options.seconds / steps["onstage_seconds"])))
        profiling = argparse.Namespace(repetitions=options.repetitions or fill)
        rates, profiles = Rates(options.threads, options.product_seconds), []
        for _ in range(options.profiles):
            profiles.append(other_machine.profile_of(options.cpu, workload, folder, options.threads, profiling)[0])
            lines = [line for node in map(Node, profiles[0]["nodes"]) for line, _ in parts_of(node) or ()]
            rates.round(lines + [f"stream {size}" for size in (*LADDER, profiles[0]["run"]["arena_bytes"])])
        rates.close()
    middle = min if options.statistic == "least" else statistics.median
    for at, side in enumerate(("onstage_seconds", "pytorch_seconds")):
        steps[side] = middle(r[at] for r in steps["rounds"])
    run, moved = profiles[0]["run"], moved_bytes(workload, profiles[0])
    bandwidth = rates.bandwidth(run["arena_bytes"], options.statistic)
    nodes = measured_nodes(profiles, middle)
    set_floors(nodes, rates, bandwidth, options.statistic)
    return {
        **steps, "moved": moved, "bandwidth": bandwidth, "footprint": run["arena_bytes"],
        "profiled_step": middle(p["run"]["step_seconds"] for p in profiles),
        "products": sum(n.products for n in nodes), "bytes_seconds": sum(moved.values()) / bandwidth,
        "nodes": nodes, "rates": rates.answers,
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True, help="names of workloads.py, separated by commas")
    parser.add_argument("--rounds", type=int, default=7, help="of the two sides' steps, which take turns")
    parser.add_argument("--profiles", type=int, default=3, help="how often nodes, products and streams are timed, which takes longest")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round of either side, and of a profile")
    parser.add_argument("--product-seconds", type=float, default=0.1, help="of a product or convolution, in a round and library")
    parser.add_argument("--statistic", choices=STATISTICS, default="median",
                        help="which of a round's times is a library's: the median, the faster quartile, or, for a busy machine, the "
                        "least of all rounds, which then counts for steps and nodes, too")
    parser.add_argument("--repetitions", type=int, help="steps of a profile; default: what fills the seconds, 3 to 50")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu", choices=sorted(compare.CAPS), help="keep all to these instructions; default: all of the machine's")
    parser.add_argument("--variant", help="PyTorch's that are tried, like default,sdpa+fused,sdpa+compile; left out: all that the model can have")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True, help="also try torch.compile")
    parser.add_argument("--step-time", type=pathlib.Path, default=compare.STEP_TIME)
    parser.add_argument("--json", type=pathlib.Path, help="also write all numbers there")
    parser.set_defaults(channels_last=True)
    return parser.parse_args()


def main():
    options = arguments()
    for program in (options.step_time, RATES, other_machine.ONSTAGE):
        if not program.exists():
            sys.exit("build it first: ./bazelw build //bench:step_time //bench:product_rates //tools:onstage")
    warnings.filterwarnings("ignore")
    os.environ.update(compare.CAPS.get(options.cpu, {}))
    from workloads import WORKLOADS

    names, results, failed = options.models.split(","), [], []
    unknown = set(names) - set(WORKLOADS)
    if unknown:
        sys.exit(f"unknown models {sorted(unknown)}; there are {', '.join(WORKLOADS)}")
    about = compare.environment(options.threads)
    print(roofline_page.head(about, options, datetime.datetime.now()), flush=True)
    for name in names:
        try:
            results.append(measure(name, WORKLOADS[name], options))
            print(roofline_page.section(results[-1]), flush=True)
        except SystemExit as error:
            failed.append(name)
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    print(roofline_page.summary(results))
    if options.json:
        plain = lambda node: {k: v for k, v in vars(node).items() if k not in ("inputs", "outputs", "attributes")}
        options.json.write_text(json.dumps({**about, "results": results}, default=plain, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

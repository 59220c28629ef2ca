#!/usr/bin/env python3
"""Has PyTorch's own pipelining run the schedules that onstage makes, and onstage those that PyTorch makes.

    ./bazelw build //tools:onstage
    python3 bench/pytorch/pipelining.py >bench/results/pipelining_torch.md

A small GPT over 2 and 4 devices. PyTorch computes in as many processes, over gloo, from the CSV file; onstage from the
plan or the same file. Compared are the order of what each device computes, as executed, and the losses. See bench/README.md.
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ONSTAGE = ROOT / "bazel-bin" / "tools" / "onstage"
sys.path.insert(0, str(ROOT / "tests" / "agreement" / "golden"))

BLOCKS, BATCH, MICRO_BATCHES, STEPS, RATE = 8, 16, 8, 10, 0.1
TOLERANCE = 1e-5
TRAINING = ["--batch", BATCH, "--micro-batches", MICRO_BATCHES, "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", RATE, "--threads", 1]

# Who makes the schedule, its name there, devices, stages.
CASES = [
    *(("onstage", name, n, n) for n in (2, 4) for name in ("gpipe", "1f1b", "zb-h1")),
    *(("onstage", name, n, 2 * n) for n in (2, 4) for name in ("interleaved", "looped", "v")),
    *(("PyTorch", name, n, 2 * n) for n in (2, 4)
      for name in ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")),
]


def build():
    import models

    return models.randomise(models.Gpt(vocabulary=65, block=16, layers=BLOCKS, dim=32, heads=2), 1).train()


def data():
    import torch

    generator = torch.Generator().manual_seed(1)
    return [torch.randint(65, (STEPS * BATCH, 16), generator=generator) for _ in range(2)]


# ---------------------------------------------------------------- PyTorch


def stage_module(model, index, stages):
    import torch
    from torch import nn

    class Stage(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = model.blocks[BLOCKS * index // stages:BLOCKS * (index + 1) // stages]
            if index == 0:
                self.wte, self.wpe = model.wte, model.wpe
            if index == stages - 1:
                self.ln, self.head = model.ln, model.head

        def forward(self, x):
            if index == 0:
                x = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.ln(x)) if index == stages - 1 else x

    return Stage()


def recorded(stage, order):
    """Notes what the stage computes, as it does."""
    forward, backward, weight = stage.forward_one_chunk, stage.backward_one_chunk, stage.backward_weight_one_chunk

    def note(kind, function):
        def call(micro_batch, *args, **words):
            which = kind or ("B" if words.get("full_backward", True) else "I")
            order.append(f"{stage.stage_index}{which}{micro_batch}")
            return function(micro_batch, *args, **words)
        return call

    stage.forward_one_chunk, stage.backward_one_chunk = note("F", forward), note(None, backward)
    stage.backward_weight_one_chunk = note("W", weight)


def train_pytorch(rank, job):
    """With a maker the schedule is that class's own, which writes the file; else it is the file's."""
    import torch
    import torch.nn.functional as F
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime, get_schedule_class

    maker, stages, owned, file = job["maker"], job["stages"], job["owned"][rank], job["file"]
    model, order, losses = build(), [], []
    parts = [PipelineStage(stage_module(model, i, stages), i, stages, torch.device("cpu")) for i in owned]

    def loss_of(output, target):
        return F.cross_entropy(output.view(-1, output.shape[-1]), target.view(-1))

    schedule = (get_schedule_class(maker) if maker else _PipelineScheduleRuntime)(parts, MICRO_BATCHES, loss_fn=loss_of)
    if not maker:
        schedule._load_csv(file)
    elif rank == 0:
        schedule._dump_csv(file, format="compute_only")
        schedule._dump_csv(file + ".comms", format="compute_comms")
    for part in parts:
        recorded(part, order)
    optimizer = torch.optim.SGD([p for part in parts for p in part.submod.parameters()], lr=RATE)
    x, y = data()
    for step in range(STEPS):
        rows, chunks = slice(step * BATCH, (step + 1) * BATCH), []
        optimizer.zero_grad()
        schedule.step(*([x[rows]] if 0 in owned else []), target=y[rows], losses=chunks)
        optimizer.step()
        if stages - 1 in owned:
            losses.append(sum(float(c.detach()) for c in chunks) / len(chunks))
        if step == 0:
            executed = list(order)
    return {"order": executed, "losses": losses}


def worker(rank, devices, jobs, folder):
    """One process of the pipeline, for one schedule after the other."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store{devices}", rank=rank, world_size=devices)
    answers = []
    for job in jobs:
        try:
            answers.append(train_pytorch(rank, job))
        except Exception as error:
            answers.append({"error": str(error).strip().splitlines()[-1]})
        dist.barrier()
    pathlib.Path(f"{folder}/answers{devices}.{rank}").write_text(json.dumps(answers))
    dist.destroy_process_group()


def run_pytorch(devices, jobs, folder):
    """Of each job: the orders by rank and the losses, or an error."""
    import torch.multiprocessing as mp

    mp.spawn(worker, (devices, jobs, str(folder)), nprocs=devices)
    ranks = [json.loads(pathlib.Path(f"{folder}/answers{devices}.{rank}").read_text()) for rank in range(devices)]
    for answers in zip(*ranks):
        errors = [a["error"] for a in answers if "error" in a]
        yield {"error": errors[0]} if errors else {
            "orders": [a["order"] for a in answers], "losses": next(a["losses"] for a in answers if a["losses"])}


# ---------------------------------------------------------------- onstage


def onstage(*words, check=True):
    result = subprocess.run([str(w) for w in (ONSTAGE, *words)], capture_output=True, text=True)
    if check and result.returncode != 0:
        raise RuntimeError(result.stderr.strip())
    return result


def stage_of(name, stages):
    block = re.match(r"/?blocks\.(\d+)[/.]", name)
    if block:
        return int(block[1]) * stages // BLOCKS
    return 0 if re.match(r"/?(wte|wpe|Add)", name) else stages - 1


def cut_at_blocks(file, train, stages):
    """Cuts the plan where the stages of PyTorch are cut. How many nodes that are is what the refusal says."""
    plan = json.loads(file.read_text())
    for index, stage in enumerate(plan["decisions"]["stages"]):
        stage.pop("names", None)
        if index > 0:
            stage["first_node"] = f"/blocks.{BLOCKS * index // stages}/ln1/LayerNormalization"
        del plan["costs"]["stages"][index]["made_for"]
    plan["decisions"]["order"] = "file"
    for _ in range(stages + 1):
        file.write_text(json.dumps(plan))
        result = onstage(*train, "--steps", 1, check=False)
        wrong = re.search(r"stages\[(\d+)\]: 'nodes' says \d+, and (\d+) stand", result.stderr)
        if not wrong:
            break
        plan["decisions"]["stages"][int(wrong[1])]["nodes"] = int(wrong[2])


def order_of_trace(file, stages, divided):
    """What each device computed in the first step. Weight gradients are an action of their own where the file says so."""
    events = json.loads(file.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]
    rows = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and e["args"]["name"] == "compute"}
    orders = {}
    for e in sorted((e for e in events if e["ph"] == "X"), key=lambda e: e["ts"]):
        about = e["args"]
        if (e["pid"], e["tid"]) not in rows or about.get("step") != 1 or e["cat"] == "update" or "micro_batch" not in about:
            continue
        stage, micro_batch = stage_of(e["name"], stages), about["micro_batch"]
        if e["cat"] == "forward":
            kind = "F"
        elif f"{stage}W{micro_batch}" in divided:
            kind = "W" if e["cat"] == "weight_gradient" else "I"
        else:
            kind = "B"
        order, action = orders.setdefault(e["pid"], []), f"{stage}{kind}{micro_batch}"
        if not order or order[-1] != action:
            order.append(action)
    return [orders[device] for device in sorted(orders)]


def cells(file):
    return [re.findall(r"\d+[FBIW]\d+", line) for line in file.read_text().splitlines() if line.strip()]


def prepare(case, folder):
    """The job for PyTorch; a schedule of onstage's is written to its file."""
    maker, name, devices, stages = case
    stem = folder / f"{name}-{devices}"
    file, plan = stem.with_suffix(".csv"), stem.with_suffix(".json")
    if maker == "PyTorch":
        v = name in ("ZBVZeroBubble", "DualPipeV")
        owned = [[r, 2 * devices - 1 - r] if v else [r, r + devices] for r in range(devices)]
        return {"maker": name, "stages": stages, "owned": owned, "file": str(file)}
    words = ["--pipeline", name, "--stages", stages, "--devices", devices]
    onstage("plan", folder / "model.onnx", *TRAINING, *words, "-o", plan)
    onstage("simulate", plan, "--write-schedule", file)
    owned = [sorted({int(re.match(r"\d+", c)[0]) for c in row}) for row in cells(file)]
    return {"maker": None, "stages": stages, "owned": owned, "file": str(file)}


def compare(job, theirs, folder):
    if "error" in theirs:
        raise RuntimeError("PyTorch: " + theirs["error"])
    model, log, trace = (folder / f for f in ("model.onnx", "log.jsonl", "trace.json"))
    file, stages = pathlib.Path(job["file"]), job["stages"]
    plan = file.with_suffix(".json")
    if job["maker"]:  # the long form, with what is sent and waited for, comes to the same plan
        onstage("plan", model, *TRAINING, "--schedule", str(file) + ".comms", "-o", folder / "long.json")
        onstage("plan", model, *TRAINING, "--schedule", file, "-o", plan)
        actions = [json.loads(f.read_text())["decisions"]["actions"] for f in (plan, folder / "long.json")]
        if actions[0] != actions[1]:
            raise RuntimeError("onstage reads other actions from PyTorch's compute_comms file than from compute_only")
    train = ["train", model, *TRAINING, "--plan", plan, "--input", folder / "x.npy", "--target", folder / "target.npy", "--no-shuffle"]
    cut_at_blocks(plan, train, stages)
    log.unlink(missing_ok=True)
    onstage(*train, "--steps", STEPS, "--log-json", log, "--trace", trace)
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    said = cells(file)
    ours = order_of_trace(trace, stages, {cell for row in said for cell in row})
    difference = max(abs(a - b) for a, b in zip(losses, theirs["losses"], strict=True))
    return ours == said, theirs["orders"] == said, ours == theirs["orders"], difference, losses[-1]


def main():
    import numpy
    import torch

    warnings.filterwarnings("ignore")
    yes = {True: "yes", False: "**no**"}
    cpu = next((l.partition(":")[2].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown CPU")
    print(f"""# PyTorch's pipelining and onstage run each other's schedules

Written by `bench/pytorch/pipelining.py` ({datetime.date.today()}): {cpu}; PyTorch {torch.__version__}, gloo, a process a device, one thread each.
A GPT of {BLOCKS} blocks of 32, cut at the same blocks, batch {BATCH} in {MICRO_BATCHES} micro-batches, {STEPS} steps of SGD with rate {RATE}. The order of what a device computes
is PyTorch's as its stages were called and onstage's as its trace has it, in the first step; both are compared with the CSV file. The losses' difference is the largest of all steps.

| schedule by | schedule | devices | stages | onstage's order is the file's | PyTorch's is | orders equal | last loss | largest difference | within {TOLERANCE:g} |
|---|---|---|---|---|---|---|---|---|---|""")
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        x, y = data()
        numpy.save(folder / "x.npy", x.numpy())
        numpy.save(folder / "target.npy", y.numpy())
        torch.onnx.export(build(), (x[:BATCH],), str(folder / "model.onnx"), dynamo=False, opset_version=17,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=["x"], output_names=["y"])
        for devices in sorted({case[2] for case in CASES}):
            cases = [case for case in CASES if case[2] == devices]
            jobs = [prepare(case, folder) for case in cases]
            for case, job, theirs in zip(cases, jobs, run_pytorch(devices, jobs, folder)):
                title = "| " + " | ".join(str(word) for word in case) + " |"
                try:
                    *orders, difference, last = compare(job, theirs, folder)
                except RuntimeError as error:  # one schedule that does not run is a row of the table
                    reason = str(error).splitlines()[-1].replace(f"{folder}/", "")
                    print(f"{title} not run: {reason} | | | | | |", flush=True)
                    failed = True
                    continue
                good = difference <= TOLERANCE
                failed |= not (all(orders) and good)
                print(title, " | ".join(yes[o] for o in orders), f"| {last:.6f} | {difference:.1e} | {yes[good]} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

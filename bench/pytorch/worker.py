"""Trains one workload in PyTorch and times its steps; started by compare.py, which it obeys as step_time.c does.

    worker.py WORKLOAD THREADS VARIANT...
VARIANT is any of: default (nothing), foreach, fused (the optimiser's implementation), sdpa (attention), channels_last, compile (torch.compile).
"""

import json
import sys
import time

import torch

import workloads


def status(field):
    """A field of this process's /proc status, in bytes."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


class Trainer:
    def __init__(self, workload, variants):
        self.workload = workload
        module = workloads.build(workload, sdpa="sdpa" in variants)
        inputs, self.target = workloads.data(workload)
        self.inputs = list(inputs.values())
        if "channels_last" in variants:
            module = module.to(memory_format=torch.channels_last)
            self.inputs = [x.contiguous(memory_format=torch.channels_last) for x in self.inputs]
        self.run = torch.compile(module) if "compile" in variants else module
        for name, p in module.named_parameters():
            p.requires_grad_(not workload.frozen(name))
        kind, options = workload.optimizer
        implementation = {name: True for name in ("foreach", "fused") if name in variants}
        make = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[kind]
        self.optimizer = make([p for p in module.parameters() if p.requires_grad], **options, **implementation)
        self.batch = 0

    def step(self):
        rows = slice(self.batch * self.workload.batch, (self.batch + 1) * self.workload.batch)
        self.batch = (self.batch + 1) % workloads.BATCHES
        self.optimizer.zero_grad(set_to_none=True)
        loss = workloads.loss_of(self.workload, self.run(*(x[rows] for x in self.inputs)), self.target[rows])
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    name, threads, *variants = sys.argv[1:]
    torch.set_num_threads(int(threads))
    # What importing PyTorch takes is not held against it: a product makes its libraries load first.
    torch.randn(64, 64) @ torch.randn(64, 64)
    before = status("VmRSS")
    trainer = Trainer(workloads.WORKLOADS[name], variants)
    print(json.dumps({"ready": True, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        seconds, losses = [], []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            losses.append(trainer.step())
            seconds.append(time.perf_counter() - start)
        answer = {"seconds": seconds, "first_loss": losses[0], "loss": losses[-1]}
        answer |= {"peak_bytes": status("VmHWM"), "before_bytes": before}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

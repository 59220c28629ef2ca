"""Trains one of models.py's networks in PyTorch and times its steps; started by race.py, which it obeys as bench/step_time.c does.

    worker.py NAME FOLDER eager|compile PRECISION          PRECISION: fp32 or bf16 (autocast; weights stay fp32)
                                                           says when its modules are there, and takes the GPU after a line from then on
    worker.py NAME FOLDER warm PRECISION                   compiles, so that a later run finds it in the cache, and ends

Samples lie in pinned memory of the host, from where each step copies its batch, as with a data loader; onstage does the same.
"""

import json
import os
import pathlib
import sys
import time

CACHE = os.environ.get("ONSTAGE_BENCH_CACHE")
if CACHE and len(sys.argv) > 1:  # of what is compiled, for each network: what is not complete can be thrown away
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=f"{CACHE}/{sys.argv[1]}", TRITON_CACHE_DIR=f"{CACHE}/{sys.argv[1]}/triton",
        TORCHINDUCTOR_FX_GRAPH_CACHE="1",
    )

import numpy
import torch
import torch.nn.functional as F

import models

DEVICE = os.environ.get("ONSTAGE_BENCH_DEVICE", "cuda")


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


class Trainer:
    def __init__(self, name, folder, compiled, precision):
        self.workload = models.WORKLOADS[name]
        models.define()
        torch.manual_seed(models.SEED)
        self.plain = models.load(self.workload.make(name), name, folder).train()
        self.x = torch.from_numpy(numpy.load(folder / f"{name}.x.npy"))
        self.target = torch.from_numpy(numpy.load(folder / f"{name}.target.npy"))
        self.compiled = compiled
        self.low = precision == "bf16"
        self.batch = 0

    def start(self):
        module = self.plain.to(DEVICE)
        if self.workload.channels_last:
            module = module.to(memory_format=torch.channels_last)
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        if DEVICE == "cuda":
            self.x, self.target = self.x.pin_memory(), self.target.pin_memory()
        self.optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=DEVICE == "cuda")
        self.plain = module
        self.module = torch.compile(module) if self.compiled else module

    def loss(self, module):
        rows = slice(self.batch * self.workload.batch, (self.batch + 1) * self.workload.batch)
        x, target = (samples[rows].to(DEVICE, non_blocking=True) for samples in (self.x, self.target))
        with torch.autocast(DEVICE, torch.bfloat16, enabled=self.low):
            y = module(x)
            return F.cross_entropy(y.view(-1, y.shape[-1]).float(), target.view(-1))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.module)
        loss.backward()
        self.optimizer.step()
        self.batch = (self.batch + 1) % models.BATCHES
        return loss

    def flops(self):
        """Of products, convolutions and attention, forwards and backwards."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            self.loss(self.plain).backward()
        return float(counter.get_total_flops())


def main():
    name, folder, kind, precision = sys.argv[1:]
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    trainer = Trainer(name, pathlib.Path(folder), kind != "eager", precision)
    if kind == "warm":
        trainer.start()
        trainer.step()
        wait()
        return
    print(json.dumps({"imported": True}), flush=True)
    if not sys.stdin.readline():
        return
    trainer.start()
    flops = trainer.flops() if kind == "eager" else 0
    print(json.dumps({"ready": True, "flops": flops, "torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        count = int(line.split()[1])
        wait()
        start = time.perf_counter()
        first = last = trainer.step()
        for _ in range(count - 1):
            last = trainer.step()
        wait()
        seconds = (time.perf_counter() - start) / count
        print(json.dumps({"seconds": [seconds] * count, "first_loss": first.item(), "loss": last.item()}), flush=True)


if __name__ == "__main__":
    main()

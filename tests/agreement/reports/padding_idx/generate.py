"""Embeddings with padding_idx, which the newer exporter's metadata tell of."""
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exported import command, export, losses_of  # noqa: E402
from making import write_case  # noqa: E402

NOTE = "stands for padding"
BATCH, STEPS, LENGTH, WORDS = 4, 4, 5, 8


class Bag(nn.Module):
    """Words are looked up, added up and told apart."""

    def __init__(self, look, padding=None, tied=False, **more):
        super().__init__()
        self.e = nn.Embedding(WORDS, 3, padding_idx=padding, **more)
        self.o = nn.Linear(3, WORDS, bias=False)
        self.look = look
        if tied:
            self.o.weight = self.e.weight

    def forward(self, i):
        return self.o(torch.tanh(self.look(self, i)).sum(1))


def plain(net, i):
    return net.e(i)


def case(name, net, way, says, more="", ids=None, losses=True):
    generator = numpy.random.default_rng(7)
    i = generator.integers(0, WORDS, (BATCH * STEPS, LENGTH)) if ids is None else ids
    t = generator.integers(0, WORDS, BATCH * STEPS)
    net = net.float()
    expected = losses_of(net, [i], t, "cross_entropy", 0.5, BATCH, STEPS) if losses else None
    write_case(__file__, name, export(net, torch.from_numpy(i[:BATCH]), way, ("i",)), {"i": i, "t": t},
               command("cross_entropy", 0.5, BATCH, STEPS, ("i",), more=more), expected, says)


torch.manual_seed(3)
case("first_row", Bag(plain, 0), "plain", [NOTE, "of 'e.weight'"])
case("last_row_given_as_negative", Bag(plain, -1), "plain", [NOTE, "entry 7"])
case("default_export", Bag(plain, 2), "default", [NOTE, "entry 2"])
case("functional_form", Bag(lambda net, i: F.embedding(i, net.e.weight, padding_idx=3)), "plain", [NOTE, "entry 3"])
case("tied_to_the_head", Bag(plain, 1, tied=True), "plain", [NOTE])
case("two_lookups_of_one_table", Bag(lambda net, i: net.e(i) + F.embedding((i + 1) % WORDS, net.e.weight, padding_idx=4)), "plain",
     ["! " + NOTE])  # the second one's indices are computed: nothing is known of the data
case("no_padding", Bag(plain), "plain", ["! " + NOTE])
case("padding_that_no_sample_has", Bag(plain, 0), "plain", ["! " + NOTE],
     ids=numpy.random.default_rng(5).integers(1, WORDS, (BATCH * STEPS, LENGTH)))
case("frozen_table", Bag(plain, 0), "plain", ["! " + NOTE], more=" --freeze e.weight", losses=False)
case("scaled_by_frequency", Bag(plain, scale_grad_by_freq=True), "plain", ["scale_grad_by_freq", "of 'e.weight'"], losses=False)
case("micro_batches", Bag(plain, 0), "plain", [NOTE], more=" --micro-batches 2")

"""Class targets that are no class of the model: found before the first step, with the way out that is meant."""
import pathlib
import sys

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from exported import export
from making import write_case

SAMPLES = 12


def main():
    torch.manual_seed(6)
    generator = numpy.random.default_rng(6)
    x = generator.normal(size=(SAMPLES, 4)).astype("f")
    model = export(nn.Linear(4, 3), torch.tensor(x[:4]), "tracing")
    right = generator.integers(0, 3, SAMPLES)
    right[:3] = [0, 1, 2]
    ends = " has the target {}, and the model's 3 classes are 0 to 2; "
    options = "--optimizer sgd --lr 0.1 --batch 4 --threads 1"

    def case(name, targets, says, code=4, more="", command="train", arrays=None):
        write_case(__file__, name, model, {"x": x, "t": targets, **(arrays or {})},
                   f"{command} model.onnx --input x.npy --target t.npy --loss cross_entropy {options if command == 'train' else '--batch 4'} {more}", None, says, code)

    def wrong(place, value, targets=right):
        targets = targets.copy()
        targets[place] = value
        return targets

    case("minus_one", wrong([5, 11], -1), ["sample 5" + ends.format(-1) + "--ignore-index -1 leaves"])
    case("minus_one_ignored", wrong([5, 11], -1), ["3 steps of 4"], 0, "--ignore-index -1")
    case("bytes_255", wrong([11], 255).astype("uint8"), ["sample 11" + ends.format(255) + "--ignore-index 255 leaves"])
    case("words_65535", wrong([2], 65535).astype("uint16"), ["--ignore-index 65535 leaves"])
    case("from_one", right + 1, ["has the target 3, and the model's 3 classes are 0 to 2; the targets go from 1", "- 1)"])
    case("one_too_many", wrong([7], 3), ["sample 7" + ends.format(3) + "--new-head OUTPUT=4 gives"])
    case("far_too_many", wrong([7, 9], 1000), ["--new-head OUTPUT=1001 gives"])
    case("two_kinds", wrong([3], -1, wrong([9], 8)), ["sample 3" + ends.format(-1) + "--new-head OUTPUT=9 gives"])
    case("left_out_by_rows", wrong([11], 9), ["2 steps of 4"], 0, "--rows 0:8")
    case("behind_the_steps", wrong([11], 9), ["2 steps of 4"], 0, "--steps 2 --no-shuffle")
    case("of_validation", right, ["sample 1" + ends.format(-1)], 4, "--val-input v.npy --val-target w.npy", arrays={"v": x[:4], "w": wrong([1], -1)[:4]})
    case("of_eval", wrong([2], -1), ["target is no class of the model's output (element 2 is -1, the 3 classes are 0 to 2); --ignore-index leaves"], 4, command="eval")
    # What ends a run late costs none of the steps before.
    case("last_batch_ignored", wrong(slice(8, 12), -100), ["the run ends after step 2, which --checkpoint kept --resume goes on from: step 3: none"], 4,
         "--no-shuffle --checkpoint kept")
    table = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 3))
    tokens = generator.integers(0, 5, (SAMPLES, 2))
    tokens[9, 1] = 7
    write_case(__file__, "late_token", export(table, torch.tensor(tokens[:4]), "tracing"), {"x": tokens, "t": right},
               f"train model.onnx --input x.npy --target t.npy --loss cross_entropy {options} --no-shuffle --checkpoint kept", None,
               ["the run ends after step 2, which --checkpoint kept --resume goes on from: step 3, node"], 4)
    case("all_right", right, ["3 steps of 4", "! note:"], 0)


main()

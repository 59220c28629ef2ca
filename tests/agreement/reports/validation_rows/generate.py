"""Validation on rows of the training arrays: they leave training, unless --rows asks for them."""
import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from making import write_case

INPUTS, CLASSES, RATE, BATCH = 4, 3, 0.5, 4


def make_linear(generator):
    weight = generator.normal(size=(INPUTS, CLASSES)).astype("f")
    bias = generator.normal(size=CLASSES).astype("f")
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["logits"], name="fc")], "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", INPUTS])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
        [onnx.numpy_helper.from_array(weight, "weight"), onnx.numpy_helper.from_array(bias, "bias")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model, (weight, bias), lambda x, w, b: x @ w + b


def make_embedding(generator):
    table = generator.normal(size=(7, 5)).astype("f")
    weight = generator.normal(size=(5, 7)).astype("f")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "x"], ["rows"], name="embed"),
         helper.make_node("MatMul", ["rows", "weight"], ["logits"], name="head")], "words",
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["N", 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3, 7])],
        [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(weight, "weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model, (table, weight), lambda x, t, w: t[x] @ w


def mean_loss(logits, y):
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def train(weights, forward, x, y, rows, epochs, batch=BATCH):
    """Losses of plain SGD over these rows in order, and the trained weights."""
    weights = [torch.tensor(each, requires_grad=True) for each in weights]
    optimizer = torch.optim.SGD(weights, lr=RATE)
    losses = []
    for _ in range(epochs):
        for begin in range(0, len(rows), batch):
            chosen = rows[begin:begin + batch]
            loss = mean_loss(forward(torch.tensor(x[chosen]), *weights), torch.tensor(y[chosen]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, weights


def main():
    generator = numpy.random.default_rng(6)
    model, weights, forward = make_linear(generator)
    x = generator.normal(size=(16, INPUTS)).astype("f")
    y = generator.integers(0, CLASSES, 16)
    arrays = {"x": x, "y": y}
    common = "--loss cross_entropy --optimizer sgd --lr 0.5 --batch 4 --no-shuffle --threads 1 --log-json log.json"
    data = "train model.onnx --input x.npy --target y.npy "

    def validation_says(trained, rows):
        with torch.no_grad():
            loss = mean_loss(forward(torch.tensor(x[rows]), *trained), torch.tensor(y[rows])).item()
        return f"validation loss {loss:.4f}"

    def case(name, options, rows, says, epochs=2, validated=None, **more):
        losses, trained = train(weights, forward, x, y, rows, epochs)
        says = list(says) + ([validation_says(trained, validated)] if validated else [])
        write_case(__file__, name, model, {**arrays, **more.pop("arrays", {})}, data + options + f" --epochs {epochs} " + common,
                   losses, says, **more)

    everything = list(range(16))
    case("rows_at_the_end", "--val-rows 11:16 --best --out out.onnx", everything[:11], ["11 samples", "! note:"], validated=[*range(11, 16)])
    case("rows_at_the_beginning", "--val-rows :5", everything[5:], ["11 samples", "! note:"], validated=[*range(5)])
    case("rows_in_the_middle", "--val-rows 5:-6", everything[:5] + everything[10:], ["11 samples", "! note:"], validated=[*range(5, 10)])
    case("rows_beside_other_rows", "--rows :12 --val-rows -4:", everything[:12], ["12 samples", "! note:"], validated=[*range(12, 16)])
    case("overlap_asked_for", "--rows 0:14 --val-rows 12:16", everything[:14],
         ["14 samples", "note: 2 of the 4 samples of --val-rows 12:16, from sample 12 on, are trained on as well, as --rows 0:14 asks"],
         validated=[*range(12, 16)])
    case("overlap_asked_for_strict", "--strict --rows 0:14 --val-rows 12:16", everything[:14], ["--strict: 2 of the 4 samples"], code=3)
    (pathlib.Path(__file__).parent / "overlap_asked_for_strict/losses").unlink()
    case("all_asked_for", "--rows : --val-rows :", everything, ["16 samples", "note: 16 of the 16 samples"], validated=everything)
    case("split", "--val-split 0.3 --best --out out.onnx", everything[:11], ["11 samples", "! note:"], validated=[*range(11, 16)])
    case("split_of_rows", "--rows 2:12 --val-split 0.1", everything[2:11], ["9 samples", "! note:"], validated=[11])
    validation = {"xv": x[:6], "yv": y[:6]}
    case("file_of_its_own", "--val-input xv.npy --val-target yv.npy --val-rows 0:4", everything, ["16 samples", "! note:"],
         validated=[*range(4)], arrays=validation)
    # The training file again, under another path, by a link, beside other rows: what is validated on is trained on.
    same = "of the {} samples of --val-rows {}, from sample {} on, are trained on as well: --val-input names the file of --input"
    case("training_file_again", '--val-input "$PWD/x.npy" --val-target y.npy --val-rows 12:16', everything, ["note: 4 " + same.format(4, "12:16", 12)],
         validated=[*range(12, 16)])
    case("training_file_by_a_link", '--rows :14 --val-input x=$(ln -sf x.npy link.npy; echo link.npy) --val-target y.npy --val-rows 12:16', everything[:14],
         ["note: 2 " + same.format(4, "12:16", 12)], validated=[*range(12, 16)])
    case("training_file_and_other_rows", "--rows :12 --val-input x.npy --val-target y.npy --val-rows 12:16", everything[:12], ["12 samples", "! note:"],
         validated=[*range(12, 16)])
    case("training_file_again_strict", "--strict --val-input x.npy --val-target y.npy --val-rows 12:16", everything, ["--strict: 4 of the 4 samples"], code=3)
    (pathlib.Path(__file__).parent / "training_file_again_strict/losses").unlink()
    case("two_replicas", "--val-rows 11:16 --replicas 2", everything[:11], ["11 samples", "! note:"], validated=[*range(11, 16)])
    case("two_stages_of_micro_batches", "--val-rows 5:10 --micro-batches 2", everything[:5] + everything[10:], ["11 samples", "! note:"],
         validated=[*range(5, 10)])

    # A run that goes on has the steps of one in one go, and refuses other rows.
    kept = " --checkpoint kept --out out.onnx "
    losses, trained = train(weights, forward, x, y, everything[:5] + everything[10:], 3)
    write_case(__file__, "resumed", model, arrays,
               [data + "--val-rows 5:10 --epochs 1 " + kept + common,
                data + "--val-rows 5:10 --epochs 3 --resume " + kept + common], losses,
               ["resumed after step 3", "! note:", validation_says(trained, [*range(5, 10)])])
    for name, other, text in (("resumed_with_other_rows", "--val-rows 6:11", "now --val-rows 6:11 instead of 5:10"),
                              ("resumed_without_rows", "", "now --val-rows left out instead of 5:10"),
                              ("resumed_with_a_split", "--val-split 0.3", "--val-rows left out instead of 5:10, --val-split 0.3 instead of left out")):
        write_case(__file__, name, model, arrays,
                   [data + "--val-rows 5:10 --epochs 1 " + kept + common, data + other + " --epochs 3 --resume " + kept + common], None, [text], code=1)

    # files_of_0.2.0: a checkpoint of that version, after `--val-rows 5:10 --epochs 1` over all samples.
    old = {file.name: file.read_bytes() for file in (pathlib.Path(__file__).parent / "files_of_0.2.0").iterdir()}
    if old:
        write_case(__file__, "resumed_from_an_old_checkpoint", {"model.onnx": model, **old}, arrays,
                   ["--version; mkdir kept; mv step-* kept", data + "--val-rows 5:10 --epochs 2 --resume " + kept + common],
                   None, ["written by version 0.2.0 or older, which trained on the samples of --val-rows as well; give --rows :"], code=1)

    for name, options, text, code in (
            ("split_of_everything", "--val-split 1", "--val-split 1 does not lie above 0 and below 1", 1),
            ("split_of_nothing", "--val-split 0", "--val-split 0 does not lie above 0 and below 1", 1),
            ("split_that_leaves_none", "--rows 0:1 --val-split 0.5", "--val-split 0.5 takes 1 of 1 samples", 4),
            ("split_beside_rows", "--val-split 0.5 --val-rows 8:", "--val-split and --val-rows both say", 1),
            ("split_beside_a_file", "--val-split 0.5 --val-input xv.npy --val-target yv.npy", "there are arrays for validation", 1),
            ("rows_that_leave_none", "--val-rows :", "takes all 16 samples, and none is left to train on", 4),
            ("rows_outside", "--val-rows 20:30", "--val-rows '20:30' leaves none of 16 samples", 4),
            ("inputs_without_targets", "--val-input xv.npy", "give --val-target FILE", 1),
            ("targets_without_inputs", "--val-target yv.npy", "--val-target: there are no validation inputs", 1)):
        write_case(__file__, name, model, {**arrays, **validation}, data + options + " " + common, None, [text], code=code)

    # Windows of tokens.
    model, weights, forward = make_embedding(generator)
    tokens = generator.integers(0, 7, 25).astype("u2")
    windows = tokens[:24].reshape(8, 3).astype("i8")
    targets = tokens[1:25].reshape(8, 3).astype("i8")
    losses, _ = train(weights, forward, windows, targets, [0, 1, 2, 6, 7], 2, 2)
    write_case(__file__, "windows_of_tokens", model, {"tokens": tokens},
               "train model.onnx --tokens tokens.npy --val-rows 3:6 --loss cross_entropy --optimizer sgd --lr 0.5 --batch 2 --epochs 2 "
               "--no-shuffle --threads 1 --log-json log.json", losses, ["5 samples", "! note:"])


main()

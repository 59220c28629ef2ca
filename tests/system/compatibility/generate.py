"""generate.py PROGRAM VERSION: writes the files of an earlier version (README.md) with that version's program."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).resolve().parent
program, version = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
shutil.rmtree(here / version, ignore_errors=True)
random = numpy.random.default_rng(45)


def draw(*shape):
    return (0.4 * random.standard_normal(shape)).astype("f4")


def model(nodes, shape, weights, element=TensorProto.FLOAT):
    tensors = [numpy_helper.from_array(value.astype("f2") if element == TensorProto.FLOAT16 else value, name)
               for name, value in weights.items()]
    graph = helper.make_graph(nodes, "kept", [helper.make_tensor_value_info("x", element, ["n", *shape])],
                              [helper.make_tensor_value_info("logits", element, ["n", 4])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


layers = [
    helper.make_node("Gemm", ["x", "w1", "b1"], ["h1"]), helper.make_node("Relu", ["h1"], ["a1"]),
    helper.make_node("Gemm", ["a1", "w2", "b2"], ["h2"]), helper.make_node("Tanh", ["h2"], ["a2"]),
    helper.make_node("Gemm", ["a2", "w3", "b3"], ["logits"]),
]
numbers = {"w1": draw(6, 10), "b1": draw(10), "w2": draw(10, 10), "b2": draw(10), "w3": draw(10, 4), "b3": draw(4)}
mlp, half = model(layers, [6], numbers), model(layers, [6], numbers, TensorProto.FLOAT16)
pictures = model(
    [
        helper.make_node("Conv", ["x", "c"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["y", "scale", "bias", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "b"], ["logits"]),
    ],
    [2, 5, 5],
    {"c": draw(6, 2, 3, 3), "scale": 1 + draw(6), "bias": draw(6), "mean": draw(6), "variance": 1 + abs(draw(6)), "w": draw(6, 4), "b": draw(4)})
labels = random.integers(0, 4, 32)
x = random.standard_normal((32, 6)).astype("f4")
arrays = {"x": x, "y": labels}
of_half = {"x": x.astype("f2"), "y": labels}
of_pictures = {"x": random.standard_normal((32, 2, 5, 5)).astype("f4"), "y": labels}

data = "model.onnx --input x=x.npy --target y.npy --loss cross_entropy --batch 8 --threads 1"


def write(folder, name, text):
    (folder / name).write_text("".join(line + "\n" for line in ([text] if isinstance(text, str) else text)))


def begin(name, the_model, contents):
    folder = here / version / name
    folder.mkdir(parents=True)
    onnx.save(the_model, folder / "model.onnx")
    for array, content in contents.items():
        numpy.save(folder / (array + ".npy"), content)
    return folder


def run(folder, line, processes=1):
    command = [program, *line.split()]
    if processes > 1:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(processes), *command]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def finish(folder, commands, losses=None, says=(), code=0, tolerance=None):
    for path in folder.rglob("*"):
        if path.name in ("lock", "log.json"):
            path.unlink()
    write(folder, "cmd", commands)
    if losses is not None:
        write(folder, "losses", [f"{loss:.9g}" for loss in losses])
    if says:
        write(folder, "says", says)
    if code:
        write(folder, "code", str(code))
    if tolerance:
        write(folder, "tolerance", str(tolerance))


def losses_of(folder):
    return [json.loads(line)["loss"] for line in (folder / "log.json").read_text().splitlines()]


def checkpoint(name, the_model, contents, options, resume="", processes=1, refused=(), evaluated=True, tolerance=None, change=None):
    """Three steps of six are in the checkpoint; today's program makes the others."""
    folder = begin(name, the_model, contents)
    train = f"train {data} {options}"
    transport = " --transport mpi" if processes > 1 else ""
    run(folder, f"{train} --steps 6 --log-json log.json{transport}", processes)
    losses = losses_of(folder)
    run(folder, f"{train} --steps 3 --checkpoint kept{transport}", processes)
    for path in folder.glob("kept/*.json") if change else []:
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    again = f"train {data} {resume or options} --steps 6 --checkpoint kept --resume --log-json log.json --out out.onnx"
    first = [f"eval {data} --checkpoint kept"] if evaluated else []
    if refused:
        finish(folder, [*first, again], None, refused, 1)
    else:
        finish(folder, [*first, again], losses[3:], ["resumed after step 3"], tolerance=tolerance)


adam = "--optimizer adam --lr 0.01 --seed 3"
checkpoint("checkpoint_adam", mlp, arrays, adam)
checkpoint("checkpoint_momentum_batchnorm", pictures, of_pictures, "--optimizer sgd --momentum 0.9 --lr 0.05 --batchnorm train --dropout off")
checkpoint("checkpoint_stages", mlp, arrays, f"{adam} --stages 2 --micro-batches 4 --clip-norm 0.5")
checkpoint("checkpoint_processes", mlp, arrays, f"{adam} --stages 2 --micro-batches 2", processes=2)
checkpoint("checkpoint_sharded_optimizer", mlp, arrays, "--optimizer adamw --lr 0.01 --replicas 2 --shard-optimizer", evaluated=False)
checkpoint("checkpoint_best", mlp, arrays, f"{adam} --val-input x=x.npy --val-target y.npy --val-every 1 --best", evaluated=False)
checkpoint("checkpoint_fp16", mlp, arrays, f"{adam} --precision fp16", tolerance=5e-3)  # roundings of other processors
checkpoint("checkpoint_frozen", mlp, arrays, "--optimizer rmsprop --lr 0.001 --freeze w1 --freeze b1")
checkpoint("checkpoint_half_type", half, of_half, adam, refused=["samples", "as float16", "0.2.0", "start a new run in another folder"])


def graph_of_old(kept):
    """As if that version had made another training graph; checkpoints of format 1 have no checksum of their own."""
    del kept["checksum"]
    return {**kept, "format": "onstage checkpoint 1", "options_digest": "0123456789abcdef"}


checkpoint("checkpoint_of_another_graph", mlp, arrays, adam, change=graph_of_old,
           refused=["is of this model and these options", "onstage 0.2.0 or an earlier version", "start a new run in another folder"])


def plan(name, the_model, contents, options, trained):
    folder = begin(name, the_model, contents)
    run(folder, f"plan {data} {options} -o plan.json")
    run(folder, f"train {data} {trained} --plan plan.json --steps 4 --log-json log.json")
    losses = losses_of(folder)
    finish(folder, ["simulate plan.json", f"train {data} {trained} --plan plan.json --steps 4 --log-json log.json"], losses)


def least_memory(the_model, contents, options):
    folder = begin("scratch", the_model, contents)
    refused = subprocess.run([program, *f"plan {data} {options} --memory 100 -o plan.json".split()], cwd=folder, text=True, capture_output=True)
    shutil.rmtree(folder)
    return re.search(r"--memory (\d+)", refused.stderr)[1]


stages = "--optimizer adam --micro-batches 4 --stages 2"
plan("plan_stages", mlp, arrays, stages, "--optimizer adam --lr 0.01 --micro-batches 4")
cap = least_memory(pictures, of_pictures, f"{stages} --pipeline gpipe")
plan("plan_memory", pictures, of_pictures, f"{stages} --pipeline gpipe --memory {cap}", "--optimizer adam --lr 0.01 --micro-batches 4")
plan("plan_replicas", mlp, arrays, "--optimizer sgd --micro-batches 2 --stages 2 --replicas 2", "--optimizer sgd --lr 0.1 --micro-batches 2 --replicas 2")

# A half type is trained otherwise today: its plan still says where stages begin.
folder = begin("plan_half_type", half, of_half)
run(folder, f"plan {data} {stages} -o plan.json")
finish(folder, ["simulate plan.json", f"train {data} --optimizer adam --lr 0.01 --micro-batches 4 --plan plan.json --steps 4"],
       says=["step 4/4"])

folder = begin("profile", mlp, arrays)
run(folder, f"profile {data} --optimizer adam --micro-batches 4 -o profile.json")
finish(folder, [f"plan {data} {stages} --profile profile.json -o plan.json",
                "simulate plan.json",
                f"train {data} --optimizer adam --micro-batches 4 --plan plan.json --steps 2"], says=["step 2/2"])

os.sync()

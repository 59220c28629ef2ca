"""Weights that are not finite are not written, where the model hides them from the loss; those of the file are."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from making import write_case  # noqa: E402

RUN = ("train model.onnx --input x=x.npy --target t.npy --loss mse --optimizer sgd --lr 0.1 --batch 4 --steps 2 --no-shuffle --threads 1 "
       "--log-json log.json")
SAYS = ["'w' holds numbers that are not finite", "step 2"]


def model(nodes, initialisers):
    graph = helper.make_graph(
        nodes, "hidden", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(numpy.asarray(value, numpy.float32), name) for name, value in initialisers.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made


def hidden():
    """The root of 0 has an infinite derivative; what becomes no number is taken for 0."""
    return model([helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Abs", ["a"], ["b"]),
                  helper.make_node("Sqrt", ["b"], ["c"]), helper.make_node("IsNaN", ["c"], ["nan"]),
                  helper.make_node("Where", ["nan", "zero", "c"], ["d"]), helper.make_node("Add", ["d", "v"], ["y"])],
                 {"w": [1, 2, 3], "zero": 0, "v": [0.1, 0.2, 0.3]})


def masked(mask):
    return model([helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "mask"], ["b"]),
                  helper.make_node("Sigmoid", ["b"], ["y"])], {"w": [1, 2, 3], "mask": mask})


generator = numpy.random.default_rng(1)
x = generator.standard_normal((8, 3)).astype(numpy.float32)
zeros = x.copy()
zeros[0] = 0
t = generator.standard_normal((8, 3)).astype(numpy.float32)
write_case(__file__, "hidden_from_the_loss", hidden(), {"x": zeros, "t": t}, RUN + " --out out.onnx", says=SAYS, code=7)
write_case(__file__, "not_in_a_checkpoint", hidden(), {"x": zeros, "t": t}, RUN + " --checkpoint saved", says=SAYS, code=7)
write_case(__file__, "not_as_the_best", hidden(), {"x": zeros, "t": t},
           RUN + " --val-input x=x.npy --val-target t.npy --val-every 1 --best --out out.onnx", says=["'w' holds numbers that are not finite"], code=7)
write_case(__file__, "the_file_stays", hidden(), {"x": zeros, "t": t},
           [RUN.replace("x=x.npy", "x=good.npy") + " --out out.onnx", RUN + " --out out.onnx", "eval out.onnx --input x=good.npy --target t.npy --loss mse"],
           says=["'w' holds numbers that are not finite", "8 samples in"])
numpy.save(pathlib.Path(__file__).resolve().parent / "the_file_stays" / "good.npy", numpy.abs(x) + 0.5)
write_case(__file__, "infinities_of_the_file", masked([0, -numpy.inf, 0]), {"x": x, "t": t}, RUN + " --out out.onnx --checkpoint saved",
           says=["wrote out.onnx", "! not finite"])
write_case(__file__, "finite", hidden(), {"x": numpy.abs(x) + 0.5, "t": t}, RUN + " --out out.onnx --checkpoint saved", says=["wrote out.onnx", "! not finite"])


def hidden_beside_an_infinity():
    """The file's own infinity stands in one row; in the other, a root of 0 makes a number that is none."""
    return model([helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Abs", ["a"], ["b"]),
                  helper.make_node("Sqrt", ["b"], ["c"]), helper.make_node("IsNaN", ["c"], ["nan"]), helper.make_node("IsInf", ["c"], ["inf"]),
                  helper.make_node("Or", ["nan", "inf"], ["bad"]), helper.make_node("Where", ["bad", "zero", "c"], ["d"]), helper.make_node("Add", ["d", "v"], ["y"])],
                 {"w": [1, -numpy.inf, 3], "zero": 0, "v": [0.1, 0.2, 0.3]})


away = numpy.abs(x) + 0.5
away[0, 0] = 0
write_case(__file__, "beside_an_infinity_of_the_file", hidden_beside_an_infinity(), {"x": away, "t": t}, RUN + " --train '*' --train w --out out.onnx", says=SAYS, code=7)

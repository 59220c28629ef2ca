#!/usr/bin/env python3
"""Writes golden training runs of Keras models, as tf2onnx exports them.

    python3 tests/agreement/families/generate_keras.py [FAMILY ...]

Needs the packages of requirements_keras.txt; nothing that runs or tests onstage does. Each family gives a folder with
model.onnx, its arrays and golden.json, whose fields tests/agreement/golden/README.md describes. `trainable` and
`everything_kept` are what docs/export_keras.md tells users to do so that nothing gets lost on the way.
"""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import sys
import typing

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy
import onnx
import onnx.numpy_helper
import tensorflow as tf
import tf2onnx
from keras import layers
from tensorflow.python.grappler import tf_optimizer
from tf2onnx import optimizer
from tf2onnx.optimizer import back_to_back_optimizer

HERE = pathlib.Path(__file__).parent
SAMPLES, BATCH, STEPS = 8, 4, 10
MOMENTUM = 0.9
NOISE = 2e-5  # relative, float32 against float64: a golden loss must be known better than it is compared
GRADIENT_NOISE = 2e-4


@dataclasses.dataclass
class Family:
    name: str
    what: str
    make: typing.Callable
    data: typing.Callable  # of a random generator -> input, target
    way: str  # of exporting: "export", "from_keras" or "from_function"
    opset: int = 17
    training: bool = False  # BatchNormalization normalises by the batch
    rate: float = 0.02
    options: list = dataclasses.field(default_factory=list)


def convolution():
    return keras.Sequential([
        layers.Input((12, 12, 3), name="x"),
        layers.Conv2D(6, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.3),
        layers.DepthwiseConv2D(3, padding="same", use_bias=False), layers.BatchNormalization(), layers.Activation("relu6"),
        layers.SeparableConv2D(8, 3, strides=2, padding="same", depth_multiplier=2), layers.Activation("swish"),
        layers.Conv2DTranspose(5, 2, strides=2, activation="relu"), layers.AveragePooling2D(2), layers.GlobalAveragePooling2D(),
        layers.Dense(9, use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.2), layers.Dense(5),
    ])  # fmt: skip


def lstm():
    both = layers.Bidirectional(layers.LSTM(7, return_sequences=True))
    return keras.Sequential([layers.Input((9,), dtype="int32", name="x"), layers.Embedding(30, 6), both, layers.LSTM(8), layers.Dense(5)])


def gru():
    first, second = layers.GRU(8, return_sequences=True), layers.GRU(7, reset_after=False)
    return keras.Sequential([layers.Input((9,), dtype="int32", name="x"), layers.Embedding(30, 6), first, second, layers.Dense(5)])


def transformer():
    x = layers.Input((9,), dtype="int32", name="x")
    h = layers.Embedding(30, 16)(x)
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 8)(h, h, use_causal_mask=True))
    f = layers.Dense(16)(layers.Dense(24, activation="gelu")(h))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling1D()(layers.LayerNormalization()(h + f))))


def images(rng):
    target = rng.integers(0, 5, SAMPLES)
    return (rng.standard_normal((SAMPLES, 12, 12, 3)) + target[:, None, None, None] / 5).astype(numpy.float32), target


def tokens(rng):
    return rng.integers(0, 30, (SAMPLES, 9)).astype(numpy.int32), rng.integers(0, 5, SAMPLES)


FAMILIES = [
    Family("keras_convolution", "Keras: batch norm, depthwise, separable, transposed convolution", convolution, images, "from_function", training=True, options=["--batchnorm", "train", "--dropout", "off"]),
    Family("keras_lstm", "Keras: LSTM, one layer both ways", lstm, tokens, "export"),
    Family("keras_gru", "Keras: GRU, both forms, as Loop", gru, tokens, "export", opset=15),
    Family("keras_transformer", "Keras: causal attention, exact GELU", transformer, tokens, "from_keras", opset=18),
]  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- export


class Normalization(layers.BatchNormalization):
    """As one operation, which tf2onnx writes as BatchNormalization."""

    def call(self, inputs, training=None, mask=None):
        image = inputs if len(inputs.shape) == 4 else tf.reshape(inputs, (-1, 1, 1, inputs.shape[-1]))
        statistics = self.moving_mean, self.moving_variance
        normal = tf.compat.v1.nn.fused_batch_norm(image, self.gamma, self.beta, *statistics, self.epsilon, is_training=False)[0]
        return normal if image is inputs else tf.reshape(normal, tf.shape(inputs))


class Dropout(layers.Dropout):
    """In the form that tf2onnx recognises as Dropout."""

    def call(self, inputs, training=None):
        kept = tf.cast(tf.random.uniform(tf.shape(inputs)) >= self.rate, inputs.dtype)
        return inputs * (1 / (1 - self.rate)) * kept


def trainable(model):
    """The same network and weights; what is exported from it holds BatchNormalization and Dropout."""
    replaced = {layers.BatchNormalization: Normalization, layers.Dropout: Dropout}
    copy = keras.models.clone_model(model, clone_function=lambda layer: replaced.get(type(layer), type(layer)).from_config(layer.get_config()))
    copy.set_weights(model.get_weights())
    return copy


def without_folding(optimize):
    def optimize_rest(config, graph):
        passes = config.graph_options.rewrite_options.optimizers
        passes[:] = [name for name in passes if name != "constfold"]
        return optimize(config, graph)

    return optimize_rest


@contextlib.contextmanager
def everything_kept():
    """Takes from tf2onnx what simplifies weights away."""
    before = dict(optimizer._optimizers), dict(back_to_back_optimizer._func_map), tf_optimizer.OptimizeGraph
    back_to_back_optimizer._func_map.pop(("Conv", "BatchNormalization"))  # the one would be multiplied into the other
    optimizer._optimizers.pop("merge_duplication")  # two weights that are equal would become one
    tf_optimizer.OptimizeGraph = without_folding(tf_optimizer.OptimizeGraph)  # a bias of zeros would be dropped
    yield
    optimizer._optimizers.update(before[0])
    back_to_back_optimizer._func_map.update(before[1])
    tf_optimizer.OptimizeGraph = before[2]


def export(family, model, path):
    spec = [tf.TensorSpec((None, *model.inputs[0].shape[1:]), model.inputs[0].dtype, name="x")]
    if family.way == "export":
        model.export(str(path), format="onnx", input_signature=spec, opset_version=family.opset, verbose=False)
    elif family.way == "from_keras":
        tf2onnx.convert.from_keras(model, spec, opset=family.opset, output_path=str(path))
    else:
        copy = trainable(model)
        function = tf.function(lambda x: {"logits": copy(x)}, input_signature=spec)
        with everything_kept():
            tf2onnx.convert.from_function(function, spec, opset=family.opset, output_path=str(path))
    file = onnx.load(path)
    file.graph.doc_string = file.producer_version = ""
    onnx.save(file, path)
    return file


# ----------------------------------------------------------------------------------------------------------- training


def randomised(family):
    """Distinct values everywhere: exporters merge equal initialisers and drop zero biases; weights are found by value."""
    keras.utils.set_random_seed(1)
    model, rng = family.make(), numpy.random.default_rng(1)
    values = []
    for variable in model.weights:
        value = variable.numpy() + 0.05 * rng.standard_normal(variable.shape) if "float" in variable.dtype else variable.numpy()
        values.append(numpy.abs(value) + 0.1 if "variance" in variable.path else value)
    model.set_weights([v.astype(numpy.float32) if v.dtype.kind == "f" else v for v in values])
    return model


def doubled(path):
    """tf2onnx writes an LSTM's bias as one of the input and one of the state, zero: together they learn twice as fast."""
    return 2.0 if "lstm" in path and path.endswith("/bias") else 1.0


def train(family, weights, x, target, rate, dtype):
    """The losses of all steps and the gradients of the first, by path."""
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    model = family.make()
    model.set_weights(weights)
    assert all(w.dtype in (dtype, "uint32", "int64") for w in model.weights)
    for layer in model.layers:
        if isinstance(layer, layers.Dropout):
            layer.rate = 0.0  # random numbers of two programs cannot be compared
    variables, losses, first = model.trainable_variables, [], None
    speeds = [0.0] * len(variables)
    for step in range(STEPS):
        rows = slice(step % (SAMPLES // BATCH) * BATCH, (step % (SAMPLES // BATCH) + 1) * BATCH)
        with tf.GradientTape() as tape:
            logits = model(x[rows].astype(dtype) if x.dtype.kind == "f" else x[rows], training=family.training)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=target[rows]))
        gradients = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, [v.value for v in variables])]
        first = first or {i: g.astype(numpy.float64) for i, g in enumerate(gradients)}
        for i, (variable, gradient) in enumerate(zip(variables, gradients)):
            speeds[i] = MOMENTUM * speeds[i] + gradient
            variable.assign_sub(rate * doubled(variable.path) * speeds[i])
        losses.append(float(loss))
    return losses, first


def elements(array):
    return numpy.sort(numpy.asarray(array, numpy.float32), axis=None)


def norms_of(file, model, gradients):
    """Gradient norms under the names of the file, where weights are transposed, permuted, packed and doubled."""
    whole = [elements(v.numpy()) for v in model.trainable_variables]
    squares = [float((gradients[i] ** 2).sum()) for i in range(len(whole))]
    norms, found = {}, set()
    for initialiser in file.graph.initializer:
        array = onnx.numpy_helper.to_array(initialiser)
        if array.dtype != numpy.float32 or array.size < 2:
            continue
        values = elements(array[array != 0])
        members = [i for i, v in enumerate(whole) if numpy.isin(v, values).all()]
        if not members or sum(len(whole[i]) for i in members) != len(values):
            continue
        repeated = array.size // len(values)  # a bias of the input, and one of the state that is zero
        norms[initialiser.name] = math.sqrt(repeated * sum(squares[i] for i in members))
        found |= set(members)
    missing = [v.path for i, v in enumerate(model.trainable_variables) if i not in found]
    if missing:
        raise SystemExit(f"weights that are not in the file: {missing}")
    return norms


def generate(family):
    folder = HERE / family.name
    folder.mkdir(exist_ok=True)
    model = randomised(family)
    weights = model.get_weights()
    x, target = family.data(numpy.random.default_rng(1))
    file = export(family, model, folder / "model.onnx")
    for attempt in range(8):
        rate = family.rate * 0.5**attempt
        exact, gradients = train(family, weights, x, target, rate, "float64")
        single, rough_gradients = train(family, weights, x, target, rate, "float32")  # which stays set
        noise = max(abs(a - b) / abs(b) for a, b in zip(single, exact))
        if noise <= NOISE:
            break
    else:
        raise SystemExit(f"{family.name}: too noisy for golden values: {noise:g}")
    norms, rough = norms_of(file, model, gradients), norms_of(file, model, rough_gradients)
    noisy = [n for n in norms if abs(norms[n] - rough[n]) > GRADIENT_NOISE * max(norms[n], 1e-3)]
    if noisy:
        raise SystemExit(f"{family.name}: gradients too noisy: {noisy}")
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "target.npy", target)
    golden = {
        "model": family.name, "what": family.what, "keras": keras.__version__, "tensorflow": tf.__version__,
        "exporter": f"tf2onnx {tf2onnx.__version__}, {family.way}", "opset": family.opset, "dynamic": True, "training": False,
        "batch": BATCH, "steps": STEPS, "inputs": {"x": "x.npy"}, "target": "target.npy",
        "output": file.graph.output[0].name, "loss": "cross_entropy", "options": family.options,
        "operators": sorted({n.op_type for n in file.graph.node}),
        "runs": [{
            "flags": ["--optimizer", "sgd", "--momentum", str(MOMENTUM), "--lr", format(rate, "g")], "noise": float(f"{noise:.1e}"),
            "losses": exact, "grad_norms": norms, "grad_norm": math.sqrt(sum(v * v for v in norms.values())), "final_norms": {},
        }],
    }  # fmt: skip
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(f"{family.name:18} {golden['opset']:3} {exact[0]:.4f} -> {exact[-1]:.4f} rate {rate:g} noise {noise:.1e}")


def main():
    unknown = set(sys.argv[1:]) - {f.name for f in FAMILIES}
    if unknown:
        sys.exit(f"unknown families {sorted(unknown)}; there are {[f.name for f in FAMILIES]}")
    for family in FAMILIES:
        if not sys.argv[1:] or family.name in sys.argv[1:]:
            generate(family)


if __name__ == "__main__":
    main()

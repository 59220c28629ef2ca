"""Writes the cases of a kind: README.md. Used by KIND/generate.py."""
import pathlib
import shutil

import numpy


def write_case(kind_file, name, model, arrays, commands, losses=None, says=(), code=0, tolerance=None):
    """`model`: an onnx.ModelProto, bytes, or a dictionary of file name -> either. `arrays`: name -> array, written as name.npy.
    `commands`: lines without the program's name. `losses`: PyTorch's, in float32, or in float64 where given so."""
    folder = pathlib.Path(kind_file).resolve().parent / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    models = model if isinstance(model, dict) else {"model.onnx": model}
    for file, content in models.items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    for array, content in arrays.items():
        numpy.save(folder / (array + ".npy"), numpy.asarray(content))
    (folder / "cmd").write_text("".join(line + "\n" for line in ([commands] if isinstance(commands, str) else commands)))
    if losses is not None:
        (folder / "losses").write_text("".join(f"{float(loss):.9g}\n" for loss in losses))
    if says:
        (folder / "says").write_text("".join(text + "\n" for text in ([says] if isinstance(says, str) else says)))
    if code:
        (folder / "code").write_text(f"{code}\n")
    if tolerance is not None:
        (folder / "tolerance").write_text(f"{tolerance:g}\n")

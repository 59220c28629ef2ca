"""Writes the backend cases of the installed onnx package:  python3 tests/agreement/backend/generate.py FOLDER

onnx's own tool (onnx.backend.test.cmd_tools) writes the simple models alone; this adds the node cases, and copies the
PyTorch sets that the package ships.
"""

import argparse
import os
import shutil
import sys

import onnx.backend.test
from onnx.backend.test import cmd_tools
from onnx.backend.test.case import model, node


def main() -> None:
    folder = sys.argv[1]
    cases = [case for case in model.collect_testcases() + node.collect_testcases() if case.kind != "real"]
    cmd_tools.model_test.collect_testcases = lambda: cases
    cmd_tools.generate_data(argparse.Namespace(output=folder))
    shipped = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
    for name in ("pytorch-converted", "pytorch-operator"):
        shutil.copytree(os.path.join(shipped, name), os.path.join(folder, name), dirs_exist_ok=True)


if __name__ == "__main__":
    main()

"""Faults that onstage once had, each as a probe that finds it again: probe(programs, folder) returns what is wrong, or None."""

import concurrent.futures
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import random_cases
import runner
import wire


class Programs:
    def __init__(self, root, arguments):
        self.root = root
        self.plain = runner.Program(arguments.onstage)
        self.sanitized = runner.Program(arguments.sanitized) if arguments.sanitized else self.plain
        self.null_test, self.fault = arguments.null_test, arguments.fault
        self.mlp = os.path.join(root, "tests/agreement/golden/mlp")

    def data(self, batch=8):
        return ["--input", f"x={self.mlp}/input.npy", "--target", f"{self.mlp}/target.npy", "--loss", "cross_entropy", "--batch", str(batch),
                "--threads", "1"]  # fmt: skip

    def train(self, *more):
        return ["train", f"{self.mlp}/model.onnx", *self.data(), *more]


def build(root, sanitize=True):
    """Builds what the probes need; paths by the names of the options."""
    paths = {}
    for config, names in (([], ("onstage", "null_test", "fault")), (["--config=sanitize"], ("sanitized",))):
        if "sanitized" in names and not sanitize:
            continue
        targets = {"onstage": "tools/onstage", "sanitized": "tools/onstage", "null_test": "tests/robust/attack/null_test", "fault": "tests/robust/faults/fault.so"}
        labels = ["//" + "/".join(targets[n].split("/")[:-1]) + ":" + targets[n].split("/")[-1] for n in names]
        subprocess.run(["./bazelw", "build", *config, *labels], cwd=root, check=True)
        folder = subprocess.run(["./bazelw", "info", *config, "bazel-bin"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
        for name in names:
            paths[name] = os.path.join(folder, targets[name])
    return paths


def older(root, arguments):
    """The probes' programs of another commit, built in a folder of its own; data, fault and probes are today's."""
    folder = os.path.join(tempfile.gettempdir(), "onstage-" + arguments.against)
    if not os.path.exists(folder):
        subprocess.run(["git", "worktree", "add", "--detach", folder, arguments.against], cwd=root, check=True)
    for name in ("tests/robust/attack", "tests/robust/faults"):
        shutil.copytree(os.path.join(root, name), os.path.join(folder, name), dirs_exist_ok=True)
    if os.path.exists(os.path.join(root, ".user.bazelrc")):
        shutil.copy(os.path.join(root, ".user.bazelrc"), folder)
    built = build(folder)

    class Older:
        pass

    for name, path in built.items():
        setattr(Older, name, path)
    Older.fault = arguments.fault
    return Programs(root, Older)


def run_faults(programs, arguments):
    """All places at which a call of the system can fail (tests/robust/faults): how many were well, and how many were not."""
    with tempfile.TemporaryDirectory(prefix="attack.") as folder:
        for name, path in (("tools/onstage", programs.plain.path), ("tests/robust/faults/fault.so", programs.fault), ("tests/agreement/golden", programs.root + "/tests/agreement/golden")):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            os.symlink(os.path.abspath(path), os.path.join(folder, name))
        script = os.path.join(programs.root, "tests/robust/faults/faults_test.sh")
        environment = {**os.environ, "FAULTS": os.environ.get("FAULTS", "all")}

        def run(command):
            output = subprocess.run(["bash", script, command], cwd=folder, env=environment, capture_output=True, text=True).stdout
            print("\n".join(line for line in output.splitlines() if not line.endswith(" failed")), flush=True)
            counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
            return [int(number) for number in counts[-1]] if counts else [0, 1]

        # Each command's calls are counted by a process of its own.
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            counts = list(pool.map(run, ["plan", "profile", "train", "resume", "eval", "inspect"]))
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)


def wrong_end(program, result, folder, codes=range(0, 9)):
    return runner.judge(program, result, folder) or (None if result.code in codes else f"exit code {result.code}: {result.message}")


def save(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def npy(dims, values, form="<f4"):
    import struct

    header = repr({"descr": form, "fortran_order": False, "shape": tuple(dims)}).encode()
    header = header.ljust(118 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values


def linear_model(x="x", weight="w", y="y", batch="n", width=4):
    return wire.model([wire.node("MatMul", [x, weight], [y])], [wire.value_info(x, [batch, width])], [wire.value_info(y, [batch, 3])],
                      [wire.tensor(weight, [width, 3], bytes(width * 12))])  # fmt: skip


def ended(process):
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def wait_for(path, what, process, seconds=60):
    """Until a file holds something."""
    end = time.time() + seconds
    while time.time() < end and not ended(process):
        if os.path.exists(path) and what in open(path, "rb").read():
            return
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------------------------ the probes


def cost_graph(programs, folder):
    """the report of a cost graph crashed"""
    file = os.path.join(programs.root, "examples/data/profiles/pipedream/resnet50.txt")
    result = programs.plain.run(["plan", "--cost-graph", file, "--stages", "4", "--report", "r.html"], folder)
    return wrong_end(programs.plain, result, folder, [0])


def long_member(programs, folder):
    """an .npz whose first member has a long name was read before its list"""
    with open(f"{programs.mlp}/input.npy", "rb") as file:
        data = file.read()
    for length in (240, 244, 248, 249, 250, 255, 300, 5000):
        save(folder, "x.npz", random_cases.npz([("x" * length, data)]))
        arguments = programs.data()
        arguments[1] = "x=x.npz"
        result = programs.sanitized.run(["eval", f"{programs.mlp}/model.onnx", *arguments], folder)
        wrong = wrong_end(programs.sanitized, result, folder)
        if wrong:
            return f"name of {length} bytes: {wrong}"
    return None


def sizes(programs, folder):
    """sizes about 2^63 overflowed"""
    most = 2**63 - 1
    arguments = programs.data()
    arguments[arguments.index("--batch") + 1] = str(most)
    wrong = wrong_end(programs.sanitized, programs.sanitized.run(["train", f"{programs.mlp}/model.onnx", *arguments], folder), folder, range(1, 9))
    if wrong:
        return f"--batch {most}: {wrong}"
    save(folder, "x.npy", npy([4, 4], bytes(64)))
    save(folder, "t.npy", npy([4], bytes(32), "<i8"))
    for dims in (["n", most], [most, 4], [most, most], ["n", 2**62], [2**31, 2**31, 2]):
        save(folder, "m.onnx", wire.model([wire.node("Relu", ["x"], ["y"])], [wire.value_info("x", dims)], [wire.value_info("y", dims)]))
        for command in (["train", "m.onnx", "--input", "x.npy", "--target", "t.npy", "--loss", "mse"], ["plan", "m.onnx"], ["inspect", "m.onnx"], ["profile", "m.onnx", "--no-cache"]):
            wrong = wrong_end(programs.sanitized, programs.sanitized.run(command, folder), folder)
            if wrong:
                return f"{command[0]} of an input {dims}: {wrong}"
    return None


def large_tables(programs, folder):
    """tables of host memory grew with sizes that a model names, whatever --memory says"""
    size = 10**9
    save(folder, "x.npy", npy([1, 4], bytes(16)))
    weight = wire.tensor("w", [4, 4], bytes(64))
    x, y = wire.value_info("x", [1, 4]), wire.value_info("y", [])
    models = {
        "EyeLike": [wire.node("ConstantOfShape", ["shape"], ["big"]), wire.node("EyeLike", ["big"], ["eye"]), wire.node("ReduceSum", ["eye"], ["s"]),
                    wire.node("MatMul", ["x", "w"], ["h"]), wire.node("Mul", ["h", "s"], ["y"])],
        "Range": [wire.node("Range", ["zero", "size", "one"], ["big"]), wire.node("ReduceSum", ["big"], ["i"]), wire.node("Cast", ["i"], ["s"], wire.int_attribute("to", 1)),
                  wire.node("MatMul", ["x", "w"], ["h"]), wire.node("Mul", ["h", "s"], ["y"])],
        "Expand": [wire.node("Expand", ["w1", "shape"], ["big"]), wire.node("ReduceSum", ["big"], ["s"]), wire.node("MatMul", ["x", "w"], ["h"]),
                   wire.node("Mul", ["h", "s"], ["y"])],
    }  # fmt: skip
    word = lambda value: int(value).to_bytes(8, "little")
    constants = [weight, wire.tensor("shape", [2], word(size) + word(1), 7), wire.tensor("zero", [], word(0), 7), wire.tensor("size", [], word(size), 7),
                 wire.tensor("one", [], word(1), 7), wire.tensor("w1", [1, 1], bytes(4))]  # fmt: skip
    for name, nodes in models.items():
        save(folder, "m.onnx", wire.model(nodes, [x], [y], constants))
        result = programs.plain.run(["train", "m.onnx", "--input", "x.npy", "--loss", "graph", "--memory", "256MiB", "--steps", "1"], folder, seconds=20)
        wrong = wrong_end(programs.plain, result, folder)
        if wrong:
            return f"{name} of {size}: {wrong}"
    pool = [wire.node("AveragePool", ["x"], ["p"], wire.ints_attribute("kernel_shape", [3])), wire.node("ReduceSum", ["p"], ["y"])]
    save(folder, "m.onnx", wire.model(pool + [wire.node("Mul", ["w", "w"], ["unused"])], [wire.value_info("x", [1, 1, size])], [y], [weight]))
    result = programs.plain.run(["train", "m.onnx", "--input", "x.npy", "--loss", "graph", "--memory", "256MiB", "--steps", "1"], folder, seconds=20)
    wrong = wrong_end(programs.plain, result, folder)
    return f"pooling {size}: {wrong}" if wrong else None


def changed_files(programs, folder):
    """data cut short, or a model written over, while a run reads them, lost the run"""
    for name in ("model.onnx", "input.npy", "target.npy"):
        shutil.copy(f"{programs.mlp}/{name}", folder)
    arguments = ["train", "model.onnx", "--input", "x=input.npy", "--target", "target.npy", "--loss", "cross_entropy", "--batch", "8", "--threads", "1",
                 "--log-json", "log.jsonl", "--out", "trained.onnx", "--checkpoint", "c", "--checkpoint-every", "1000000"]  # fmt: skip
    process = programs.plain.start([*arguments, "--epochs", "100000"], folder)
    wait_for(os.path.join(folder, "log.jsonl"), b'"step"', process)
    os.truncate(os.path.join(folder, "input.npy"), 4000)
    result = programs.plain.wait(process)
    wrong = wrong_end(programs.plain, result, folder, range(1, 9))
    if wrong:
        return "data cut short: " + wrong
    if not os.path.isdir(os.path.join(folder, "c")) or not os.listdir(os.path.join(folder, "c")):
        return "data cut short: the steps so far are lost"
    shutil.copy(f"{programs.mlp}/input.npy", folder)
    shutil.rmtree(os.path.join(folder, "c"))
    os.unlink(os.path.join(folder, "log.jsonl"))
    process = programs.plain.start([*arguments[:-4], "--steps", "60000"], folder)
    wait_for(os.path.join(folder, "log.jsonl"), b'"step"', process)
    save(folder, "model.onnx", os.urandom(300))
    result = programs.plain.wait(process)
    wrong = wrong_end(programs.plain, result, folder)
    if wrong:
        return "model written over: " + wrong
    kept = [name for name in os.listdir(folder) if name.startswith("trained")]
    return None if kept else "model written over: the weights are lost"


def full_log(programs, folder):
    """a full disk under --log-json ended the run, without a checkpoint"""
    # Room for the model and a checkpoint, and not for the log.
    arguments = programs.train("--steps", "4000", "--log-json", "log.jsonl", "--checkpoint", "c", "--checkpoint-every", "2000", "--out", "t.onnx")
    result = programs.plain.run(arguments, folder, limits=[(resource.RLIMIT_FSIZE, 200_000)])
    wrong = wrong_end(programs.plain, result, folder, [0, 5])
    kept = os.listdir(os.path.join(folder, "c")) if os.path.isdir(os.path.join(folder, "c")) else []
    if wrong is None and not (os.path.exists(os.path.join(folder, "t.onnx")) and "step-00004000.json" in kept):
        wrong = f"exit code {result.code}: {result.message}, without the last checkpoint and the model"
    return wrong


def one_folder(programs, folder):
    """runs in one checkpoint folder died with messages that did not name the other"""
    first = programs.plain.start(programs.train("--epochs", "100000", "--checkpoint", "c", "--checkpoint-every", "1"), folder)
    time.sleep(1)
    inner = os.path.join(folder, "second")
    os.mkdir(inner)
    results = [programs.plain.run(programs.train("--steps", "50", "--checkpoint", "../c", "--checkpoint-every", "1"), inner) for _ in range(2)]
    early = ended(first)
    os.kill(first.pid, signal.SIGKILL)
    result = programs.plain.wait(first)
    if early:
        return f"the first run ended: exit code {result.code}: {result.message}"
    for result in results:
        if result.code != 0 and str(first.pid) not in result.message:
            return f"exit code {result.code}: {result.message}"
        if result.code == 0:
            return "two runs write into one folder"
    return None


def synced_folders(programs, folder):
    """a failing fsync of a folder was ignored, and a new folder's parent not synced"""
    if not programs.fault or programs.plain.sanitized:
        return "not run: it needs --fault, and a program without sanitizers"
    arguments = programs.train("--steps", "8", "--checkpoint", "c", "--checkpoint-every", "4", "--out", "t.onnx")
    environment = {"LD_PRELOAD": os.path.abspath(programs.fault), "ONSTAGE_FAULT": "sync:0", "ONSTAGE_FAULT_CALLS": "calls", "ONSTAGE_FAULT_SYNCED": "synced"}
    programs.plain.run(arguments, folder, environment=environment)
    with open(os.path.join(folder, "synced")) as file:
        synced = [line.rstrip("\n") for line in file]
    if os.path.realpath(folder) not in synced:
        return "the folder of a new folder is not synced"
    for place, path in enumerate(synced, 1):
        for name in ("c", "t.onnx"):
            target = os.path.join(folder, name)
            shutil.rmtree(target) if os.path.isdir(target) else os.path.exists(target) and os.unlink(target)
        result = programs.plain.run(arguments, folder, environment={**environment, "ONSTAGE_FAULT": f"sync:{place}"})
        if result.code == 0 and b"warning" not in result.stderr:
            return f"fsync of {os.path.relpath(path, os.path.realpath(folder))} fails, and nothing is said"
    return None


def names(programs, folder):
    """names of a model reached the terminal as they were"""
    save(folder, "x.npy", npy([4, 4], bytes(64)))
    save(folder, "t.npy", npy([4], bytes(32), "<i8"))
    for name in ("a\nFORGED: all is well", "\x1b[2J", "a\x07\x08", "\u009b31m", "x" * (1 << 20), "x" * 200):
        for model in (linear_model(x=name), linear_model(weight=name), linear_model(y=name), linear_model(batch=name)):
            save(folder, "m.onnx", model)
            data = ["--input", "x.npy", "--target", "t.npy", "--loss", "cross_entropy"]
            for command in (["check"], ["inspect"], ["train", *data, "--freeze", "*"], ["train", *data, "--dim", "q=3"], ["eval", *data, "--output", "q=y.npy"], ["plan"]):
                result = programs.plain.run([command[0], "m.onnx", *command[1:]], folder)
                wrong = wrong_end(programs.plain, result, folder)
                if wrong is None and command[0] == "inspect" and b"x" * 97 in result.stdout.split(b"\nassumed", 1)[0]:
                    wrong = "prints a name of more than 96 bytes in a table"
                if wrong:
                    return f"{command[0]}: {wrong}"
    weight = [wire.number(1, 4), wire.number(1, 3), wire.number(2, 1), wire.text(8, "w"), wire.number(14, 1),
              wire.inside(13, wire.text(1, "location"), wire.text(2, b"w.bin\0/../../other"))]  # fmt: skip
    save(folder, "m.onnx", wire.model([wire.node("MatMul", ["x", "w"], ["y"])], [wire.value_info("x", ["n", 4])], [wire.value_info("y", ["n", 3])], [weight]))
    save(folder, "w.bin", bytes(48))
    result = programs.plain.run(["check", "m.onnx"], folder)
    return "a location with NUL is cut" if result.code == 0 else None


def leftovers(programs, folder):
    """SIGHUP lost the steps so far, SIGKILL left files for ever, one name for two results lost one"""
    arguments = programs.train("--epochs", "100000", "--checkpoint", "c", "--checkpoint-every", "1000000", "--log-json", "log.jsonl")
    process = programs.plain.start(arguments, folder)
    wait_for(os.path.join(folder, "log.jsonl"), b'"step"', process)
    process.send_signal(signal.SIGHUP)
    result = programs.plain.wait(process)
    if result.code != 8 or not os.path.isdir(os.path.join(folder, "c")):
        return f"SIGHUP: exit code {result.code}, no checkpoint" if result.code >= 0 else "SIGHUP: no checkpoint"
    save(folder, "t.onnx.4194303-1.tmp", b"left by a process that was killed")
    programs.plain.run(programs.train("--steps", "1", "--out", "t.onnx"), folder)
    if os.path.exists(os.path.join(folder, "t.onnx.4194303-1.tmp")):
        return "what a killed run left stays"
    result = programs.plain.run(programs.train("--steps", "1", "--out", "one", "--log-json", "one"), folder)
    return "--out and --log-json of one name" if result.code != 1 else None


def many_nodes(programs, folder):
    """laying out many values took time that grew with their square"""
    times = []
    for count in (20_000, 80_000):
        nodes = [wire.node("MatMul", ["x", "w"], ["v0"])]
        nodes += [wire.node("Sigmoid", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
        save(folder, "m.onnx", wire.model(nodes + [wire.node("ReduceSum", [f"v{count}"], ["y"])], [wire.value_info("x", [1, 4])], [wire.value_info("y", [])],
                                          [wire.tensor("w", [4, 4], bytes(64))]))  # fmt: skip
        save(folder, "x.npy", npy([1, 4], bytes(16)))
        result = programs.plain.run(["train", "m.onnx", "--input", "x.npy", "--loss", "graph", "--steps", "1", "--threads", "1"], folder, seconds=300)
        times.append(result.seconds)
        if result.code != 0:
            return f"{count} nodes: exit code {result.code}: {result.message}"
    return f"{times[0]:.1f} s for 20,000 nodes, {times[1]:.1f} s for 80,000" if times[1] > 7 * times[0] else None


def little_memory(programs, folder):
    """short of memory inside a library it aborted; with a small stack it crashed"""
    if programs.plain.sanitized:
        return "not run: a sanitizer's own tables fill the address space"
    arguments = programs.train("--steps", "2")
    for size in range(20 << 20, 400 << 20, 6 << 20):
        result = programs.plain.run(arguments, folder, limits=[(resource.RLIMIT_AS, size)])
        if result.code < 0:
            return f"with {size >> 20} MiB of address space: died of {signal.Signals(-result.code).name}"
    # Limits of the stack below what the system itself needs to start a program are its own message.
    result = programs.plain.run(arguments, folder, limits=[(resource.RLIMIT_STACK, 128 << 10)])
    return f"with a small stack: died of {signal.Signals(-result.code).name}" if result.code < 0 else None


def null_test(programs, folder):
    """NULL arguments of the C interface were used"""
    if not programs.null_test:
        return "not run: --null-test is needed"
    result = programs.plain.run(["--jobs=1"], folder, program=os.path.abspath(programs.null_test))
    crashed = re.findall(rb"CRASH![^\n]*|Unexpected signal[^\n]*|Synthesis[^\n]*", result.stdout + result.stderr)
    return None if result.code == 0 else f"exit code {result.code}: " + b"; ".join(crashed[-1:]).decode(errors="replace")


PROBES = {
    "F1": cost_graph, "F2": long_member, "F3": sizes, "F4": large_tables, "F5": changed_files, "F6": full_log, "F7": one_folder, "F8": synced_folders,
    "F9": names, "F10": leftovers, "F11": many_nodes, "F12": little_memory, "F13": null_test,
}  # fmt: skip

"""Files that were damaged at random, each given to a command; and runs that are killed. Case I of a kind is the same for the
same seed, whatever ran before."""

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import struct
import time

import runner
import wire

NUMBERS = [0, 1, -1, 2, 3, 7, 100, 127, 128, 255, 256, 65535, 10**6, 10**9, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1,
           -(2**63), -(2**31)]  # fmt: skip
TEXTS = ["", " ", "x" * 5000, "x" * (1 << 20), "a\nFORGED: all is well", "\x1b[2J\x1b]0;title\x07", "\u009b31m", "a\0b", "..", "../../x",
         "/etc/passwd", "%s%n%x", "é漢\u202e", "'; rm", "-", "--help", "Relu", "Loop"]  # fmt: skip
KILLED_STEPS = 40
FEW = ["--threads", "1", "--memory", "256MiB"]


class Setting:
    """The models with their data, and how each is trained."""

    def __init__(self, root):
        self.root = root
        self.models = []
        for group in ("tests/agreement/golden", "tests/agreement/families"):
            for name in sorted(os.listdir(os.path.join(root, group))):
                folder = os.path.join(root, group, name)
                golden = os.path.join(folder, "golden.json")
                if os.path.exists(golden) and os.path.getsize(os.path.join(folder, "model.onnx")) < 300_000:
                    with open(golden) as file:
                        self.models.append((folder, json.load(file)))

    def options(self, folder, golden):
        options = list(golden["options"])
        for name, file in golden["inputs"].items():
            options += ["--input", f"{name}={folder}/{file}"]
        if golden["target"]:
            options += ["--target", f"{folder}/{golden['target']}"]
        return options + ["--loss", golden["loss"], "--batch", str(golden["batch"])]


def damage_bytes(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        if not data:
            return bytes(data)
        at = chance.randrange(len(data)) if chance.random() < 0.5 else chance.randrange(min(len(data), 200))
        how = chance.randrange(7)
        if how == 0:
            data[at] = chance.randrange(256)
        elif how == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            del data[at:]
        elif how == 3:
            del data[at : at + chance.choice([1, 2, 8, 64])]
        elif how == 4:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice([1, 4, 32])))
        elif how == 5:
            form = chance.choice(["<i", "<q", ">i", ">q"])
            value = struct.pack(form, chance.choice([n for n in NUMBERS if -(2**31) <= n < 2**31 or form[1] == "q"]))
            data[at : at + len(value)] = value
        else:
            other = chance.randrange(len(data))
            data[at : at + 32] = data[other : other + 32]
    return bytes(data)


# ---------------------------------------------------------------------------------------------------------------- models


def damage_tree(chance, tree):
    for _ in range(chance.choice([1, 1, 1, 2, 3, 6])):
        messages = wire.messages(tree)
        kind, message = chance.choice(messages)
        if not message:
            continue
        at = chance.randrange(len(message))
        field, form, value = message[at]
        how = chance.randrange(8)
        if how == 0:
            del message[at]
        elif how == 1:
            message[at:at] = [message[at]] * chance.choice([1, 2, 50])
        elif how == 2:
            other = chance.choice([m for k, m in messages if k == kind])
            message.append(chance.choice(other)) if other else None
        elif how == 3:
            chance.shuffle(message)
        elif form == wire.VARINT:
            message[at] = [field, form, chance.choice(NUMBERS) if chance.random() < 0.8 else value + chance.choice([-1, 1])]
        elif form == wire.BYTES and isinstance(value, bytes):
            words = [v for _, m in messages for _, w, v in m if w == wire.BYTES and isinstance(v, bytes) and len(v) < 100]
            what = chance.randrange(4)
            if what == 0:
                value = chance.choice(TEXTS).encode()
            elif what == 1:
                value = chance.choice(words or [b""])
            elif what == 2:
                value = value[: chance.randrange(len(value) + 1)]
            else:
                value = damage_bytes(chance, value)
            message[at] = [field, form, value]
        elif form in (wire.FIXED32, wire.FIXED64):
            message[at] = [field, form, damage_bytes(chance, value)[: len(value)].ljust(len(value), b"\xff")]


def model_case(chance, setting, program, folder):
    source, golden = chance.choice(setting.models)
    with open(os.path.join(source, "model.onnx"), "rb") as file:
        data = file.read()
    if chance.random() < 0.95:
        tree = wire.parse(data)
        damage_tree(chance, tree)
        data = wire.write(tree)
    if chance.random() < 0.15:
        data = damage_bytes(chance, data)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(data)
    options = setting.options(source, golden)
    inputs = [word for word in options if word not in ("--loss", golden["loss"])]
    commands = {
        "train": ["train", "model.onnx", *options, *FEW, "--steps", "1", "--out", "trained.onnx"],
        "parts": ["train", "model.onnx", *options, *FEW, "--steps", "1", "--stages", "2", "--out", "trained.onnx"],
        "infer": ["train", "model.onnx", *options, *FEW, "--steps", "1", "--export", "inference", "--out", "trained.onnx"],
        "eval": ["eval", "model.onnx", *options, *FEW, "--rows", f"0:{golden['batch']}"],
        "check": ["check", "model.onnx"],
        "inspect": ["inspect", "model.onnx"],
        "plan": ["plan", "model.onnx", "--batch", "8", "--stages", "2", "-o", "plan.json", "--report", "plan.html"],
        "profile": ["profile", "model.onnx", *inputs, *FEW, "--repetitions", "1", "--no-cache", "-o", "profile.json"],
    }
    names = ["train"] * 6 + ["parts", "infer", "eval", "check", "inspect", "plan", "profile"]
    result = program.run(commands[chance.choice(names)], folder)
    wrong = runner.judge(program, result, folder)
    out = os.path.join(folder, "trained.onnx")
    if wrong is None and os.path.exists(out):
        # What was written is a model that can be trained again.
        again = program.run(["check", "trained.onnx"], folder)
        if again.code not in (0, 3):
            wrong = f"after exit code {result.code} its result is refused: {again.message or again.stdout[-200:]}"
    return wrong, result


# ---------------------------------------------------------------------------------------------------------------- arrays


def npz(members):
    """A stored archive, since names and sizes matter here and not how it is packed."""
    import io
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def damage_npy(chance, data):
    """The words of its header, whose length stays right."""
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + size].decode("latin1")
    for _ in range(chance.choice([1, 1, 2])):
        old, new = chance.choice([
            ("(", f"({chance.choice(NUMBERS)}, "), (", ", f", {chance.choice(NUMBERS)}, "), ("<f4", chance.choice(["<f8", ">f4", "|O", "<f2", "|b1", "<U9", "<c8"])),
            ("<i8", chance.choice([">i8", "<i4", "|u1", "<f4", "<M8"])), ("False", "True"), ("'shape'", "'shapes'"), ("{", "{" * chance.choice([2, 9000])),
            ("}", ""), (": ", ": " + chance.choice(TEXTS[:6]))])  # fmt: skip
        header = header.replace(old, new, 1)
    header = header.encode("utf-8", "replace")[: 60000]
    return data[:8] + struct.pack("<H", len(header)) + header + data[10 + size :]


def array_case(chance, setting, program, folder):
    source = os.path.join(setting.root, "tests/agreement/golden/mlp")
    which = chance.choice(["input.npy", "target.npy"])
    with open(os.path.join(source, which), "rb") as file:
        data = file.read()
    values = data[-15360:] if which == "input.npy" else data[-1536:]
    dims = [192, 20] if which == "input.npy" else [192]
    form = chance.choice(["npy", "npy", "npz", "npz", "pb", "idx", "idx.gz", "tokens"])
    if form == "npy" and chance.random() < 0.6:
        data = damage_npy(chance, data)
    elif form == "npz":
        inner = damage_npy(chance, data) if chance.random() < 0.3 else data
        data = npz([(chance.choice(["x.npy", "x" * chance.choice([1, 200, 249, 300, 60000]) + ".npy"]), inner), ("y.npy", data)][: chance.choice([1, 2])])
    elif form == "pb":
        tree = wire.tensor("x", dims, values, 1 if which == "input.npy" else 7)
        if chance.random() < 0.7:
            at = chance.randrange(len(tree))
            tree[at] = [tree[at][0], tree[at][1], chance.choice(NUMBERS) if tree[at][1] == wire.VARINT else chance.choice(TEXTS).encode()]
        data = wire.write(tree)
    elif form.startswith("idx"):
        sizes = [chance.choice(NUMBERS) % 2**32 if chance.random() < 0.3 else d for d in dims]
        data = bytes([0, 0, chance.choice([8, 9, 11, 12, 13, 14, 77]), len(dims)]) + b"".join(struct.pack(">I", d) for d in sizes) + values
        if form.endswith("gz"):
            import gzip

            data = gzip.compress(data, mtime=0)
    if chance.random() < 0.6:
        data = damage_bytes(chance, data)
    with open(os.path.join(folder, "x." + form), "wb") as file:
        file.write(data)
    if form == "tokens":
        gpt = os.path.join(setting.root, "tests/agreement/golden/gpt_decomposed")
        command = ["train", f"{gpt}/model.onnx", "--tokens", "x.tokens", "--loss", "cross_entropy", "--batch", "2", "--steps", "1", *FEW]
    else:
        files = {"input.npy": f"{source}/input.npy", "target.npy": f"{source}/target.npy", which: "x." + form}
        command = [chance.choice(["eval", "train"]), f"{source}/model.onnx", "--input", "x=" + files["input.npy"], "--target", files["target.npy"],
                   "--loss", "cross_entropy", "--batch", "8", *FEW]  # fmt: skip
        command += ["--steps", "30", "--out", "trained.onnx"] if command[0] == "train" else ["--output", "logits=y.npy"]
    result = program.run(command, folder)
    return runner.judge(program, result, folder), result


# ------------------------------------------------------------------------------------------------------------------ JSON


def places(value):
    """(container, key) of everything in a tree."""
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else []
    found = [(value, key) for key in keys]
    return found + [place for key in keys for place in places(value[key])]


def damage_json(chance, text):
    try:
        tree = json.loads(text)
    except ValueError:  # It has been damaged before.
        return damage_bytes(chance, text)
    for _ in range(chance.choice([1, 1, 2, 4])):
        found = places(tree)
        if not found:
            break
        holder, key = chance.choice(found)
        how = chance.randrange(6)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, list):
            holder += [holder[key]] * chance.choice([1, 2, 500])
        elif how == 2:
            holder[key] = chance.choice(NUMBERS + [1e300, -1e300, 0.5, float("nan"), float("inf"), None, True, [], {}])
        elif how == 3:
            holder[key] = chance.choice(TEXTS)
        elif how == 4:
            other, name = chance.choice(found)
            holder[key] = json.loads(json.dumps(other[name])) if name in (other if isinstance(other, dict) else range(len(other))) else 0
        elif isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            holder[key] += chance.choice([-1, 1])
        else:
            holder[key] = [holder[key]]
    result = json.dumps(tree, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    if chance.random() < 0.03:
        result = b"[" * 200_000 + result
    return damage_bytes(chance, result) if chance.random() < 0.2 else result


def json_cases_of(setting, program, folder):
    """The JSON files that it writes and reads, made once: name -> text."""
    mlp = os.path.join(setting.root, "tests/agreement/golden/mlp")
    made = {
        "plan.json": ["plan", f"{mlp}/model.onnx", "--batch", "8", "--stages", "2", "--micro-batches", "2", "-o", "plan.json"],
        "profile.json": ["profile", f"{mlp}/model.onnx", "--batch", "8", "--threads", "1", "--repetitions", "1", "--no-cache", "-o", "profile.json"],
    }
    texts = {}
    for name, arguments in made.items():
        program.run(arguments, folder)
        with open(os.path.join(folder, name)) as file:
            texts[name] = file.read()
    with open(os.path.join(setting.root, "tests/system/command/data/prices.json")) as file:
        texts["prices.json"] = file.read()
    return texts


def json_case(chance, setting, program, folder):
    name = chance.choice(sorted(setting.texts))
    with open(os.path.join(folder, name), "wb") as file:
        file.write(damage_json(chance, setting.texts[name]))
    mlp = os.path.join(setting.root, "tests/agreement/golden/mlp")
    data = ["--input", f"x={mlp}/input.npy", "--target", f"{mlp}/target.npy", "--loss", "cross_entropy", "--batch", "8"]
    plan = ["plan", f"{mlp}/model.onnx", "--batch", "8", "--stages", "2", "-o", "new.json", "--report", "plan.html"]
    commands = {
        "plan.json": [["simulate", name], ["simulate", name, "--trace", "trace.json"],
                      ["train", f"{mlp}/model.onnx", *data, "--plan", name, "--steps", "2", "--threads", "1", "--out", "trained.onnx"]],
        "profile.json": [[*plan, "--profile", name], [*plan, "--device-profile", name]],
        "prices.json": [[*plan, "--prices", name]],
    }  # fmt: skip
    result = program.run(chance.choice(commands[name]), folder)
    return runner.judge(program, result, folder), result


# ----------------------------------------------------------------------------------------------------------- checkpoints


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def checkpointed(setting, steps):
    mlp = os.path.join(setting.root, "tests/agreement/golden/mlp")
    return ["train", f"{mlp}/model.onnx", "--input", f"x={mlp}/input.npy", "--target", f"{mlp}/target.npy", "--loss", "cross_entropy", "--batch", "8",
            "--threads", "1", "--seed", "7", "--steps", str(steps), "--checkpoint", "c", "--checkpoint-every", "4", "--out", "trained.onnx"]  # fmt: skip


def prepare_checkpoints(setting, program, folder):
    setting.killed = {}
    for stages in (1, 2):
        begin = time.time()
        program.run(checkpointed(setting, KILLED_STEPS) + ["--stages", str(stages), "--checkpoint-every", "1"], folder)
        setting.seconds = time.time() - begin
        setting.killed[stages] = digest(os.path.join(folder, "trained.onnx"))
        shutil.rmtree(os.path.join(folder, "c"))
    program.run(checkpointed(setting, 12), folder)
    setting.finished = digest(os.path.join(folder, "trained.onnx"))
    shutil.rmtree(os.path.join(folder, "c"))
    program.run(checkpointed(setting, 8), folder)
    setting.begun = os.path.join(folder, "c")


def checkpoint_case(chance, setting, program, folder):
    kept = os.path.join(folder, "c")
    shutil.copytree(setting.begun, kept)
    for _ in range(chance.choice([1, 1, 2])):
        names = sorted(n for n in os.listdir(kept) if os.path.isfile(os.path.join(kept, n)))
        if not names:
            break
        path = os.path.join(kept, chance.choice(names))
        with open(path, "rb") as file:
            data = file.read()
        how = chance.randrange(8)
        if how == 0:
            os.unlink(path)
        elif how == 1:
            os.unlink(path)
            os.mkdir(path)
        elif how == 2:
            os.unlink(path)
            os.symlink(chance.choice([os.path.basename(path), "/dev/zero", "/nowhere", ".."]), path)
        elif how == 3 and len(names) > 1:
            shutil.copy(os.path.join(kept, chance.choice(names)), os.path.join(kept, "other"))
            os.replace(os.path.join(kept, "other"), path)
        else:
            with open(path, "wb") as file:
                file.write(damage_json(chance, data) if path.endswith(".json") and how < 7 else damage_bytes(chance, data))
    command = checkpointed(setting, 12) + ["--resume"]
    result = program.run(command, folder)
    wrong = runner.judge(program, result, folder)
    if wrong is None and result.code == 0 and digest(os.path.join(folder, "trained.onnx")) != setting.finished:
        wrong = "silent: resumed from what was damaged, with other weights"
    if wrong is None and result.code != 0 and not os.listdir(kept):
        wrong = "lost what was there"
    return wrong, result


# ----------------------------------------------------------------------------------------------------------------- kills


def kill_case(chance, setting, program, folder):
    """Killed at random, some times, and resumed: in the end the same bits, and nothing left behind."""
    command = checkpointed(setting, KILLED_STEPS) + ["--checkpoint-every", "1", "--log-json", "log.jsonl"]
    stages = chance.choice([1, 1, 2])
    command += ["--stages", str(stages)]
    for _ in range(chance.choice([1, 2, 4])):
        resume = ["--resume"] if os.path.exists(os.path.join(folder, "c")) else []
        process = program.start(command + resume, folder, limits=[(resource.RLIMIT_CORE, 0)])
        time.sleep(chance.random() * setting.seconds * 1.2)
        os.kill(process.pid, signal.SIGKILL)
        program.wait(process)
    result = program.run(command + ["--resume"] if os.path.exists(os.path.join(folder, "c")) else command, folder)
    wrong = runner.judge(program, result, folder)
    if wrong is None and result.code != 0:
        wrong = "does not resume: " + result.message
    if wrong is None and digest(os.path.join(folder, "trained.onnx")) != setting.killed[stages]:
        wrong = "resumed with other weights"
    if wrong is None:
        with open(os.path.join(folder, "log.jsonl")) as log:
            steps = [json.loads(line).get("step") for line in log]
        steps = [step for step in steps if step]
        if sorted(set(steps)) != list(range(1, KILLED_STEPS + 1)):
            wrong = f"the log has steps {steps}"
    return wrong, result


KINDS = {"models": model_case, "arrays": array_case, "json": json_case, "checkpoints": checkpoint_case, "kills": kill_case}


def run_case(kind, index, seed, setting, program, folder):
    return KINDS[kind](random.Random(f"{seed} {kind} {index}"), setting, program, folder)

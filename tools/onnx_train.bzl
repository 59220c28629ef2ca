"""onnx_train: a target that trains a model.

    load("@onstage//tools:onnx_train.bzl", "onnx_train")

    onnx_train(
        name = "digits",
        model = "net.onnx",
        inputs = {"images.npy": "image"},     # file → model input
        target = "labels.npy",
        loss = "cross_entropy",
        optimizer = "adamw",
        lr = "2e-3",
        epochs = 5,
        freeze = ["backbone.*"],
        out = "trained.onnx",
    )

`bazel run //x:digits` trains; flags after `--` come last and win: `bazel run //x:digits -- --epochs 1`. Files that training writes
go to the folder in which the command was given.
"""

# Options whose values are files that training reads.
_FILE_OPTIONS = ["class_weights", "target", "tokens", "val_target", "val_tokens", "plan"]

# Attributes of every rule, which are no options.
_COMMON = ["visibility", "tags", "testonly", "features", "deprecation", "target_compatible_with"]

def _quote(text):
    return "'" + text.replace("'", "'\\''") + "'"

def _launcher_impl(ctx):
    arguments = [ctx.expand_location(each, ctx.attr.data) for each in ctx.attr.arguments]
    command = " ".join([_quote(each).replace("@@HERE@@", "'\"$here\"'") for each in arguments])
    # Not the bare name, which a folder beside the BUILD file may have.
    launcher = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(launcher, """#!/usr/bin/env bash
# Made by onnx_train. Files to read lie in the runfiles, files to write in the folder of the caller.
set -eu
here="${{BASH_SOURCE[0]}}.runfiles/{workspace}"
[ -d "$here" ] || here="$PWD"
here="$(cd "$here" && pwd)"
cd "${{BUILD_WORKING_DIRECTORY:-$PWD}}"
exec "$here/{tool}" train {command} "$@"
""".format(
        workspace = ctx.workspace_name,
        tool = ctx.executable.tool.short_path,
        command = command,
    ), is_executable = True)
    runfiles = ctx.runfiles(files = [ctx.executable.tool] + ctx.files.data)
    runfiles = runfiles.merge(ctx.attr.tool[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = launcher, runfiles = runfiles)]

_launcher = rule(
    implementation = _launcher_impl,
    attrs = {
        "arguments": attr.string_list(),
        "data": attr.label_list(allow_files = True),
        "tool": attr.label(default = "//tools:onstage", executable = True, cfg = "target"),
    },
    executable = True,
)

def _values(value):
    return value if type(value) == "list" else [value]

def _location(label):
    return "@@HERE@@/$(rootpath %s)" % label

def onnx_train(name, model, inputs = {}, val_inputs = {}, data = [], **options):
    """Trains `model` when it is run.

    Args:
      name: target name.
      model: the ONNX file; its external data, if any, in `data`.
      inputs: file → name of the model input that it feeds ("" where there is one input).
      val_inputs: the same for validation.
      data: further files that must be there.
      **options: any option of `onstage train` with underscores for dashes. True and False for switches, a list for options
        that can be repeated, labels for those that name files to read.
    """
    arguments = [_location(model)]
    files = [model] + data
    common = {}
    for option, fields in [("input", inputs), ("val-input", val_inputs)]:
        for label, field in fields.items():
            files.append(label)
            arguments.append("--%s=%s%s" % (option, field + "=" if field else "", _location(label)))
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if key in _COMMON:
            common[key] = value
        elif key in _FILE_OPTIONS:
            files.append(value)
            arguments.append("%s=%s" % (flag, _location(value)))
        elif value == True:
            arguments.append(flag)
        elif value == False:
            arguments.append("--no-" + key.replace("_", "-"))
        else:
            arguments.extend(["%s=%s" % (flag, each) for each in _values(value)])
    unique = {label: None for label in files}
    _launcher(name = name, arguments = arguments, data = unique.keys(), **common)

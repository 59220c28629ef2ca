"""onnx_plan: a target that plans how a model is trained.

    load("@onstage//tools:onnx_plan.bzl", "onnx_plan")

    onnx_plan(
        name = "bert_plan",
        model = "bert.onnx",
        batch = 64,
        stages = 4,
        device_profile = "a100-40gb",
        dim = ["sequence=512"],
    )

`bazel build //x:bert_plan` makes bert_plan.json, the plan, and bert_plan.html, the capacity report. Where nothing fits, the build
fails and says what would.
"""

# Options whose values are files that planning reads.
_FILE_OPTIONS = ["prices", "profile", "cost_graph"]

# Attributes of every rule, which are no options.
_COMMON = ["visibility", "tags", "testonly", "features", "deprecation", "target_compatible_with"]

def _plan_impl(ctx):
    plan = ctx.actions.declare_file(ctx.label.name + ".json")
    report = ctx.actions.declare_file(ctx.label.name + ".html")
    arguments = ctx.actions.args()
    arguments.add(ctx.executable.tool)
    arguments.add("plan")
    if ctx.file.model:
        arguments.add(ctx.file.model)
    arguments.add_all([ctx.expand_location(each, ctx.attr.data) for each in ctx.attr.arguments])
    arguments.add("--out", plan)
    arguments.add("--report", report)
    arguments.add("--reproducible")
    ctx.actions.run_shell(
        command = '"$@" >/dev/null',  # what it says stands in the report, too
        tools = [ctx.executable.tool],
        arguments = [arguments],
        inputs = ctx.files.data + ([ctx.file.model] if ctx.file.model else []),
        outputs = [plan, report],
        mnemonic = "OnnxPlan",
        progress_message = "Planning %s" % ctx.label,
    )
    return [
        DefaultInfo(files = depset([plan, report]), runfiles = ctx.runfiles(files = [plan, report])),
        OutputGroupInfo(plan = depset([plan]), report = depset([report])),
    ]

_plan = rule(
    implementation = _plan_impl,
    attrs = {
        "arguments": attr.string_list(),
        "data": attr.label_list(allow_files = True),
        "model": attr.label(allow_single_file = True),
        # In the configuration of the rest: planning runs where it is built, and nothing is compiled a second time.
        "tool": attr.label(default = "//tools:onstage", executable = True, cfg = "target"),
    },
)

def _values(value):
    return value if type(value) == "list" else [value]

def onnx_plan(name, model = None, data = [], device_profile = "a100-40gb", **options):
    """Plans `model` when it is built: `name`.json and `name`.html.

    Args:
      name: target name.
      model: the ONNX file; weights in external files need not be there.
      data: further files that planning reads.
      device_profile: the device that is planned for: a shipped profile's name, or the label of a file. Not "cpu": what
        that is depends on the machine that builds.
      **options: any option of `onstage plan` with underscores for dashes. True and False for switches, a list for options
        that can be repeated, labels for those that name files to read.
    """
    arguments = []
    files = {label: None for label in data}
    common = {}
    if ":" in device_profile or "/" in device_profile or "." in device_profile:
        files[device_profile] = None
        arguments.append("--device-profile=$(execpath %s)" % device_profile)
    else:
        arguments.append("--device-profile=" + device_profile)
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if key in _COMMON:
            common[key] = value
        elif key in _FILE_OPTIONS:
            files[value] = None
            arguments.append("%s=$(execpath %s)" % (flag, value))
        elif value == True:
            arguments.append(flag)
        elif value == False:
            arguments.append("--no-" + key.replace("_", "-"))
        else:
            arguments.extend(["%s=%s" % (flag, each) for each in _values(value)])
    _plan(name = name, model = model, arguments = arguments, data = files.keys(), **common)

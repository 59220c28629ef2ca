"""CUDA: .cu files become objects that a C library takes, and what ptxas says of their kernels is kept.

`cuda_library` compiles small .cu files in batches, several a run of nvcc, since most of a run's time goes into reading NVIDIA's
headers. Code is made for sm_80 and sm_90a; other GPUs get PTX of compute_80, which the driver compiles.
"""

load("//third_party:cuda_path.bzl", "CUDA_PATH")

_ARCHITECTURES = [
    "-gencode=arch=compute_80,code=[sm_80,compute_80]",
    "-gencode=arch=compute_90a,code=sm_90a",
]

# --define=cuda_architecture=sm_90a: for one kind of GPU alone, in a fraction of the size.
_ONE_ARCHITECTURE = {
    "sm_80": ["-gencode=arch=compute_80,code=sm_80"],
    "sm_90a": ["-gencode=arch=compute_90a,code=sm_90a"],
}

_FLAGS = [
    "-std=c++17",
    "-O3",
    # Nothing needs C++'s exceptions or types at run time.
    "-Xcompiler=-fPIC,-O2,-Wall,-Wextra,-Wno-unused-parameter,-Wno-unknown-pragmas,-fno-exceptions,-fno-rtti",
    "-Xptxas=-v,-warn-spills",
    "-diag-suppress=20012",
    "-lineinfo",
    # A third of the size; the driver unpacks what it loads.
    "-compress-mode=size",
]

# With --config=ci.
_STRICT_FLAGS = [
    "-Xcompiler=-Werror",
    "-Werror=all-warnings",
]

def _cuda_object_impl(ctx):
    object_file = ctx.actions.declare_file(ctx.label.name + ".o")
    report = ctx.actions.declare_file(ctx.label.name + ".ptxas")
    unit = ctx.actions.declare_file(ctx.label.name + "_unit.cu")
    ctx.actions.write(unit, "".join(["#include \"%s\"\n" % source.short_path for source in ctx.files.srcs]))

    # All that might be included. After the first run a change in what was not included runs nothing again.
    headers = depset(ctx.files.hdrs, transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    header_list = ctx.actions.declare_file(ctx.label.name + ".headers")
    unused = ctx.actions.declare_file(ctx.label.name + ".unused")
    names = ctx.actions.args()
    names.set_param_file_format("multiline")
    names.add_all(headers)
    ctx.actions.write(header_list, names)

    arguments = ctx.actions.args()
    arguments.add_all([report, header_list, unused])
    arguments.add(CUDA_PATH + "/bin/nvcc")
    arguments.add_all(_FLAGS)
    if ctx.var.get("warnings") == "errors":
        arguments.add_all(_STRICT_FLAGS)
    architecture = ctx.var.get("cuda_architecture")
    if architecture and architecture not in _ONE_ARCHITECTURE:
        fail("cuda_architecture: %s is none of %s" % (architecture, ", ".join(_ONE_ARCHITECTURE)))
    arguments.add_all(ctx.attr.flags)
    arguments.add_all(ctx.attr.architectures or _ONE_ARCHITECTURE.get(architecture, _ARCHITECTURES))
    arguments.add("-I.")
    arguments.add("-Iinclude")
    arguments.add("-c")
    arguments.add(unit)
    arguments.add("-o", object_file)
    ctx.actions.run(
        outputs = [object_file, report, unused],
        inputs = depset([unit, header_list] + ctx.files.srcs, transitive = [headers]),
        unused_inputs_list = unused,
        executable = ctx.executable._compile,
        arguments = [arguments],
        mnemonic = "CudaCompile",
        progress_message = "Compiling CUDA %s" % ctx.label.name,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([object_file])), OutputGroupInfo(ptxas = depset([report]))]

cuda_object = rule(
    implementation = _cuda_object_impl,
    doc = "One run of nvcc over one or more .cu files. The output group `ptxas` is the report of ptxas.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True, allow_empty = False),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh", ".inc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "flags": attr.string_list(doc = "further options of nvcc"),
        "architectures": attr.string_list(doc = "-gencode options in place of the usual ones"),
        "_compile": attr.label(
            default = "//tools/build:cuda_compile.sh",
            allow_single_file = True,
            executable = True,
            cfg = "exec",
        ),
    },
)

def cuda_library(name, srcs, hdrs = [], deps = [], flags = [], batch_size = 12, **kwargs):
    """A C library of CUDA kernels, and NAME_ptxas: the reports of ptxas on them.

    Args:
      name: target name.
      srcs: .cu files. What is static in one of them must have a name of its own, since a batch is one translation unit.
      hdrs: headers for these files alone.
      deps: C libraries whose headers they include.
      flags: further options of nvcc.
      batch_size: how many files go into one run of nvcc.
      **kwargs: visibility, tags, ...
    """
    batches = {
        str(begin // batch_size): srcs[begin:begin + batch_size]
        for begin in range(0, len(srcs), batch_size)
    }
    for batch, batch_srcs in batches.items():
        cuda_object(
            name = name + "_" + batch,
            srcs = batch_srcs,
            hdrs = hdrs,
            deps = deps,
            flags = flags,
            tags = ["manual"],
        )
        native.filegroup(
            name = name + "_" + batch + "_ptxas",
            srcs = [":" + name + "_" + batch],
            output_group = "ptxas",
            tags = ["manual"],
        )
    native.filegroup(
        name = name + "_ptxas",
        srcs = [":" + name + "_" + batch + "_ptxas" for batch in batches],
        tags = ["manual"],
        **kwargs
    )
    native.cc_library(
        name = name,
        srcs = [":" + name + "_" + batch for batch in batches],
        linkstatic = True,
        deps = deps + ["@cuda//:runtime"],
        tags = ["manual"],
        **kwargs
    )

def _link_only_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return [CcInfo(linking_context = merged.linking_context)]

link_only = rule(
    implementation = _link_only_impl,
    doc = "Libraries to be linked, but not their headers: who depends on it compiles with the same command as without.",
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

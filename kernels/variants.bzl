"""The CPU's kernels once more, for processors with more than the target's ABI has (kernels/kernels.h)."""

load("//tools/build:onstage.bzl", "ons_library")

_V3 = [
    "-mavx2",
    "-mfma",
    "-mbmi",
    "-mbmi2",
]

# What kernels/variant.c asks the processor for, and nothing else.
VARIANTS = {
    "v3": _V3,
    "v4": _V3 + [
        "-mavx512f",
        "-mavx512bw",
        "-mavx512cd",
        "-mavx512dq",
        "-mavx512vl",
        # gcc prefers half-width vectors; these loops are wide enough for the whole (1.3 to 1.6 times as fast).
        "-mprefer-vector-width=512",
    ],
}

def cpu_variant(name, variant, srcs, deps):
    """A library of one backend, ons_cpu_backend_VARIANT: nothing else that is compiled for such processors can be seen from outside.

    So each variant calls its own helpers, and the linker cannot take one that the machine may not be able to run.

    Args:
      name: target name.
      variant: of VARIANTS.
      srcs: the *_cpu.c files.
      deps: libraries whose headers they include.
    """
    ons_library(
        name = name + "_objects",
        srcs = srcs,
        copts = ["-DONS_CPU_VARIANT=" + variant] + VARIANTS[variant],
        tags = ["manual"],
        deps = deps,
    )
    native.genrule(
        name = name + "_joined",
        srcs = [":" + name + "_objects"],
        outs = [name + ".o"],
        cmd = "set -- $(locations :%s_objects) && for archive; do case $$archive in *.a) break;; esac; done && " % name +
              "ld -r --whole-archive $$archive -o $@ && objcopy --keep-global-symbol=ons_cpu_backend_%s $@" % variant,
        message = "Joining the kernels of " + variant,
        tags = ["manual"],
    )
    native.cc_library(
        name = name,
        srcs = [name + ".o"],
        linkstatic = True,
        tags = ["manual"],  # a wildcard would build it for processors that have no such instructions
        deps = deps,
    )

"""The rules that every BUILD file of onstage uses for C: ons_library, ons_binary, ons_test, ons_fuzz.

They are the native rules plus the project's flags. Flags that the code needs in order to be right are here, so that
they hold in other workspaces too; optimisation and sanitizers are the main workspace's choice (.bazelrc).
Sources include each other from the repository's root: #include "graph/graph.h".
"""

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wformat=2",
    "-Wmissing-prototypes",
    "-Wpointer-arith",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Wundef",
    "-Wvla",
    "-Wwrite-strings",
    # Tables of functions give one signature to many, and not every one uses every parameter.
    "-Wno-unused-parameter",
    # gcc cannot see that a function which returned success has set its results; clang's analyser (lint) can.
    "-Wno-maybe-uninitialized",
]

_LANGUAGE = [
    "-std=gnu17",
    "-D_GNU_SOURCE",
    "-fopenmp",
    # Let loops with sqrtf or a division vectorise. No other relaxation: NaN, infinities, signed zeros and the order of
    # additions stay as written.
    "-fno-math-errno",
    "-fno-trapping-math",
]

_LINKOPTS = [
    "-fopenmp",
    "-lm",
]

# What ends a program that writes past a buffer, jumps over the guard of its stack or is led to code in its middle, before
# it goes on with what is wrong. Not beside a sanitizer, which looks for the same, and whose frames gcc 12 lays out wrongly
# for wide vectors where there is a stack protector.
_HARDENING = select({
    "//tools/build:sanitizer": [],
    "//conditions:default": ["-fstack-protector-strong"],
}) + select({
    "@platforms//cpu:x86_64": ["-fstack-clash-protection", "-fcf-protection"],
    "@platforms//cpu:aarch64": ["-mbranch-protection=standard"],
    "//conditions:default": [],
}) + select({
    # The C library's checks need the optimiser. Where the compiler has no level 3, it is 2.
    "//tools/build:sanitizer": [],
    "//tools/build:optimised": ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"],
    "//conditions:default": [],
})

def _copts(more):
    return _LANGUAGE + _WARNINGS + _HARDENING + more

def ons_library(name, srcs = [], hdrs = [], deps = [], copts = [], linkopts = [], **kwargs):
    """A C library: cc_library with the project's flags.

    Args:
      name: target name.
      srcs: sources, and headers for this library alone.
      hdrs: headers that users of the library include.
      deps: libraries; "@onednn//:onednn" and the like for those of the system.
      copts: further compiler flags.
      linkopts: further linker flags.
      **kwargs: visibility, testonly, alwayslink, data, ... as in cc_library.
    """
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = _copts(copts),
        linkopts = _LINKOPTS + linkopts,
        # Compile once, not a second time for a shared object that nobody loads.
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def ons_binary(name, srcs, deps = [], copts = [], linkopts = [], **kwargs):
    """A C program: cc_binary with the project's flags.

    Args:
      name: target name.
      srcs: sources.
      deps: libraries.
      copts: further compiler flags.
      linkopts: further linker flags.
      **kwargs: visibility, testonly, data, ... as in cc_binary.
    """
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = _copts(copts),
        linkopts = _LINKOPTS + linkopts,
        deps = deps,
        **kwargs
    )

def ons_test(name, srcs, deps = [], data = [], size = "small", jobs = 1, copts = [], linkopts = [], args = [], **kwargs):
    """A Criterion test; every Test() in it is counted as one test.

    The test runs in the root of its runfiles, so a data file has the path that it has in the repository.

    Args:
      name: target name, as a rule that of the source: x_test.
      srcs: sources.
      deps: libraries under test; Criterion is added.
      data: files read by the test.
      size: small (1 minute), medium (5), large (15).
      jobs: how many Test()s run at once. Bazel already runs several targets at once.
      copts: further compiler flags.
      linkopts: further linker flags.
      args: further arguments to Criterion.
      **kwargs: env, tags, timeout, ... as in cc_test.
    """
    native.cc_test(
        name = name,
        srcs = srcs,
        args = ["--jobs=%d" % jobs] + args,
        copts = _copts(copts),
        data = data,
        # Criterion finds the tests by their section's name, so to the linker they look unused.
        linkopts = _LINKOPTS + ["-Wl,--no-gc-sections"] + linkopts,
        linkstatic = True,
        size = size,
        deps = deps + ["@criterion//:criterion"],
        **kwargs
    )

def ons_fuzz(name, srcs, deps = [], copts = [], corpus = None, replay = None, **kwargs):
    """A libFuzzer program, built by hand: ./bazelw run --config=fuzz //tests/x:name -- CORPUS_FOLDER

    And NAME_test, which gives it the files that are kept of its corpus, as every build can.

    Args:
      name: target name.
      srcs: sources with LLVMFuzzerTestOneInput.
      deps: libraries.
      copts: further compiler flags.
      corpus: the folder of those files, in the package.
      replay: source of the test's main.
      **kwargs: data, visibility, ... as in cc_binary.
    """
    ons_binary(
        name = name,
        srcs = srcs,
        copts = copts,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        testonly = True,
        deps = deps,
        **kwargs
    )
    native.cc_test(
        name = name + "_test",
        size = "medium",
        srcs = srcs + [replay],
        args = ["%s/%s" % (native.package_name(), corpus)],
        copts = _copts(copts),
        data = native.glob([corpus + "/*"]),
        linkopts = _LINKOPTS,
        linkstatic = True,
        deps = deps,
    )

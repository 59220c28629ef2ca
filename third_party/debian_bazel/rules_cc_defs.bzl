"""Stands in for @rules_cc//cc:defs.bzl under Debian's Bazel 4.2.3, whose C rules are still built in.

Debian's bazel-rules-cc package is too new for that Bazel. Only Bazel's own files load this one.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
fdo_prefetch_hints = native.fdo_prefetch_hints
fdo_profile = native.fdo_profile
objc_import = native.objc_import
objc_library = native.objc_library

def _unavailable(name, **_kwargs):
    fail("%s: this rule of rules_cc is not available with Debian's Bazel" % name)

cc_flags_supplier = _unavailable
compiler_flag = _unavailable

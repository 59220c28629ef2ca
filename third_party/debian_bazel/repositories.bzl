"""Makes Debian's Bazel 4.2.3 (package bazel-bootstrap) work without a network.

That Bazel would download a few repositories that it needs for any C build. Debian ships three of them as packages;
the two others are replaced here by the little that C rules need of them. Any other Bazel (7, or 8 with
--enable_workspace) brings its own and is left alone.
"""

# Repository name -> folder of the Debian package that holds it.
_DEBIAN_FOLDERS = {
    "platforms": "/usr/share/bazel/tools/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

def _written_repository_impl(repository_ctx):
    repository_ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % repository_ctx.name)
    for label, path in repository_ctx.attr.files.items():
        repository_ctx.template(path, label)

_written_repository = repository_rule(
    implementation = _written_repository_impl,
    doc = "A repository made of copies of files of this one, so that it also works from another workspace.",
    attrs = {"files": attr.label_keyed_string_dict(doc = "file here -> its path there", allow_files = True)},
)

def _is_debian_bazel():
    # Debian builds its Bazel without a version; every release of Bazel has one.
    return not native.bazel_version

def debian_bazel_repositories():
    """Overrides what Debian's Bazel lacks; does nothing under any other Bazel."""
    if not _is_debian_bazel():
        return
    for name, path in _DEBIAN_FOLDERS.items():
        if not native.existing_rule(name):
            native.local_repository(name = name, path = path)
    if not native.existing_rule("rules_cc"):
        _written_repository(
            name = "rules_cc",
            files = {
                "@onstage//third_party/debian_bazel:rules_cc_defs.bzl": "cc/defs.bzl",
                "@onstage//third_party/debian_bazel:rules_cc.BUILD": "cc/BUILD",
            },
        )
    if not native.existing_rule("remote_coverage_tools"):
        _written_repository(
            name = "remote_coverage_tools",
            files = {"@onstage//third_party/debian_bazel:remote_coverage_tools.BUILD": "BUILD"},
        )

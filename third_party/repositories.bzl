"""The external repositories of onstage, for its own WORKSPACE and for workspaces that use it.

Nothing is downloaded: the libraries are those of the system (installed by ./bazelw from debian-packages.txt).

Another workspace writes

    local_repository(name = "onstage", path = "path/to/onstage")
    load("@onstage//third_party:repositories.bzl", "onstage_repositories")
    onstage_repositories()
"""

load("//third_party:cuda_path.bzl", "CUDA_PATH")
load("//third_party/debian_bazel:repositories.bzl", "debian_bazel_repositories")

# Repository name -> build file in third_party/. Each sees /usr and picks its own few headers from it.
_SYSTEM_LIBRARIES = {
    "cjson": "cjson.BUILD",
    "criterion": "criterion.BUILD",
    "onednn": "onednn.BUILD",
    "onnx_proto": "onnx_proto.BUILD",
    "onnx_testdata": "onnx_testdata.BUILD",
    "openmpi": "openmpi.BUILD",
    "protobuf_c": "protobuf_c.BUILD",
    "zlib": "zlib.BUILD",
}

def onstage_repositories():
    """Declares what onstage needs; a repository that the caller already declared is left alone."""
    debian_bazel_repositories()
    for name, build_file in _SYSTEM_LIBRARIES.items():
        if not native.existing_rule(name):
            native.new_local_repository(
                name = name,
                path = "/usr",
                build_file = "@onstage//third_party:" + build_file,
            )
    if not native.existing_rule("cuda"):
        # Looked at only when something is built that needs it.
        native.new_local_repository(
            name = "cuda",
            path = CUDA_PATH,
            build_file = "@onstage//third_party:cuda.BUILD",
        )

"""Where NVIDIA's CUDA toolkit is; only builds with --config=cuda look there."""

CUDA_PATH = "/usr/local/cuda"

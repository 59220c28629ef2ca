#include "kernels/backends.h"
#include "kernels/common/cuda/part_sums.h"

#define BACKEND(SYMBOL) ons_cuda_##SYMBOL
#include "kernels/table.inc"

/* NVIDIA's libraries want their workspaces to begin at a multiple of 256 bytes. */
static const ons_backend backend = {
    .name = "cuda",
    .title = "the GPU",
    .variant = "cuda",
    .find = ons_backend_in_table,
    .scratch_alignment = 256,
    .add_parts = ons_cuda_add_parts,
    .table = table,
};

const ons_backend *ons_choose_cuda_backend(void) { return &backend; }

/* Tile on CUDA: what the host works out. */
#include "kernels/tile/tile.h"

extern ons_run_function ons_cuda_run_tile;

ONS_KERNELS(cuda, tile, ONS_KERNEL(ons_tile_prepare, ons_cuda_run_tile))

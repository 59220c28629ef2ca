/* Tile on CUDA: what the host works out. */
#include "kernels/tile/tile.h"

#include "kernels/common/layout/strided.h"

ONS_KERNELS(cuda, tile, ONS_KERNEL(ons_tile_prepare, ons_cuda_strided_run))

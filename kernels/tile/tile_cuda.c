/* Tile on CUDA: what the host works out. */
#include "kernels/tile/tile.h"

ONS_CUDA_KERNEL(tile, ons_tile_prepare)

/* Tile: what its files share. */
#ifndef ONSTAGE_KERNELS_TILE_TILE_H
#define ONSTAGE_KERNELS_TILE_TILE_H

#include "kernels/backend.h"

/* Axis i of the result is the pair (repeat, index). */
ons_status *ons_tile_prepare(ons_prepare *p);

#endif

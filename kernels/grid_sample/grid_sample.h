/* GridSample: what its files share. */
#ifndef ONSTAGE_KERNELS_GRID_SAMPLE_GRID_SAMPLE_H
#define ONSTAGE_KERNELS_GRID_SAMPLE_GRID_SAMPLE_H

enum { X, GRID };

#endif

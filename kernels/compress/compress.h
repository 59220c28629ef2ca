/* Compress: what its files share. */
#ifndef ONSTAGE_KERNELS_COMPRESS_COMPRESS_H
#define ONSTAGE_KERNELS_COMPRESS_COMPRESS_H

enum { AXIS };

#endif

/* Unpacking through zlib, bounded by a size that is known beforehand. */
#ifndef ONSTAGE_RUNTIME_DATA_INFLATE_H
#define ONSTAGE_RUNTIME_DATA_INFLATE_H

#include "base/status.h"

typedef enum ons_packing {
    ONS_PACKING_DEFLATE, /* bare, as in a zip archive */
    ONS_PACKING_GZIP,    /* one member or several */
} ons_packing;

/* Unpacks until `wanted` bytes are out or the packed bytes end: *made. With `to_the_end`, what is packed must end
 * exactly there, and its checksum, if it has one, be right. */
ons_status *ons_inflate(const uint8_t *packed, size_t size, ons_packing packing, void *destination, size_t wanted,
                        bool to_the_end, size_t *made);

/* Tests whether `size` packed bytes can hold that many at all (deflate packs at most 1032 into 1): asked before memory
 * is taken. */
bool ons_inflate_plausible(size_t size, uint64_t unpacked);

#endif

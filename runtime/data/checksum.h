/* CRC-32 of bytes on their way to a file, by a thread of its own: summing takes as long as writing. */
#ifndef ONSTAGE_RUNTIME_DATA_CHECKSUM_H
#define ONSTAGE_RUNTIME_DATA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ons_checksum ons_checksum;

/* Begins a checksum. Where no thread can be had, the caller's sums. */
ons_status *ons_checksum_new(ons_checksum **checksum);

/* Adds the next bytes, which must stay as they are until the next call of either function returns. */
void ons_checksum_add(ons_checksum *checksum, const void *bytes, size_t size);

/* Gives the sum of all bytes, and frees the checksum; NULL is fine: 0. */
uint32_t ons_checksum_end(ons_checksum *checksum);

#endif

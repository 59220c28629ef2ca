/* Where a buffer fits first among those that lie in the arena already. */
#ifndef ONSTAGE_GRAPH_FIRST_FIT_H
#define ONSTAGE_GRAPH_FIRST_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* A placed buffer: bytes [offset, end), alive from position `first` of the execution order to `last`. */
typedef struct ons_spot {
    int64_t offset, end;
    uint32_t first, last;
} ons_spot;

typedef struct ons_first_fit ons_first_fit;

/* For at most `capacity` buffers; all memory is the arena's. No buffer may lie across `slot_bytes`, ≥ 0. */
ons_status *ons_first_fit_new(uint32_t capacity, int64_t slot_bytes, ons_arena *arena, ons_first_fit **fit);

void ons_first_fit_clear(ons_first_fit *fit);

void ons_first_fit_add(ons_first_fit *fit, ons_spot spot);

/* The lowest offset ≥ `from` of `bytes` that are free from position `first` to `last`. */
int64_t ons_first_fit_find(const ons_first_fit *fit, uint32_t first, uint32_t last, int64_t bytes, int64_t from);

#endif

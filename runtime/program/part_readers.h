/* Which parts of a device's micro-batches read a value, and where. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_PART_READERS_H
#define ONSTAGE_RUNTIME_PROGRAM_PART_READERS_H

#include "graph/passes/cut.h"

/* [part]: positions of the first and last node that reads the value or a view of it; ONS_NONE: none does. */
typedef struct ons_part_readers {
    uint32_t *first, *last;
} ons_part_readers;

/* Finds the readers of a value, in `arena`. Walks all nodes of the device's graph. */
ons_status *ons_part_readers_find(const ons_cut_stage *cut, ons_value_id value, ons_arena *arena,
                                  ons_part_readers *readers);

#endif

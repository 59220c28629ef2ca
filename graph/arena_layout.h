/* Where every buffer lies in the one arena of a stage. */
#ifndef ONSTAGE_GRAPH_ARENA_LAYOUT_H
#define ONSTAGE_GRAPH_ARENA_LAYOUT_H

#include "graph/liveness.h"

enum { ONS_ARENA_ALIGNMENT = 64 };

static inline int64_t ons_arena_align(int64_t bytes) {
    return (bytes + ONS_ARENA_ALIGNMENT - 1) / ONS_ARENA_ALIGNMENT * ONS_ARENA_ALIGNMENT;
}

typedef struct ons_arena_layout {
    int64_t *offsets;    /* of each transient buffer, from the start of the transient part; persistent ones: -1 */
    int64_t bytes;       /* size of the transient part */
    int64_t lower_bound; /* the largest sum of buffers alive at once: no layout is smaller */
} ons_arena_layout;

/* Places all transient buffers so that no two that live at the same time overlap. Results in `arena`. */
ons_status *ons_arena_layout_make(const ons_liveness *liveness, uint32_t positions, ons_arena *arena,
                                  ons_arena_layout *layout);

#endif

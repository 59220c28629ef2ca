/* Where every buffer lies in the transient part of a stage's arena.
 *
 *   | slot 0 | slot 1 | … | slot k-1 | shared |
 *
 * A stage works on several micro-batches at once: k lie between their forward and their backward part while one part
 * of one of them runs. What a micro-batch keeps from its forward to its backward part has a place in the micro-batch's
 * own slot. What lives only while a part runs lies where there is room, in the gaps of its slot or in the shared part;
 * what is still read by a copy or message while another part runs lies in the shared part. With one slot there is but
 * the shared part. Buffers in rings lie behind it: see ons_layout_options.
 *
 * Two programs whose micro-batches follow each other through one stage are laid out in one arena: slots and the shared
 * part are as large as either wants them, and what must stay while parts of the other program run, whatever those put
 * into the shared part, has places behind that: of its own, but for what both make alike (ons_arena_layout_join).
 */
#ifndef ONSTAGE_GRAPH_ARENA_LAYOUT_H
#define ONSTAGE_GRAPH_ARENA_LAYOUT_H

#include "graph/liveness.h"

enum { ONS_ARENA_ALIGNMENT = 64 };

static inline int64_t ons_arena_align(int64_t bytes) {
    return (bytes + ONS_ARENA_ALIGNMENT - 1) / ONS_ARENA_ALIGNMENT * ONS_ARENA_ALIGNMENT;
}

typedef struct ons_layout_options {
    const ons_liveness *liveness;
    const ons_sequence *sequence;
    uint32_t slots;
    const uint32_t *rings; /* of each buffer: so many places of its own, used in turn, whatever its lifetime (what comes
                              from another stage, some of it ahead of its use); 0: none. NULL: none at all */
    bool joined; /* parts of another program run between this one's: what is made once for all micro-batches lies behind
                    the shared part, too */
} ons_layout_options;

typedef struct ons_arena_layout {
    int64_t *offsets; /* of each transient buffer: below slot_bytes, from the start of a slot; from there on, in the
                         shared part or a ring, from the start of that part less slot_bytes; persistent ones: -1 */
    uint32_t slots;
    int64_t slot_bytes;         /* of one slot */
    int64_t bytes;              /* size of the transient part */
    int64_t lower_bound;        /* the largest sum of buffers alive at once: no layout is smaller */
    int64_t behind;             /* offset of what lies behind the shared part, up to the end */
    const ons_buffer_id *twins; /* of the second of two that were joined: see there; NULL: it is none */
} ons_arena_layout;

/* Places all transient buffers so that no two that live at the same time overlap. Results in `arena`. */
ons_status *ons_arena_layout_make(const ons_layout_options *options, ons_arena *arena, ons_arena_layout *layout);

/* Brings two layouts, both made with `joined` and as many slots, into one arena. `buffers`: how many each has. `twins`:
 * of each buffer of the second, which one of the first holds the same bytes (ons_find_twins), and so its place as well;
 * ONS_NONE: none. */
ons_status *ons_arena_layout_join(ons_arena_layout *const layouts[2], const uint32_t buffers[2],
                                  const ons_buffer_id *twins);

/* From the start of the transient part, for a micro-batch in slot `slot`. */
static inline int64_t ons_arena_layout_place(const ons_arena_layout *layout, int64_t offset, uint32_t slot) {
    return offset < layout->slot_bytes ? slot * layout->slot_bytes + offset
                                       : (layout->slots - 1) * layout->slot_bytes + offset;
}

#endif

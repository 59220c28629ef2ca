/* Where every buffer lies in the transient part of a device's arena.
 *
 *   | group 0: slot 0 | slot 1 | … | slot k-1 | group 1: slot 0 | … | shared |
 *
 * A device works on several micro-batches at once: k lie between one part and another, say forward and backward, while
 * one part of one of them runs. What a micro-batch keeps from the one part to the other has a place in the
 * micro-batch's own slot of a group, which is that of the two parts; so it is free for the next micro-batch when the
 * second part has run, and no later. What lives only while a part runs lies where there is room, in the gaps of its
 * micro-batch's slots or in the shared part; what is still read by a copy or message while another part runs lies in
 * the shared part. Where nothing else runs between two parts there is no group for them, but the shared part. Buffers
 * in rings lie behind it: see ons_layout_options.
 *
 * Two programs whose micro-batches follow each other through one device are laid out in one arena: slots and the shared
 * part are as large as either wants them, and what must stay while parts of the other program run, whatever those put
 * into the shared part, has places behind that: of its own, but for what both make alike (ons_arena_layout_join).
 */
#ifndef ONSTAGE_GRAPH_ARENA_LAYOUT_H
#define ONSTAGE_GRAPH_ARENA_LAYOUT_H

#include "graph/liveness.h"

/* Bytes: every buffer begins at a multiple of it, as does the arena itself (`allocate` of device/device.h). It is a
 * cache line and an AVX-512 register, so that no two buffers share a line and no full register is read across two; the
 * 16 bytes that a GPU's widest loads want divide it. */
enum { ONS_ARENA_ALIGNMENT = 64 };

static inline int64_t ons_arena_align(int64_t bytes) {
    return (bytes + ONS_ARENA_ALIGNMENT - 1) / ONS_ARENA_ALIGNMENT * ONS_ARENA_ALIGNMENT;
}

typedef struct ons_layout_options {
    const ons_liveness *liveness;
    const ons_execution_order *execution_order;
    /* [part · parts + later part]: micro-batches that are between the two at once, from the beginning of the one to the
     * end of the other; 0: nothing else runs on the device in between. NULL: of one chunk whose backward part is whole,
     * `slots` micro-batches between forward and backward part. */
    const uint32_t *places;
    uint32_t slots;
    const uint32_t *rings; /* of each buffer: so many places of its own, used in turn, whatever its lifetime (what comes
                              from another stage, some of it ahead of its use); 0: none. NULL: none at all */
    bool joined; /* parts of another program run between this one's: what is made once for all micro-batches lies behind
                    the shared part, too */
} ons_layout_options;

/* Slots for what micro-batches keep from one part to another. */
typedef struct ons_slot_group {
    int64_t offset, bytes; /* of one slot: as offsets of buffers count it */
    int64_t fence;         /* of its bytes: at its beginning, unused */
    uint32_t slots;
    ons_part from, to;
} ons_slot_group;

typedef struct ons_arena_layout {
    int64_t *offsets; /* of each transient buffer, as if each group had one slot, and the shared part and the rings lay
                         behind them; persistent ones: -1 */
    ons_slot_group *groups; /* one behind the other; some are empty */
    uint32_t group_count;
    int64_t slot_bytes;                  /* of one slot of each group */
    int64_t bytes;                       /* size of the transient part */
    int64_t lower_bound;                 /* the largest sum of buffers alive at once: no layout is smaller */
    int64_t behind;                      /* offset of what lies behind the shared part, up to the end */
    const ons_buffer_id *shared_buffers; /* of the second of two that were joined: see there; NULL: it is none */
} ons_arena_layout;

/* Places all transient buffers so that no two that live at the same time overlap. Results in `arena`. */
ons_status *ons_arena_layout_make(const ons_layout_options *options, ons_arena *arena, ons_arena_layout *layout);

/* Brings two layouts, both made with `joined` and the same parts and places, into one arena. `buffers`: how many each
 * has. `shared_buffers`: of each buffer of the second, which one of the first holds the same bytes
 * (ons_find_shared_buffers), and so its place as well; ONS_NONE: none. */
ons_status *ons_arena_layout_join(ons_arena_layout *const layouts[2], const uint32_t buffers[2],
                                  const ons_buffer_id *shared_buffers, ons_arena *arena);

/* The group in whose slots the offset lies; NULL: it is the shared part's, or a ring's. */
const ons_slot_group *ons_arena_layout_group(const ons_arena_layout *layout, int64_t offset);

/* From the start of the transient part, for a micro-batch: it has slot `micro_batch` modulo their number. */
int64_t ons_arena_layout_place(const ons_arena_layout *layout, int64_t offset, uint32_t micro_batch);

#endif

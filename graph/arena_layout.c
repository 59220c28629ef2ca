/* Offsets by first fit, largest buffer first (the "greedy by size" of Pisarchyk and Lee, "Efficient memory management
 * for deep neural net inference", 2020), and again in the order of birth; the smaller of the two is taken. */
#include "graph/arena_layout.h"

#include <stdlib.h>
#include <string.h>

typedef struct spot {
    int64_t offset, end;
    uint32_t first, last;
} spot;

static int by_bytes(const void *left, const void *right, void *buffers) {
    const ons_buffer *a = (const ons_buffer *)buffers + *(const ons_buffer_id *)left;
    const ons_buffer *b = (const ons_buffer *)buffers + *(const ons_buffer_id *)right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    return a < b ? -1 : a > b;
}

static int by_birth(const void *left, const void *right, void *buffers) {
    const ons_buffer *a = (const ons_buffer *)buffers + *(const ons_buffer_id *)left;
    const ons_buffer *b = (const ons_buffer *)buffers + *(const ons_buffer_id *)right;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return by_bytes(left, right, buffers);
}

/* The lowest gap among those alive at the same time; `spots` are in the order of their offsets. */
static int64_t first_fit(const spot *spots, uint32_t count, const ons_buffer *buffer, int64_t bytes) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const spot *other = &spots[i];
        if (other->last < buffer->first || other->first > buffer->last) continue;
        if (other->offset - offset >= bytes) break;
        offset = other->end > offset ? other->end : offset;
    }
    return offset;
}

static int64_t place_all(const ons_liveness *liveness, const ons_buffer_id *order, uint32_t count, spot *spots,
                         int64_t *offsets) {
    int64_t top = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const ons_buffer *buffer = &liveness->buffers[order[i]];
        int64_t bytes = ons_arena_align(buffer->bytes);
        int64_t offset = first_fit(spots, i, buffer, bytes);
        offsets[order[i]] = offset;
        uint32_t at = i;
        for (; at > 0 && spots[at - 1].offset > offset; --at) spots[at] = spots[at - 1];
        spots[at] = (spot){offset, offset + bytes, buffer->first, buffer->last};
        top = offset + bytes > top ? offset + bytes : top;
    }
    return top;
}

static ons_status *find_lower_bound(const ons_liveness *liveness, uint32_t positions, ons_arena *arena,
                                    int64_t *bound) {
    int64_t *change;
    ONS_NEW(change, arena, (size_t)positions + 3);
    for (uint32_t i = 0; i < liveness->buffer_count; ++i) {
        const ons_buffer *buffer = &liveness->buffers[i];
        if (buffer->persistent) continue;
        change[buffer->first] += ons_arena_align(buffer->bytes);
        change[buffer->last + 1] -= ons_arena_align(buffer->bytes);
    }
    *bound = 0;
    for (int64_t alive = 0, i = 0; i <= (int64_t)positions; ++i) {
        alive += change[i];
        *bound = alive > *bound ? alive : *bound;
    }
    return NULL;
}

ons_status *ons_arena_layout_make(const ons_liveness *liveness, uint32_t positions, ons_arena *arena,
                                  ons_arena_layout *layout) {
    *layout = (ons_arena_layout){0};
    ons_buffer_id *order;
    spot *spots;
    int64_t *other;
    uint32_t count = 0, total = liveness->buffer_count;
    ONS_NEW(order, arena, total + 1);
    ONS_NEW(spots, arena, total + 1);
    ONS_NEW(other, arena, total + 1);
    ONS_NEW(layout->offsets, arena, total + 1);
    for (uint32_t i = 0; i < total; ++i) {
        layout->offsets[i] = other[i] = -1;
        if (!liveness->buffers[i].persistent) order[count++] = i;
    }
    ONS_TRY(find_lower_bound(liveness, positions, arena, &layout->lower_bound));
    qsort_r(order, count, sizeof order[0], by_bytes, liveness->buffers);
    layout->bytes = place_all(liveness, order, count, spots, layout->offsets);
    qsort_r(order, count, sizeof order[0], by_birth, liveness->buffers);
    int64_t bytes = place_all(liveness, order, count, spots, other);
    if (bytes < layout->bytes) {
        layout->bytes = bytes;
        memcpy(layout->offsets, other, total * sizeof other[0]);
    }
    return NULL;
}

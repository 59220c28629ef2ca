/* Offsets by first fit, largest buffer first (the "greedy by size" of Pisarchyk and Lee, "Efficient memory management
 * for deep neural net inference", 2020), and again in the order of birth; the smaller of the two is taken. */
#include "graph/arena_layout.h"

#include <stdlib.h>
#include <string.h>

#include "graph/first_fit.h"

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

/* The buffers of one layout, and how far it has come. */
typedef struct placing {
    const ons_liveness *liveness;
    const bool *slotted, *shared; /* of each buffer: lies in the slot; may not lie in its gaps */
    const ons_buffer_id *order;
    uint32_t count;
    int64_t slot_bytes;
    ons_first_fit *fit;
} placing;

/* Those of the slot first, one behind the other: at the end of the forward part all of them are there. */
static int64_t place_all(placing *p, int64_t *offsets) {
    int64_t top = 0;
    ons_first_fit_clear(p->fit);
    for (int slotted = 1; slotted >= 0; --slotted) {
        for (uint32_t i = 0; i < p->count; ++i) {
            ons_buffer_id id = p->order[i];
            const ons_buffer *buffer = &p->liveness->buffers[id];
            if (p->slotted[id] != (slotted == 1)) continue;
            int64_t bytes = ons_arena_align(buffer->bytes);
            int64_t from = p->shared[id] ? p->slot_bytes : 0, offset = top;
            if (slotted == 0) offset = ons_first_fit_find(p->fit, buffer->first, buffer->last, bytes, from);
            offsets[id] = offset;
            ons_first_fit_add(p->fit, (ons_spot){offset, offset + bytes, buffer->first, buffer->last});
            top = offset + bytes > top ? offset + bytes : top;
        }
    }
    return top;
}

/* What `slots` micro-batches need at once: all of them keep what is in their slots while one of them runs. */
static ons_status *find_lower_bound(const placing *p, const ons_layout_options *o, ons_arena *arena, int64_t *bound) {
    int64_t *change;
    ONS_NEW(change, arena, (size_t)o->sequence->count + 3);
    for (uint32_t i = 0; i < p->count; ++i) {
        const ons_buffer *buffer = &p->liveness->buffers[p->order[i]];
        change[buffer->first] += ons_arena_align(buffer->bytes);
        change[buffer->last + 1] -= ons_arena_align(buffer->bytes);
    }
    *bound = 0;
    for (int64_t alive = 0, i = 0; i <= (int64_t)o->sequence->count; ++i) {
        alive += change[i];
        *bound = alive > *bound ? alive : *bound;
    }
    *bound += (o->slots - 1) * p->slot_bytes;
    return NULL;
}

/* How many places of its own behind the shared part a buffer has; 0: it lies elsewhere. */
static uint32_t places_behind(const ons_layout_options *o, uint32_t id) {
    const ons_buffer *buffer = &o->liveness->buffers[id];
    uint32_t begin = o->sequence->end[ONS_PART_BEGIN];
    if (buffer->persistent) return 0;
    if (o->rings != NULL && o->rings[id] > 0) return o->rings[id];
    return o->joined && buffer->first < begin && buffer->last >= begin;
}

/* Sorts the transient buffers into kinds; those behind the shared part are placed by the caller. */
static void sort_out(const ons_layout_options *o, bool *slotted, bool *shared, ons_buffer_id *order, placing *p) {
    uint32_t begin = o->sequence->end[ONS_PART_BEGIN], backward = o->sequence->end[ONS_PART_FORWARD];
    for (uint32_t i = 0; i < o->liveness->buffer_count; ++i) {
        const ons_buffer *buffer = &o->liveness->buffers[i];
        if (buffer->persistent || places_behind(o, i) > 0) continue;
        order[p->count++] = i;
        bool of_step = buffer->first < begin, forward = !of_step && buffer->first < backward;
        slotted[i] = o->slots > 1 && forward && buffer->last_read >= backward;
        shared[i] =
            of_step || (forward && buffer->last >= backward) || buffer->last >= o->sequence->end[ONS_PART_BACKWARD];
        if (slotted[i]) p->slot_bytes += ons_arena_align(buffer->bytes);
    }
    p->liveness = o->liveness;
    p->slotted = slotted;
    p->shared = shared;
    p->order = order;
}

static ons_status *place_behind(const ons_layout_options *o, ons_arena_layout *layout) {
    layout->behind = layout->bytes - (layout->slots - 1) * layout->slot_bytes;
    for (uint32_t i = 0; i < o->liveness->buffer_count; ++i) {
        uint32_t places = places_behind(o, i);
        if (places == 0) continue;
        int64_t bytes;
        ONS_CHECK(!__builtin_mul_overflow((int64_t)places, ons_arena_align(o->liveness->buffers[i].bytes), &bytes) &&
                      bytes < INT64_MAX / 4 - layout->bytes,
                  ONS_OUT_OF_MEMORY, "the size of what stages send each other overflows");
        layout->offsets[i] = layout->bytes - (layout->slots - 1) * layout->slot_bytes;
        layout->bytes += bytes;
        layout->lower_bound += bytes;
    }
    return NULL;
}

ons_status *ons_arena_layout_make(const ons_layout_options *o, ons_arena *arena, ons_arena_layout *layout) {
    *layout = (ons_arena_layout){.slots = o->slots};
    ons_buffer_id *order;
    bool *slotted, *shared;
    int64_t *other;
    uint32_t total = o->liveness->buffer_count;
    placing p = {0};
    ONS_NEW(order, arena, total + 1);
    ONS_NEW(slotted, arena, total + 1);
    ONS_NEW(shared, arena, total + 1);
    ONS_NEW(other, arena, total + 1);
    ONS_NEW(layout->offsets, arena, total + 1);
    for (uint32_t i = 0; i < total; ++i) layout->offsets[i] = other[i] = -1;
    sort_out(o, slotted, shared, order, &p);
    layout->slot_bytes = p.slot_bytes;
    ONS_TRY(ons_first_fit_new(p.count, p.slot_bytes, arena, &p.fit));
    ONS_TRY(find_lower_bound(&p, o, arena, &layout->lower_bound));
    qsort_r(order, p.count, sizeof order[0], by_bytes, o->liveness->buffers);
    layout->bytes = place_all(&p, layout->offsets);
    qsort_r(order, p.count, sizeof order[0], by_birth, o->liveness->buffers);
    int64_t bytes = place_all(&p, other);
    if (bytes < layout->bytes) {
        layout->bytes = bytes;
        memcpy(layout->offsets, other, total * sizeof other[0]);
    }
    int64_t waiting;
    ONS_CHECK(!__builtin_mul_overflow((int64_t)o->slots - 1, p.slot_bytes, &waiting) &&
                  waiting < INT64_MAX / 4 - layout->bytes,
              ONS_OUT_OF_MEMORY, "the size of %u micro-batches in flight overflows", o->slots);
    layout->bytes += waiting;
    return place_behind(o, layout);
}

static int64_t bytes_behind(const ons_arena_layout *l) { return l->bytes - (l->slots - 1) * l->slot_bytes - l->behind; }

/* The offsets of a layout in slots and a shared part that others may want larger. */
static void move(ons_arena_layout *l, uint32_t buffers, int64_t slot_bytes, int64_t behind) {
    for (uint32_t i = 0; i < buffers; ++i)
        if (l->offsets[i] >= l->behind)
            l->offsets[i] += behind - l->behind;
        else if (l->offsets[i] >= l->slot_bytes)
            l->offsets[i] += slot_bytes - l->slot_bytes;
    l->slot_bytes = slot_bytes;
    l->behind = behind;
}

/* Takes out what has its place elsewhere; what lies behind the shared part lies there in the order of the buffers. */
static void close_gaps(ons_arena_layout *l, uint32_t buffers, const ons_buffer_id *twins) {
    int64_t end = l->bytes - (l->slots - 1) * l->slot_bytes, removed = 0;
    for (uint32_t i = buffers; i-- > 0;) {
        if (l->offsets[i] < l->behind) continue;
        int64_t bytes = end - l->offsets[i];
        end = l->offsets[i];
        if (twins[i] == ONS_NONE) continue;
        removed += bytes;
        for (uint32_t k = i + 1; k < buffers; ++k)
            if (l->offsets[k] > end) l->offsets[k] -= bytes;
    }
    l->bytes -= removed;
    l->lower_bound -= removed;
}

ons_status *ons_arena_layout_join(ons_arena_layout *const layouts[2], const uint32_t buffers[2],
                                  const ons_buffer_id *twins) {
    int64_t slot = 0, shared = 0, bound = 0, bytes, own[2];
    uint32_t slots = layouts[0]->slots;
    ONS_CHECK(layouts[1]->slots == slots, ONS_DEFECT, "%u and %u slots in one arena", slots, layouts[1]->slots);
    close_gaps(layouts[1], buffers[1], twins);
    for (int k = 0; k < 2; ++k) {
        const ons_arena_layout *l = layouts[k];
        own[k] = bytes_behind(l);
        slot = l->slot_bytes > slot ? l->slot_bytes : slot;
        shared = l->behind - l->slot_bytes > shared ? l->behind - l->slot_bytes : shared;
        bound = l->lower_bound - own[k] > bound ? l->lower_bound - own[k] : bound;
    }
    int64_t rest = shared + own[0] + own[1]; /* each of them is far from the end of its range */
    ONS_CHECK(!__builtin_mul_overflow((int64_t)slots, slot, &bytes) && bytes < INT64_MAX / 4 - rest, ONS_OUT_OF_MEMORY,
              "the size of %u micro-batches in flight overflows", slots);
    move(layouts[0], buffers[0], slot, slot + shared);
    move(layouts[1], buffers[1], slot, slot + shared + own[0]);
    for (int k = 0; k < 2; ++k) {
        layouts[k]->bytes = bytes + rest;
        layouts[k]->lower_bound = bound + own[0] + own[1];
    }
    for (uint32_t i = 0; i < buffers[1]; ++i)
        if (twins[i] != ONS_NONE) layouts[1]->offsets[i] = layouts[0]->offsets[twins[i]];
    layouts[1]->twins = twins;
    return NULL;
}

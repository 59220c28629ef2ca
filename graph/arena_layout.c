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

/* ----------------------------------------------------------------------------------------------------------- groups */

static uint32_t parts_of(const ons_layout_options *o) { return ons_part_count(o->execution_order->chunks); }

/* Places of their own for what is kept from one part to another; 0: none. */
static uint32_t places_between(const ons_layout_options *o, ons_part from, ons_part to) {
    if (o->places != NULL) return o->places[from * parts_of(o) + to];
    return from == ONS_PART_FORWARD && o->slots > 1 ? o->slots : 0;
}

/* Every pair of parts that micro-batches can wait between, so that two programs of the same parts have the same. */
static ons_status *make_groups(const ons_layout_options *o, ons_arena *arena, ons_arena_layout *layout) {
    uint32_t last = ons_part_last(o->execution_order->chunks);
    ONS_NEW(layout->groups, arena, (size_t)last * last);
    for (ons_part from = ONS_PART_FORWARD; from < last; ++from)
        for (ons_part to = from + 1; to < last; ++to)
            if (places_between(o, from, to) > 0)
                layout->groups[layout->group_count++] =
                    (ons_slot_group){.slots = places_between(o, from, to), .from = from, .to = to};
    return NULL;
}

/* Buffers in gaps of slots may not lie across two groups, whose slots are not beside each other: something that is
 * always there keeps them apart. */
static void part_groups(ons_arena_layout *layout) {
    bool any = false;
    for (uint32_t i = 0; i < layout->group_count; ++i) {
        ons_slot_group *g = &layout->groups[i];
        g->fence = g->bytes > 0 && any ? ONS_ARENA_ALIGNMENT : 0;
        any = any || g->bytes > 0;
        g->bytes += g->fence;
    }
}

static void lay_out_groups(ons_arena_layout *layout) {
    layout->slot_bytes = 0;
    for (uint32_t i = 0; i < layout->group_count; ++i) {
        layout->groups[i].offset = layout->slot_bytes;
        layout->slot_bytes += layout->groups[i].bytes;
    }
}

/* What all slots but one of each group take; the sum with `beside` must be far from the end of its range. */
static ons_status *find_waiting_bytes(const ons_arena_layout *layout, int64_t beside, int64_t *waiting) {
    *waiting = 0;
    for (uint32_t i = 0; i < layout->group_count; ++i) {
        const ons_slot_group *g = &layout->groups[i];
        int64_t bytes;
        ONS_CHECK(!__builtin_mul_overflow((int64_t)g->slots - 1, g->bytes, &bytes) &&
                      bytes < INT64_MAX / 4 - beside - *waiting,
                  ONS_OUT_OF_MEMORY, "the size of %u micro-batches in flight overflows", g->slots);
        *waiting += bytes;
    }
    return NULL;
}

const ons_slot_group *ons_arena_layout_group(const ons_arena_layout *layout, int64_t offset) {
    for (uint32_t i = 0; i < layout->group_count; ++i) {
        const ons_slot_group *g = &layout->groups[i];
        if (offset >= g->offset && offset < g->offset + g->bytes) return g;
    }
    return NULL;
}

int64_t ons_arena_layout_place(const ons_arena_layout *layout, int64_t offset, uint32_t micro_batch) {
    int64_t before = 0;
    for (uint32_t i = 0; i < layout->group_count; ++i) {
        const ons_slot_group *g = &layout->groups[i];
        if (offset < g->offset + g->bytes) return offset + before + (micro_batch % g->slots) * g->bytes;
        before += (g->slots - 1) * g->bytes;
    }
    return offset + before;
}

/* ---------------------------------------------------------------------------------------------------------- placing */

enum { NO_GROUP = 0xffffffffu };

/* The buffers of one layout, and how far it has come. */
typedef struct placing {
    const ons_layout_options *o;
    ons_arena_layout *layout;
    uint32_t *group; /* of each buffer: it lies in a slot of it; NO_GROUP */
    bool *shared;    /* of each buffer: may not lie in gaps of slots */
    ons_buffer_id *order;
    uint32_t count;
    ons_first_fit *fit;
} placing;

static const ons_buffer *buffer_of(const placing *p, ons_buffer_id id) { return &p->o->liveness->buffers[id]; }

/* While a part runs its micro-batch has those slots that it has begun to fill and still holds; a chunk's own parts are
 * known to follow each other. */
static bool holds(const placing *p, const ons_slot_group *g, ons_part part) {
    uint32_t chunks = p->o->execution_order->chunks, chunk = ons_part_chunk(chunks, part);
    return part >= g->from && part <= g->to && ons_part_chunk(chunks, g->from) == chunk &&
           ons_part_chunk(chunks, g->to) == chunk;
}

/* Slots that are other micro-batches' while a part runs have no gaps for it. */
static void close_slots(placing *p) {
    const ons_execution_order *s = p->o->execution_order;
    for (ons_part part = ONS_PART_FORWARD; part < ons_part_last(s->chunks); ++part)
        for (uint32_t i = 0; i < p->layout->group_count; ++i) {
            const ons_slot_group *g = &p->layout->groups[i];
            uint32_t begin = ons_execution_order_begin(s, part), end = s->end[part];
            if (g->bytes == 0 || begin == end || holds(p, g, part)) continue;
            ons_first_fit_add(p->fit, (ons_spot){g->offset, g->offset + g->bytes, begin, end - 1});
        }
}

static int64_t place_buffer(placing *p, ons_buffer_id id, int64_t offset, int64_t top, int64_t *offsets) {
    const ons_buffer *buffer = buffer_of(p, id);
    int64_t bytes = ons_arena_align(buffer->bytes);
    offsets[id] = offset;
    ons_first_fit_add(p->fit, (ons_spot){offset, offset + bytes, buffer->first, buffer->last});
    return offset + bytes > top ? offset + bytes : top;
}

/* Those of slots first, one behind the other: when the last part of a group begins, all of them are there. */
static int64_t place_all(placing *p, int64_t *offsets) {
    int64_t top = 0;
    ons_first_fit_clear(p->fit);
    for (uint32_t g = 0; g < p->layout->group_count; ++g) {
        const ons_slot_group *group = &p->layout->groups[g];
        if (group->fence > 0) ons_first_fit_add(p->fit, (ons_spot){top, top + group->fence, 0, UINT32_MAX});
        top += group->fence;
        for (uint32_t i = 0; i < p->count; ++i)
            if (p->group[p->order[i]] == g) top = place_buffer(p, p->order[i], top, top, offsets);
    }
    close_slots(p);
    for (uint32_t i = 0; i < p->count; ++i) {
        ons_buffer_id id = p->order[i];
        const ons_buffer *buffer = buffer_of(p, id);
        if (p->group[id] != NO_GROUP) continue;
        int64_t bytes = ons_arena_align(buffer->bytes), from = p->shared[id] ? p->layout->slot_bytes : 0;
        int64_t offset = ons_first_fit_find(p->fit, buffer->first, buffer->last, bytes, from);
        top = place_buffer(p, id, offset, top, offsets);
    }
    return top;
}

/* What micro-batches need at once: all of them keep what is in their slots while one of them runs. */
static ons_status *find_lower_bound(const placing *p, int64_t waiting, ons_arena *arena, int64_t *bound) {
    const ons_execution_order *s = p->o->execution_order;
    int64_t *change;
    ONS_NEW(change, arena, (size_t)s->count + 3);
    for (uint32_t i = 0; i < p->count; ++i) {
        const ons_buffer *buffer = buffer_of(p, p->order[i]);
        change[buffer->first] += ons_arena_align(buffer->bytes);
        change[buffer->last + 1] -= ons_arena_align(buffer->bytes);
    }
    *bound = 0;
    for (int64_t alive = 0, i = 0; i <= (int64_t)s->count; ++i) {
        alive += change[i];
        *bound = alive > *bound ? alive : *bound;
    }
    *bound += waiting;
    return NULL;
}

/* How many places of its own behind the shared part a buffer has; 0: it lies elsewhere. */
static uint32_t places_behind(const ons_layout_options *o, uint32_t id) {
    const ons_buffer *buffer = &o->liveness->buffers[id];
    uint32_t begin = ons_execution_order_first(o->execution_order);
    if (buffer->persistent) return 0;
    if (o->rings != NULL && o->rings[id] > 0) return o->rings[id];
    return o->joined && buffer->first < begin && buffer->last >= begin;
}

/* The group of what is kept from part to part. What the forward part makes for the end of the step, or for the host, is
 * kept like what the last part of its micro-batch reads; what a backward part makes for them is the last micro-batch's.
 */
static uint32_t group_of(const placing *p, const ons_buffer *buffer) {
    const ons_execution_order *s = p->o->execution_order;
    ons_part from = ons_execution_order_part(s, buffer->first), to = ons_execution_order_part(s, buffer->last_read);
    ons_part last = ons_part_last(s->chunks);
    if (to >= last) to = from <= s->chunks ? last - 1 : from;
    for (uint32_t i = 0; i < p->layout->group_count; ++i)
        if (p->layout->groups[i].from == from && p->layout->groups[i].to == to) return i;
    return NO_GROUP;
}

/* Sorts the transient buffers into kinds; those behind the shared part are placed by the caller. */
static void sort_out(placing *p) {
    const ons_execution_order *s = p->o->execution_order;
    for (uint32_t i = 0; i < p->o->liveness->buffer_count; ++i) {
        const ons_buffer *buffer = buffer_of(p, i);
        if (buffer->persistent || places_behind(p->o, i) > 0) continue;
        p->order[p->count++] = i;
        bool of_step = buffer->first < ons_execution_order_first(s);
        p->group[i] = of_step ? NO_GROUP : group_of(p, buffer);
        p->shared[i] = of_step || buffer->last >= ons_execution_order_last(s) ||
                       buffer->last >= s->end[ons_execution_order_part(s, buffer->first)];
        if (p->group[i] != NO_GROUP) p->layout->groups[p->group[i]].bytes += ons_arena_align(buffer->bytes);
    }
}

static ons_status *place_behind(const ons_layout_options *o, int64_t waiting, ons_arena_layout *layout) {
    layout->behind = layout->bytes - waiting;
    for (uint32_t i = 0; i < o->liveness->buffer_count; ++i) {
        uint32_t places = places_behind(o, i);
        if (places == 0) continue;
        int64_t bytes;
        ONS_CHECK(!__builtin_mul_overflow((int64_t)places, ons_arena_align(o->liveness->buffers[i].bytes), &bytes) &&
                      bytes < INT64_MAX / 4 - layout->bytes,
                  ONS_OUT_OF_MEMORY, "the size of what stages send each other overflows");
        layout->offsets[i] = layout->bytes - waiting;
        layout->bytes += bytes;
        layout->lower_bound += bytes;
    }
    return NULL;
}

static ons_status *open_placing(const ons_layout_options *o, ons_arena *arena, ons_arena_layout *layout, placing *p) {
    uint32_t total = o->liveness->buffer_count;
    *p = (placing){.o = o, .layout = layout};
    ONS_NEW(p->order, arena, total + 1);
    ONS_NEW(p->group, arena, total + 1);
    ONS_NEW(p->shared, arena, total + 1);
    ONS_NEW(layout->offsets, arena, total + 1);
    for (uint32_t i = 0; i < total; ++i) layout->offsets[i] = -1;
    ONS_TRY(make_groups(o, arena, layout));
    sort_out(p);
    part_groups(layout);
    lay_out_groups(layout);
    size_t spots = p->count + (size_t)layout->group_count * (ons_part_count(o->execution_order->chunks) + 1);
    return ons_first_fit_new((uint32_t)spots, layout->slot_bytes, arena, &p->fit);
}

ons_status *ons_arena_layout_make(const ons_layout_options *o, ons_arena *arena, ons_arena_layout *layout) {
    int64_t *other, waiting;
    uint32_t total = o->liveness->buffer_count;
    placing p;
    *layout = (ons_arena_layout){0};
    ONS_TRY(open_placing(o, arena, layout, &p));
    ONS_NEW(other, arena, total + 1);
    for (uint32_t i = 0; i < total; ++i) other[i] = -1;
    qsort_r(p.order, p.count, sizeof p.order[0], by_bytes, o->liveness->buffers);
    layout->bytes = place_all(&p, layout->offsets);
    qsort_r(p.order, p.count, sizeof p.order[0], by_birth, o->liveness->buffers);
    int64_t bytes = place_all(&p, other);
    if (bytes < layout->bytes) {
        layout->bytes = bytes;
        memcpy(layout->offsets, other, total * sizeof other[0]);
    }
    ONS_TRY(find_waiting_bytes(layout, layout->bytes, &waiting));
    ONS_TRY(find_lower_bound(&p, waiting, arena, &layout->lower_bound));
    layout->bytes += waiting;
    return place_behind(o, waiting, layout);
}

/* ---------------------------------------------------------------------------------------------------------- joining */

static int64_t waiting_of(const ons_arena_layout *l) {
    int64_t waiting = 0;
    for (uint32_t i = 0; i < l->group_count; ++i) waiting += (l->groups[i].slots - 1) * l->groups[i].bytes;
    return waiting;
}

static int64_t bytes_behind(const ons_arena_layout *l) { return l->bytes - waiting_of(l) - l->behind; }

/* Where an offset comes in the groups `wanted`, whose slots take `slot_bytes` together. */
static int64_t moved(const ons_arena_layout *l, int64_t offset, const ons_slot_group *wanted, int64_t slot_bytes,
                     int64_t behind) {
    if (offset >= l->behind) return offset + behind - l->behind;
    if (offset >= l->slot_bytes) return offset + slot_bytes - l->slot_bytes;
    const ons_slot_group *g = ons_arena_layout_group(l, offset);
    return g == NULL ? offset : offset + wanted[g - l->groups].offset - g->offset;
}

/* The offsets of a layout in slots and a shared part that others may want larger. */
static void move(ons_arena_layout *l, uint32_t buffers, const ons_arena_layout *wanted, int64_t behind) {
    for (uint32_t i = 0; i < buffers; ++i)
        if (l->offsets[i] >= 0) l->offsets[i] = moved(l, l->offsets[i], wanted->groups, wanted->slot_bytes, behind);
    l->groups = wanted->groups;
    l->slot_bytes = wanted->slot_bytes;
    l->behind = behind;
}

/* Takes out what has its place elsewhere; what lies behind the shared part lies there in the order of the buffers. */
static void close_gaps(ons_arena_layout *l, uint32_t buffers, const ons_buffer_id *shared_buffers) {
    int64_t end = l->bytes - waiting_of(l), removed = 0;
    for (uint32_t i = buffers; i-- > 0;) {
        if (l->offsets[i] < l->behind) continue;
        int64_t bytes = end - l->offsets[i];
        end = l->offsets[i];
        if (shared_buffers[i] == ONS_NONE) continue;
        removed += bytes;
        for (uint32_t k = i + 1; k < buffers; ++k)
            if (l->offsets[k] > end) l->offsets[k] -= bytes;
    }
    l->bytes -= removed;
    l->lower_bound -= removed;
}

/* Groups of slots that are as large as either layout wants them. */
static ons_status *join_groups(ons_arena_layout *const layouts[2], ons_arena *arena, ons_arena_layout *wanted) {
    const ons_arena_layout *a = layouts[0], *b = layouts[1];
    *wanted = (ons_arena_layout){.group_count = a->group_count};
    ONS_CHECK(a->group_count == b->group_count, ONS_DEFECT, "%u and %u groups of slots in one arena", a->group_count,
              b->group_count);
    ONS_NEW(wanted->groups, arena, (size_t)a->group_count + 1);
    for (uint32_t i = 0; i < a->group_count; ++i) {
        ONS_CHECK(a->groups[i].slots == b->groups[i].slots, ONS_DEFECT, "%u and %u slots in one arena",
                  a->groups[i].slots, b->groups[i].slots);
        wanted->groups[i] = a->groups[i];
        if (b->groups[i].bytes > a->groups[i].bytes) wanted->groups[i].bytes = b->groups[i].bytes;
    }
    lay_out_groups(wanted);
    return NULL;
}

ons_status *ons_arena_layout_join(ons_arena_layout *const layouts[2], const uint32_t buffers[2],
                                  const ons_buffer_id *shared_buffers, ons_arena *arena) {
    int64_t shared = 0, bound = 0, waiting, own[2];
    ons_arena_layout wanted;
    ONS_TRY(join_groups(layouts, arena, &wanted));
    close_gaps(layouts[1], buffers[1], shared_buffers);
    for (int k = 0; k < 2; ++k) {
        const ons_arena_layout *l = layouts[k];
        own[k] = bytes_behind(l);
        shared = l->behind - l->slot_bytes > shared ? l->behind - l->slot_bytes : shared;
        bound = l->lower_bound - own[k] > bound ? l->lower_bound - own[k] : bound;
    }
    int64_t rest = wanted.slot_bytes + shared + own[0] + own[1]; /* each of them is far from the end of its range */
    ONS_TRY(find_waiting_bytes(&wanted, rest, &waiting));
    move(layouts[0], buffers[0], &wanted, wanted.slot_bytes + shared);
    move(layouts[1], buffers[1], &wanted, wanted.slot_bytes + shared + own[0]);
    for (int k = 0; k < 2; ++k) {
        layouts[k]->bytes = waiting + rest;
        layouts[k]->lower_bound = bound + own[0] + own[1];
    }
    for (uint32_t i = 0; i < buffers[1]; ++i)
        if (shared_buffers[i] != ONS_NONE) layouts[1]->offsets[i] = layouts[0]->offsets[shared_buffers[i]];
    layouts[1]->shared_buffers = shared_buffers;
    return NULL;
}

/* The sync points of a stage's parts, and the hazards of what leaves it. */
#include <stdlib.h>

#include "graph/sharing.h"
#include "runtime/program/stage_maker.h"

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void add_sync_point(ons_stage_maker *m, uint32_t position, ons_sync_kind kind, uint32_t index) {
    m->r->sync_points[m->sync_point_count++] = (ons_sync_point){position, kind, index};
}

static int compare_sync_points(const void *left, const void *right) {
    const ons_sync_point *a = left, *b = right;
    if (a->position != b->position) return a->position < b->position ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* A sync point behind the last node of a part stands at the next part's first position; which part it is of says
 * `part`. So the parts are sorted one by one. */
static void close_part(ons_stage_maker *m, ons_part part, uint32_t first) {
    qsort(m->r->sync_points + first, m->sync_point_count - first, sizeof *m->r->sync_points, compare_sync_points);
    m->r->sync_point_end[part] = m->sync_point_count;
}

/* A value that came and is copied to the host is not free before that has begun. */
static uint32_t left_at(const ons_stage_maker *m, ons_value_id value) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i)
        if (m->cut->swaps[i].value == value) return ons_stage_maker_copy_begin(m, &m->cut->swaps[i]);
    return 0;
}

/* Where a value can be sent. */
static uint32_t made_at(const ons_stage_maker *m, const ons_cut_transfer *t) {
    ons_node_id node = ons_graph_value(m->graph, t->value)->producer;
    bool here = node != ONS_NONE && ons_stage_maker_part(m, node) == t->part;
    return here ? node + 1 : ons_stage_maker_begin(m, t->part);
}

/* Where it is sent: behind those that the other end expects before it. */
static uint32_t sent_at(const ons_stage_maker *m, uint32_t send) {
    const ons_cut_transfer *t = &m->cut->sends[send];
    uint32_t position = made_at(m, t);
    for (uint32_t i = 0; i < send; ++i) {
        const ons_cut_transfer *earlier = &m->cut->sends[i];
        if (earlier->peer == t->peer && earlier->part == t->part) position = larger(position, made_at(m, earlier));
    }
    return position;
}

/* Where micro-batches do not go through parts in their order, the list says which part reads a message first and last.
 */
static void find_end_parts(ons_stage_maker *m, uint32_t receive, const ons_part_readers *r) {
    uint32_t count = m->r->micro_batches;
    ons_value_id value = m->cut->receives[receive].value;
    ons_part *first = &m->r->first_part[(size_t)receive * count], *last = &m->r->last_part[(size_t)receive * count];
    for (uint32_t i = 0; i < count; ++i) {
        first[i] = ons_stage_maker_part(m, m->first_reader[value]);
        last[i] = ons_stage_maker_part(m, m->last_reader[value]);
        for (ons_part part = ONS_PART_FORWARD; part < ons_part_last(m->chunks); ++part) {
            if (r->last[part] == ONS_NONE) continue;
            uint32_t at = m->places.at[part * count + i];
            if (first[i] < ons_part_last(m->chunks) && at < m->places.at[first[i] * count + i]) first[i] = part;
            if (last[i] < ons_part_last(m->chunks) && at > m->places.at[last[i] * count + i]) last[i] = part;
        }
    }
}

static bool holds_any(const ons_part *parts, uint32_t count, ons_part part) {
    for (uint32_t i = 0; i < count; ++i)
        if (parts[i] == part) return true;
    return false;
}

static void add_unordered_ends(ons_stage_maker *m, ons_part part) {
    uint32_t count = m->r->micro_batches;
    for (uint32_t i = 0; i < m->cut->receive_count; ++i) {
        const ons_part_readers *r = &m->part_readers[i];
        ons_value_id value = m->cut->receives[i].value;
        uint32_t first = r->first[part] != ONS_NONE ? r->first[part] : m->first_reader[value];
        uint32_t last = r->last[part] != ONS_NONE ? r->last[part] : m->last_reader[value];
        if (holds_any(&m->r->first_part[(size_t)i * count], count, part)) add_sync_point(m, first, ONS_SYNC_AWAIT, i);
        if (holds_any(&m->r->last_part[(size_t)i * count], count, part))
            add_sync_point(m, larger(last + 1, left_at(m, value)), ONS_SYNC_RELEASE, i);
    }
}

/* Sets last_part where it is needed. */
static ons_status *find_ends(ons_stage_maker *m) {
    if (m->schedule == NULL || m->places.ordered) return NULL;
    size_t receives = m->cut->receive_count;
    m->r->micro_batches = m->micro_batches;
    ONS_NEW(m->r->first_part, m->r->arena, receives * m->r->micro_batches + 1);
    ONS_NEW(m->r->last_part, m->r->arena, receives * m->r->micro_batches + 1);
    ONS_NEW(m->part_readers, m->r->arena, receives + 1);
    for (uint32_t i = 0; i < receives; ++i) {
        ONS_TRY(ons_part_readers_find(m->cut, m->cut->receives[i].value, m->r->arena, &m->part_readers[i]));
        find_end_parts(m, i, &m->part_readers[i]);
    }
    return NULL;
}

static void add_receives(ons_stage_maker *m, ons_part part) {
    for (uint32_t i = 0; i < m->cut->receive_count; ++i) {
        ons_value_id value = m->cut->receives[i].value;
        uint32_t last = m->last_reader[value];
        if (ons_stage_maker_part(m, m->first_reader[value]) == part)
            add_sync_point(m, m->first_reader[value], ONS_SYNC_AWAIT, i);
        if (ons_stage_maker_part(m, last) == part)
            add_sync_point(m, larger(last + 1, left_at(m, value)), ONS_SYNC_RELEASE, i);
    }
}

static void add_message_ends(ons_stage_maker *m, ons_part part) {
    for (uint32_t i = 0; i < m->cut->send_count; ++i)
        if (m->cut->sends[i].part == part) add_sync_point(m, sent_at(m, i), ONS_SYNC_SEND, i);
    if (m->r->last_part != NULL)
        add_unordered_ends(m, part);
    else
        add_receives(m, part);
}

typedef struct extent {
    int64_t first, end;
} extent;

static extent extent_of(const ons_program *program, ons_buffer_id buffer) {
    int64_t offset = ons_program_layout(program)->offsets[buffer];
    return (extent){offset, offset + ons_arena_align(ons_program_liveness(program)->buffers[buffer].bytes)};
}

/* Whether a node puts something into the buffer; what views make lies in it without being written. */
static bool writes(const ons_stage_maker *m, ons_node_id id, ons_buffer_id buffer) {
    const ons_liveness *l = ons_program_liveness(m->r->program);
    const ons_node *node = ons_graph_node(m->graph, id);
    bool found = false;
    for (uint32_t i = 0; i < node->output_count; ++i)
        found = found || (node->outputs[i] != ONS_NONE && l->buffer_of_value[node->outputs[i]] == buffer);
    return found && !ons_is_view(node->op);
}

/* Where in the forward part something is first put over a value that is on its way to the host. */
static uint32_t taken_again(const ons_stage_maker *m, const ons_cut_swap *swap) {
    const ons_liveness *l = ons_program_liveness(m->r->program);
    ons_buffer_id buffer = l->buffer_of_value[swap->value];
    uint32_t begin = ons_stage_maker_copy_begin(m, swap), end = m->cut->end[ons_stage_maker_part(m, swap->out_after)],
             position = ONS_NO_POSITION;
    if (m->rings[swap->value] > 0) return position; /* its place is given back when it is gone */
    extent own = extent_of(m->r->program, buffer);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        if (l->buffers[i].persistent || l->buffers[i].first < begin || l->buffers[i].first >= end) continue;
        extent other = extent_of(m->r->program, i);
        if (other.end > own.first && other.first < own.end) position = smaller(position, l->buffers[i].first);
    }
    for (ons_node_id id = begin; id < end && id < position; ++id)
        if (writes(m, id, buffer)) position = id;
    return position;
}

static void add_copies(ons_stage_maker *m, ons_part part) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        const ons_cut_swap *swap = &m->cut->swaps[i];
        if (part == ons_stage_maker_part(m, swap->out_after)) {
            uint32_t taken = taken_again(m, swap);
            add_sync_point(m, ons_stage_maker_copy_begin(m, swap), ONS_SYNC_OUT, i);
            if (taken != ONS_NO_POSITION) add_sync_point(m, taken, ONS_SYNC_GONE, i);
        }
        uint32_t reader = m->first_reader[swap->back];
        if (part == ons_stage_maker_part(m, swap->in_before)) add_sync_point(m, swap->in_before, ONS_SYNC_IN, i);
        if (part == ons_stage_maker_part(m, reader)) add_sync_point(m, reader, ONS_SYNC_BACK, i);
    }
}

ons_status *ons_stage_maker_place_sync_points(ons_stage_maker *m) {
    ONS_TRY(find_ends(m));
    size_t each = m->r->last_part != NULL ? m->parts : 1;
    size_t most = m->cut->send_count + 2 * each * m->cut->receive_count + 4 * (size_t)m->cut->swap_count;
    ONS_NEW(m->r->sync_points, m->r->arena, most + 1);
    ONS_NEW(m->r->sync_point_end, m->r->arena, m->parts);
    for (ons_part part = ONS_PART_BEGIN; part < m->parts; ++part) {
        uint32_t first = m->sync_point_count;
        add_message_ends(m, part);
        add_copies(m, part);
        close_part(m, part, first);
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- hazards */

static void note_conflict(const ons_stage_maker *m, ons_hazard *d, uint32_t position) {
    uint32_t *conflict = &d->conflict[ons_stage_maker_part(m, position)];
    *conflict = smaller(*conflict, position);
    d->conflicts = true;
}

/* Where in each part something is first put over what lies in `buffer`. */
static void find_conflicts(const ons_stage_maker *m, ons_buffer_id buffer, ons_hazard *d) {
    const ons_program *program = m->r->program;
    const ons_liveness *l = ons_program_liveness(program);
    const ons_arena_layout *layout = ons_program_layout(program);
    extent own = extent_of(program, buffer);
    const ons_slot_group *group = ons_arena_layout_group(layout, own.first);
    d->slots = group != NULL ? group->slots : 0;
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        if (l->buffers[i].persistent || layout->offsets[i] < 0) continue; /* itself, too: the next micro-batch's data */
        extent other = extent_of(program, i);
        if (other.end <= own.first || other.first >= own.end) continue;
        note_conflict(m, d, l->buffers[i].first);
    }
    /* What takes its place in the same buffer, and the next micro-batch's own. */
    for (ons_node_id id = 0; id < m->graph->nodes.count; ++id)
        if (writes(m, id, buffer)) note_conflict(m, d, id);
}

ons_status *ons_stage_maker_find_hazards(ons_stage_maker *m) {
    uint32_t sends = m->cut->send_count, swaps = m->cut->swap_count;
    ONS_NEW(m->r->hazards, m->r->arena, (size_t)sends + swaps + 1);
    const ons_liveness *l = ons_program_liveness(m->r->program);
    for (uint32_t i = 0; i < sends + swaps; ++i) {
        ons_value_id value = i < sends ? m->cut->sends[i].value : m->cut->swaps[i - sends].value;
        ons_hazard *d = &m->r->hazards[i];
        ONS_NEW(d->conflict, m->r->arena, m->parts);
        for (ons_part part = ONS_PART_BEGIN; part < m->parts; ++part) d->conflict[part] = ONS_NO_POSITION;
        /* Persistent places are written again in the next step at the earliest; rings have their own rule. */
        ons_buffer_id buffer = l->buffer_of_value[value];
        if (!ons_is_persistent(ons_graph_value(m->graph, value)) && m->rings[value] == 0) find_conflicts(m, buffer, d);
    }
    return NULL;
}

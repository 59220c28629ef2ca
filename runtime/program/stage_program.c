#include "runtime/program/stage_program.h"

#include <stdlib.h>
#include <string.h>

#include "graph/sharing.h"
#include "planner/schedule/places.h"
#include "runtime/program/halves_align.h"
#include "runtime/program/part_readers.h"

typedef struct maker {
    const ons_stage_program_options *o;
    const ons_cut_stage *cut;
    const ons_graph *graph;
    ons_stage_program *r;
    const ons_schedule *schedule; /* of as many micro-batches as go in one go; NULL: see the options */
    ons_device_places places;
    uint32_t chunks, parts;
    uint32_t micro_batches;               /* of the device, at most, in one go */
    uint32_t *first_reader, *last_reader; /* of each value: positions; views count as their source */
    uint32_t *arrives, *stays, *rings;    /* of each value: see ons_program_options */
    ons_part_readers *part_readers; /* of each receive, where the list decides which part reads it first and last */
    uint32_t sync_point_count;
} maker;

static uint32_t part_begin(const maker *m, ons_part part) { return part == ONS_PART_BEGIN ? 0 : m->cut->end[part - 1]; }

static ons_part part_of(const maker *m, uint32_t position) {
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(m->chunks) && position >= m->cut->end[part]) ++part;
    return part;
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* What comes, is copied to the host and is read after it came back only: the copy reads it. */
static void find_copies(maker *m) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        ons_value_id value = m->cut->swaps[i].value;
        if (m->first_reader[value] != ONS_NO_POSITION || ons_graph_value(m->graph, value)->producer != ONS_NONE)
            continue;
        m->first_reader[value] = m->last_reader[value] = m->cut->swaps[i].out_after;
    }
}

/* The nodes of a stage stand in the order in which they run, so ids are positions. */
static void find_readers(maker *m) {
    for (ons_value_id id = 0; id < m->graph->values.count; ++id) m->first_reader[id] = ONS_NO_POSITION;
    for (ons_node_id id = (ons_node_id)m->graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(m->graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            m->first_reader[node->inputs[i]] = id;
            m->last_reader[node->inputs[i]] = larger(m->last_reader[node->inputs[i]], id);
        }
        for (const ons_alias *alias = node->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
            if (alias->kind == ONS_ALIAS_VIEW && node->outputs[alias->output] != ONS_NONE) {
                uint32_t *last = &m->last_reader[node->inputs[alias->input]];
                *last = larger(*last, m->last_reader[node->outputs[alias->output]]);
            }
    }
}

static bool is_persistent(const ons_value *value) {
    return value->kind == ONS_PARAMETER || value->kind == ONS_CONSTANT || value->kind == ONS_STATE ||
           value->kind == ONS_BUFFER;
}

/* Micro-batches that hold something from one part to another. */
static uint32_t held_between(const maker *m, ons_part from, ons_part to) {
    if (to >= ons_part_last(m->chunks)) to = ons_part_last(m->chunks) - 1;
    if (from >= to || m->schedule == NULL) return 1;
    return larger(1, m->places.of[from * m->parts + to]);
}

/* How many places a message is received into: one for each micro-batch that needs it at once, and those that the sender
 * may be ahead, so that it does not wait for this device's computations. */
static uint32_t ring_of(const maker *m, const ons_cut_transfer *t) {
    if (t->kind == ONS_PART_END || m->schedule == NULL) return 1;
    uint32_t held = held_between(m, t->part, part_of(m, m->last_reader[t->value]));
    return larger(1, smaller(held + ons_schedule_room(m->schedule, t->from, t->to), m->micro_batches));
}

/* From where on a value may be copied to the host: what comes from another stage, once its first reader has waited for
 * it. */
static uint32_t copy_begin(const maker *m, const ons_cut_swap *swap) {
    uint32_t begin = swap->out_after + 1;
    return m->rings[swap->value] > 0 ? larger(begin, m->first_reader[swap->value] + 1) : begin;
}

static ons_status *find_lifetimes(maker *m) {
    ons_arena *arena = m->r->arena;
    size_t values = ons_halves_value_count(m->cut, m->o->half) + 1;
    ONS_NEW(m->first_reader, arena, values);
    ONS_NEW(m->last_reader, arena, values);
    ONS_NEW(m->arrives, arena, values);
    ONS_NEW(m->stays, arena, values);
    ONS_NEW(m->rings, arena, values);
    ONS_NEW(m->r->rings, arena, m->cut->receive_count + 1);
    m->r->arrives = m->arrives;
    find_readers(m);
    find_copies(m);
    for (ons_value_id id = 0; id < m->graph->values.count; ++id) /* data is put in when the part begins */
        if (m->first_reader[id] != ONS_NO_POSITION) m->arrives[id] = part_begin(m, part_of(m, m->first_reader[id]));
    for (uint32_t i = 0; i < m->cut->receive_count; ++i) {
        const ons_cut_transfer *t = &m->cut->receives[i];
        ONS_CHECK(m->first_reader[t->value] != ONS_NO_POSITION, ONS_DEFECT, "'%s' is received and not read",
                  ons_graph_value(m->graph, t->value)->name);
        m->r->rings[i] = m->rings[t->value] = ring_of(m, t);
    }
    for (uint32_t i = 0; i < m->cut->send_count; ++i) { /* beyond the beginning of the part, also of an empty one */
        const ons_cut_transfer *t = &m->cut->sends[i];
        uint32_t end = larger(m->cut->end[t->part], t->kind == ONS_PART_FORWARD ? 0 : part_begin(m, t->part) + 1);
        m->stays[t->value] = larger(m->stays[t->value], end);
    }
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        const ons_cut_swap *swap = &m->cut->swaps[i];
        m->arrives[swap->back] = swap->in_before;
        uint32_t end = m->cut->end[part_of(m, swap->out_after)];
        uint32_t begin = copy_begin(m, swap); /* the node before may not take it */
        uint32_t until = swap->gone_before < end ? larger(swap->gone_before - 1, begin) : end;
        m->stays[swap->value] = larger(m->stays[swap->value], until);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ sync points */

static void add_sync_point(maker *m, uint32_t position, ons_sync_kind kind, uint32_t index) {
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
static void close_part(maker *m, ons_part part, uint32_t first) {
    qsort(m->r->sync_points + first, m->sync_point_count - first, sizeof *m->r->sync_points, compare_sync_points);
    m->r->sync_point_end[part] = m->sync_point_count;
}

/* A value that came and is copied to the host is not free before that has begun. */
static uint32_t left_at(const maker *m, ons_value_id value) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i)
        if (m->cut->swaps[i].value == value) return copy_begin(m, &m->cut->swaps[i]);
    return 0;
}

/* Where a value can be sent. */
static uint32_t made_at(const maker *m, const ons_cut_transfer *t) {
    ons_node_id node = ons_graph_value(m->graph, t->value)->producer;
    bool here = node != ONS_NONE && part_of(m, node) == t->part;
    return here ? node + 1 : part_begin(m, t->part);
}

/* Where it is sent: behind those that the other end expects before it. */
static uint32_t sent_at(const maker *m, uint32_t send) {
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
static void find_end_parts(maker *m, uint32_t receive, const ons_part_readers *r) {
    uint32_t count = m->r->micro_batches;
    ons_value_id value = m->cut->receives[receive].value;
    ons_part *first = &m->r->first_part[(size_t)receive * count], *last = &m->r->last_part[(size_t)receive * count];
    for (uint32_t i = 0; i < count; ++i) {
        first[i] = part_of(m, m->first_reader[value]);
        last[i] = part_of(m, m->last_reader[value]);
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

static void add_unordered_ends(maker *m, ons_part part) {
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
static ons_status *find_ends(maker *m) {
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

static void add_receives(maker *m, ons_part part) {
    for (uint32_t i = 0; i < m->cut->receive_count; ++i) {
        ons_value_id value = m->cut->receives[i].value;
        uint32_t last = m->last_reader[value];
        if (part_of(m, m->first_reader[value]) == part) add_sync_point(m, m->first_reader[value], ONS_SYNC_AWAIT, i);
        if (part_of(m, last) == part) add_sync_point(m, larger(last + 1, left_at(m, value)), ONS_SYNC_RELEASE, i);
    }
}

static void add_message_ends(maker *m, ons_part part) {
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
static bool writes(const maker *m, ons_node_id id, ons_buffer_id buffer) {
    const ons_liveness *l = ons_program_liveness(m->r->program);
    const ons_node *node = ons_graph_node(m->graph, id);
    bool found = false;
    for (uint32_t i = 0; i < node->output_count; ++i)
        found = found || (node->outputs[i] != ONS_NONE && l->buffer_of_value[node->outputs[i]] == buffer);
    return found && !ons_is_view(node->op);
}

/* Where in the forward part something is first put over a value that is on its way to the host. */
static uint32_t taken_again(const maker *m, const ons_cut_swap *swap) {
    const ons_liveness *l = ons_program_liveness(m->r->program);
    ons_buffer_id buffer = l->buffer_of_value[swap->value];
    uint32_t begin = copy_begin(m, swap), end = m->cut->end[part_of(m, swap->out_after)], position = ONS_NO_POSITION;
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

static void add_copies(maker *m, ons_part part) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        const ons_cut_swap *swap = &m->cut->swaps[i];
        if (part == part_of(m, swap->out_after)) {
            uint32_t taken = taken_again(m, swap);
            add_sync_point(m, copy_begin(m, swap), ONS_SYNC_OUT, i);
            if (taken != ONS_NO_POSITION) add_sync_point(m, taken, ONS_SYNC_GONE, i);
        }
        uint32_t reader = m->first_reader[swap->back];
        if (part == part_of(m, swap->in_before)) add_sync_point(m, swap->in_before, ONS_SYNC_IN, i);
        if (part == part_of(m, reader)) add_sync_point(m, reader, ONS_SYNC_BACK, i);
    }
}

static ons_status *place_sync_points(maker *m) {
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

static void note_conflict(const maker *m, ons_hazard *d, uint32_t position) {
    uint32_t *conflict = &d->conflict[part_of(m, position)];
    *conflict = smaller(*conflict, position);
    d->conflicts = true;
}

/* Where in each part something is first put over what lies in `buffer`. */
static void find_conflicts(const maker *m, ons_buffer_id buffer, ons_hazard *d) {
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

static ons_status *find_hazards(maker *m) {
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
        if (!is_persistent(ons_graph_value(m->graph, value)) && m->rings[value] == 0) find_conflicts(m, buffer, d);
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- program */

bool ons_stage_program_applies(const ons_stage_program *stage, const ons_sync_point *sync_point, ons_part part,
                               uint32_t micro_batch) {
    if (stage->last_part == NULL || micro_batch >= stage->micro_batches) return true;
    if (sync_point->kind != ONS_SYNC_RELEASE && sync_point->kind != ONS_SYNC_AWAIT) return true;
    const ons_part *parts = sync_point->kind == ONS_SYNC_RELEASE ? stage->last_part : stage->first_part;
    return parts[(size_t)sync_point->index * stage->micro_batches + micro_batch] == part;
}

bool ons_stage_program_loads(const ons_stage_program *stage, ons_value_id input, ons_part part) {
    const uint32_t *end = stage->cut->end;
    return stage->arrives[input] == end[part - 1] && end[part] > end[part - 1]; /* an empty part begins there, too */
}

int64_t ons_stage_program_bytes(const ons_stage_program *stage, ons_value_id value) {
    const ons_liveness *l = ons_program_liveness(stage->program);
    return l->buffers[l->buffer_of_value[value]].bytes;
}

int64_t ons_stage_program_piece_bytes(const ons_stage_program *stage, ons_value_id value, ons_piece piece) {
    return piece == ONS_ALL_SAMPLES ? ons_stage_program_bytes(stage, value)
                                    : stage->halves->bytes[piece - ONS_FIRST_HALF][value];
}

static ons_program_options program_options(const maker *m) {
    return (ons_program_options){
        .repeats = m->o->repeats,
        .kept = m->o->kept,
        .kept_count = m->o->kept_count,
        .idle = m->o->idle,
        .idle_count = m->o->idle_count,
        .scratch_limit = m->o->scratch_limit,
        .end = m->cut->end,
        .chunks = m->chunks,
        .places = m->places.of,
        .unordered = m->schedule != NULL && !m->places.ordered,
        .micro_batches = m->micro_batches,
        .versions = m->o->versions,
        .arrives = m->arrives,
        .stays = m->stays,
        .rings = m->rings,
        .joined = m->o->joined,
        .shard = m->o->shard,
    };
}

static ons_status *find_halves(maker *m, uint32_t **scratch_stays) {
    const ons_halves_options options = {
        .whole = m->cut,
        .half = {m->o->half[0], m->o->half[1]},
        .registry = m->o->registry,
        .rows = {m->o->half_rows[0], m->o->half_rows[1]},
        .kept = m->o->kept,
        .kept_count = m->o->kept_count,
    };
    ONS_NEW(m->r->halves, m->r->arena, 1);
    ONS_TRY(ons_halves_find(&options, m->r->arena, m->r->halves));
    return ons_halves_keep(m->r->halves, m->cut, m->r->arena, m->stays, scratch_stays);
}

/* The halves first, whose scratch memory the whole micro-batch's program has room for. */
static ons_status *add_with_halves(ons_device_context *device_context, maker *m, ons_program_options *options) {
    uint32_t *scratch_stays;
    int64_t *part_bytes, most = 0;
    ONS_TRY(find_halves(m, &scratch_stays));
    ONS_NEW(part_bytes, m->r->arena, m->parts);
    options->halves = m->r->halves;
    for (options->half = 0; options->half < 2; ++options->half) {
        ons_program **half = &m->r->half[options->half];
        ONS_TRY(ons_device_context_add(device_context, m->o->half[options->half]->graph, options, half));
        most = ons_program_layout(*half)->bytes > most ? ons_program_layout(*half)->bytes : most;
    }
    for (ons_part part = ONS_PART_FORWARD; part <= m->chunks; ++part) part_bytes[part] = most;
    options->halves = NULL;
    options->part_bytes = part_bytes;
    options->scratch_stays = scratch_stays;
    ONS_TRY(ons_device_context_add(device_context, m->graph, options, &m->r->program));
    for (int i = 0; i < 2; ++i) ons_program_set_whole(m->r->half[i], m->r->program);
    return NULL;
}

static ons_status *make(ons_device_context *device_context, maker *m) {
    for (int i = 0; i < 2; ++i)
        if (m->o->half[i] != NULL) ONS_TRY(ons_halves_align(m->cut, m->o->half[i]));
    ONS_TRY(find_lifetimes(m));
    ons_program_options options = program_options(m);
    ONS_TRY(m->o->half[0] != NULL ? add_with_halves(device_context, m, &options)
                                  : ons_device_context_add(device_context, m->graph, &options, &m->r->program));
    ONS_TRY(place_sync_points(m));
    for (uint32_t i = 0; i < m->cut->swap_count; ++i)
        m->r->swapped_bytes += ons_arena_align(ons_stage_program_bytes(m->r, m->cut->swaps[i].value));
    return find_hazards(m);
}

/* With fewer micro-batches than the step has, less waits. */
static ons_status *find_places(maker *m) {
    const ons_schedule *whole = m->o->schedule;
    ons_schedule *shorter;
    m->r->slots = 1;
    m->micro_batches = m->o->micro_batches;
    if (whole == NULL) return NULL;
    uint32_t own = ons_schedule_copy_micro_batches(whole, m->cut->stages[0]);
    /* Lists of copies are not made shorter for all of them alike; but one micro-batch waits for none. */
    if (whole->groupings != NULL && m->o->micro_batches == 1 && own > 1) return NULL;
    ONS_NEW(shorter, m->r->arena, 1);
    m->schedule = whole;
    if (m->o->micro_batches < own) {
        ONS_TRY(ons_schedule_shorten(whole, m->o->micro_batches, m->r->arena, shorter));
        m->schedule = shorter;
    }
    ONS_TRY(ons_schedule_places(m->schedule, m->o->device, m->r->arena, &m->places));
    ONS_CHECK(m->places.chunks == m->chunks, ONS_DEFECT, "a device of %u stages in the schedule has %u in the cut",
              m->places.chunks, m->chunks);
    m->micro_batches = smaller(m->micro_batches, m->places.micro_batches);
    for (uint32_t i = 0; i < m->parts * m->parts; ++i) m->r->slots = larger(m->r->slots, m->places.of[i]);
    return NULL;
}

static ons_status *list_forward_parts(ons_stage_program *r) {
    ONS_NEW(r->forward.items, r->arena, r->cut->chunks);
    for (uint32_t i = 0; i < r->cut->chunks; ++i)
        r->forward.items[r->forward.count++] = (ons_action){.kind = ONS_ACTION_FORWARD, .stage = r->cut->stages[i]};
    return NULL;
}

ons_status *ons_stage_program_make(ons_device_context *device_context, const ons_stage_program_options *options,
                                   ons_stage_program *result) {
    *result = (ons_stage_program){.arena = ons_arena_new(), .cut = options->cut, .shard = options->shard};
    if (result->arena == NULL) return ons_status_out_of_memory();
    result->versions = larger(1, options->versions);
    maker m = {.o = options,
               .cut = options->cut,
               .graph = options->cut->graph,
               .r = result,
               .chunks = options->cut->chunks,
               .parts = ons_part_count(options->cut->chunks)};
    ons_status *status = find_places(&m);
    if (status == NULL) status = list_forward_parts(result);
    if (status == NULL) status = make(device_context, &m);
    if (status != NULL) ons_stage_program_free(result);
    return status;
}

void ons_stage_program_free(ons_stage_program *stage) {
    ons_arena_free(stage->arena);
    *stage = (ons_stage_program){0};
}

static bool is_last_update(const ons_action_list *list, uint32_t i) {
    while (++i < list->count)
        if (list->items[i].kind == ONS_ACTION_UPDATE) return false;
    return true;
}

bool ons_stage_program_part(const ons_stage_program *s, const ons_action_list *list, uint32_t i, bool asynchronous,
                            ons_part *part) {
    static const ons_part_kind kinds[ONS_ACTION_COUNT] = {[ONS_ACTION_FORWARD] = ONS_PART_FORWARD,
                                                          [ONS_ACTION_BACKWARD] = ONS_PART_BACKWARD,
                                                          [ONS_ACTION_INPUT_GRADIENT] = ONS_PART_BACKWARD,
                                                          [ONS_ACTION_WEIGHT_GRADIENT] = ONS_PART_WEIGHT,
                                                          [ONS_ACTION_UPDATE] = ONS_PART_END};
    const ons_action *a = &list->items[i];
    uint32_t chunk = ons_cut_chunk(s->cut, a->stage);
    if (kinds[a->kind] == ONS_PART_BEGIN || chunk == s->cut->chunks) return false;
    *part = ons_part_of(s->cut->chunks, kinds[a->kind], chunk);
    return a->kind != ONS_ACTION_UPDATE || asynchronous || is_last_update(list, i);
}

ons_turn ons_stage_program_turn(const ons_stage_program *s, ons_part_kind kind, uint32_t micro_batch,
                                uint32_t version) {
    uint32_t newest = version + micro_batch;
    uint32_t behind = micro_batch < s->versions ? micro_batch : s->versions - 1;
    return (ons_turn){
        .micro_batch = micro_batch,
        .version = (kind == ONS_PART_END ? newest : newest - behind) % s->versions,
        .fresh_version = (newest + 1) % s->versions,
    };
}

#include "runtime/program/stage_program.h"

#include "runtime/program/halves_align.h"
#include "runtime/program/stage_maker.h"

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* What comes, is copied to the host and is read after it came back only: the copy reads it. */
static void find_copies(ons_stage_maker *m) {
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        ons_value_id value = m->cut->swaps[i].value;
        if (m->first_reader[value] != ONS_NO_POSITION || ons_graph_value(m->graph, value)->producer != ONS_NONE)
            continue;
        m->first_reader[value] = m->last_reader[value] = m->cut->swaps[i].out_after;
    }
}

/* The nodes of a stage stand in the order in which they run, so ids are positions. */
static void find_readers(ons_stage_maker *m) {
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

/* Micro-batches that hold something from one part to another. */
static uint32_t held_between(const ons_stage_maker *m, ons_part from, ons_part to) {
    if (to >= ons_part_last(m->chunks)) to = ons_part_last(m->chunks) - 1;
    if (from >= to || m->schedule == NULL) return 1;
    return larger(1, m->places.of[from * m->parts + to]);
}

/* How many places a message is received into: one for each micro-batch that needs it at once, and those that the sender
 * may be ahead, so that it does not wait for this device's computations. */
static uint32_t ring_of(const ons_stage_maker *m, const ons_cut_transfer *t) {
    if (t->kind == ONS_PART_END || m->schedule == NULL) return 1;
    uint32_t held = held_between(m, t->part, ons_stage_maker_part(m, m->last_reader[t->value]));
    return larger(1, smaller(held + ons_schedule_room(m->schedule, t->from, t->to), m->micro_batches));
}

static ons_status *find_lifetimes(ons_stage_maker *m) {
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
        if (m->first_reader[id] != ONS_NO_POSITION)
            m->arrives[id] = ons_stage_maker_begin(m, ons_stage_maker_part(m, m->first_reader[id]));
    for (uint32_t i = 0; i < m->cut->receive_count; ++i) {
        const ons_cut_transfer *t = &m->cut->receives[i];
        ONS_CHECK(m->first_reader[t->value] != ONS_NO_POSITION, ONS_DEFECT, "'%s' is received and not read",
                  ons_graph_value(m->graph, t->value)->name);
        m->r->rings[i] = m->rings[t->value] = ring_of(m, t);
    }
    for (uint32_t i = 0; i < m->cut->send_count; ++i) { /* beyond the beginning of the part, also of an empty one */
        const ons_cut_transfer *t = &m->cut->sends[i];
        uint32_t end =
            larger(m->cut->end[t->part], t->kind == ONS_PART_FORWARD ? 0 : ons_stage_maker_begin(m, t->part) + 1);
        m->stays[t->value] = larger(m->stays[t->value], end);
    }
    for (uint32_t i = 0; i < m->cut->swap_count; ++i) {
        const ons_cut_swap *swap = &m->cut->swaps[i];
        m->arrives[swap->back] = swap->in_before;
        uint32_t end = m->cut->end[ons_stage_maker_part(m, swap->out_after)];
        uint32_t begin = ons_stage_maker_copy_begin(m, swap); /* the node before may not take it */
        uint32_t until = swap->gone_before < end ? larger(swap->gone_before - 1, begin) : end;
        m->stays[swap->value] = larger(m->stays[swap->value], until);
    }
    return NULL;
}

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

int64_t ons_stage_program_half_bytes(const ons_stage_program *stage, ons_value_id value, ons_sample_half sample_half) {
    return sample_half == ONS_ALL_SAMPLES ? ons_stage_program_bytes(stage, value)
                                          : stage->halves->bytes[sample_half - ONS_FIRST_HALF][value];
}

static ons_program_options program_options(const ons_stage_maker *m) {
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

static ons_status *find_halves(ons_stage_maker *m, uint32_t **scratch_stays) {
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
static ons_status *add_with_halves(ons_device_context *device_context, ons_stage_maker *m,
                                   ons_program_options *options) {
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

static ons_status *make(ons_device_context *device_context, ons_stage_maker *m) {
    for (int i = 0; i < 2; ++i)
        if (m->o->half[i] != NULL) ONS_TRY(ons_halves_align(m->cut, m->o->half[i]));
    ONS_TRY(find_lifetimes(m));
    ons_program_options options = program_options(m);
    ONS_TRY(m->o->half[0] != NULL ? add_with_halves(device_context, m, &options)
                                  : ons_device_context_add(device_context, m->graph, &options, &m->r->program));
    ONS_TRY(ons_stage_maker_place_sync_points(m));
    for (uint32_t i = 0; i < m->cut->swap_count; ++i)
        m->r->swapped_bytes += ons_arena_align(ons_stage_program_bytes(m->r, m->cut->swaps[i].value));
    return ons_stage_maker_find_hazards(m);
}

/* With fewer micro-batches than the step has, less waits. */
static ons_status *find_places(ons_stage_maker *m) {
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
    ons_stage_maker m = {.o = options,
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

ons_part_place ons_stage_program_place(const ons_stage_program *s, ons_part_kind kind, uint32_t micro_batch,
                                       uint32_t version) {
    uint32_t newest = version + micro_batch;
    uint32_t behind = micro_batch < s->versions ? micro_batch : s->versions - 1;
    return (ons_part_place){
        .micro_batch = micro_batch,
        .version = (kind == ONS_PART_END ? newest : newest - behind) % s->versions,
        .fresh_version = (newest + 1) % s->versions,
    };
}

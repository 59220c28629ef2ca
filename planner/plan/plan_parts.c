/* The pieces, copies, links and ties of a plan, as the simulator runs them (planner/plan/plan_replay.h). */
#include <string.h>

#include "planner/plan/plan_json.h"

/* ---------------------------------------------------------------------------------------------------------- writing */

static ons_status *write_pieces(ons_json *parts, const char *name, const ons_stage_piece *pieces, uint32_t count,
                                bool divisible) {
    ons_json *array, *o;
    ONS_TRY(ons_plan_add_array(parts, name, &array));
    for (uint32_t i = 0; i < count; ++i) {
        const ons_stage_piece *p = &pieces[i];
        ONS_TRY(ons_plan_append_object(array, &o));
        ONS_TRY(ons_plan_set_text(o, "action", ons_action_name(p->kind)));
        ONS_TRY(ons_json_set_double(o, "seconds", p->seconds));
        ONS_TRY(ons_plan_set_int(o, "needs_bytes", p->start_bytes));
        ONS_TRY(ons_plan_set_int(o, "frees_bytes", -p->end_bytes));
        if (!divisible || p->kind == ONS_ACTION_FORWARD) continue;
        ONS_TRY(ons_json_set_double(o, "weight_gradient_seconds", p->weight_seconds));
        ONS_TRY(ons_plan_set_int(o, "apart_needs_bytes", p->kept_start_bytes));
        ONS_TRY(ons_plan_set_int(o, "apart_frees_bytes", p->freed_bytes));
    }
    return NULL;
}

/* "gone" of a copy whose memory the plan counts on: piece and how many forward parts later. */
static ons_status *write_gone(ons_json *o, const ons_stage_copy *c) {
    if (c->gone_forward == ONS_NO_NODE && c->gone_backward == ONS_NO_NODE) return NULL;
    bool forward = c->gone_forward != ONS_NO_NODE;
    ONS_TRY(ons_plan_set_int(o, forward ? "gone_in_forward" : "gone_in_backward",
                             forward ? c->gone_forward : c->gone_backward));
    return ons_plan_set_int(o, "gone_later", c->gone_later);
}

static ons_status *write_copies(ons_json *parts, const ons_stage_tasks *t) {
    ons_json *array, *o;
    ONS_TRY(ons_plan_add_array(parts, "copies", &array));
    for (uint32_t i = 0; i < t->copy_count; ++i) {
        const ons_stage_copy *c = &t->copies[i];
        ONS_TRY(ons_plan_append_object(array, &o));
        ONS_TRY(ons_plan_set_text(o, "tensor", c->name));
        ONS_TRY(ons_plan_set_int(o, "bytes", c->bytes));
        ONS_TRY(ons_json_set_double(o, "seconds", c->seconds));
        ONS_TRY(ons_plan_set_int(o, "out_after", c->out_after));
        ONS_TRY(ons_plan_set_int(o, "used_by", c->used_by));
        ONS_TRY(ons_plan_set_int(o, "in_before", c->in_before));
        ONS_TRY(ons_plan_set_int(o, "needed_by", c->needed_by));
        ONS_TRY(write_gone(o, c));
    }
    return NULL;
}

ons_status *ons_plan_write_parts(ons_json *stage, const ons_stage_tasks *t) {
    ons_json *o;
    ONS_TRY(ons_plan_add_object(stage, "parts", &o));
    ONS_TRY(write_pieces(o, "forward", t->forward, t->forward_count, t->divisible));
    ONS_TRY(write_pieces(o, "backward", t->backward, t->backward_count, t->divisible));
    return write_copies(o, t);
}

static ons_status *write_network(ons_json *costs, const ons_plan *plan) {
    if (plan->node_devices == 0) return NULL;
    ONS_TRY(ons_plan_set_int(costs, "node_devices", plan->node_devices));
    ONS_TRY(ons_json_set_double(costs, "network_bandwidth", plan->network_bandwidth));
    ONS_TRY(ons_json_set_double(costs, "network_latency", plan->network_latency));
    return plan->network_eager_bytes == 0 ? NULL
                                          : ons_plan_set_int(costs, "network_eager_bytes", plan->network_eager_bytes);
}

/* Where the receiver's micro-batches are of another size. */
static ons_status *write_taken(ons_json *o, const ons_stage_link *link) {
    if (link->taken_bytes != link->bytes) ONS_TRY(ons_plan_set_int(o, "taken_bytes", link->taken_bytes));
    if (link->taken_gradient_bytes != link->gradient_bytes)
        ONS_TRY(ons_plan_set_int(o, "taken_gradient_bytes", link->taken_gradient_bytes));
    return NULL;
}

/* The fields of one way over a link. */
typedef struct ends_fields {
    const char *made_by, *early_seconds, *early_weight_seconds, *read_by;
} ends_fields;

static const ends_fields activation_fields = {"made_by", "made_early_seconds", NULL, "read_by"};
static const ends_fields gradient_fields = {"gradient_made_by", "gradient_made_early_seconds",
                                            "gradient_made_early_weight_seconds", "gradient_read_by"};

/* What is left out: made at the end of the part, read at the beginning. */
static ons_status *write_ends(ons_json *o, const ends_fields *f, const ons_message_ends *ends, uint32_t made_pieces) {
    if (ends->made_by + 1 < made_pieces) ONS_TRY(ons_plan_set_int(o, f->made_by, ends->made_by));
    if (ends->early_seconds > 0) ONS_TRY(ons_json_set_double(o, f->early_seconds, ends->early_seconds));
    if (f->early_weight_seconds != NULL && ends->early_weight_seconds > 0)
        ONS_TRY(ons_json_set_double(o, f->early_weight_seconds, ends->early_weight_seconds));
    return ends->read_by > 0 ? ons_plan_set_int(o, f->read_by, ends->read_by) : NULL;
}

static ons_status *write_link(ons_json *o, const ons_pipeline_parts *parts, const ons_stage_link *link) {
    ONS_TRY(ons_plan_set_int(o, "from", link->from));
    ONS_TRY(ons_plan_set_int(o, "to", link->to));
    ONS_TRY(ons_plan_set_int(o, "bytes", link->bytes));
    if (link->gradient) ONS_TRY(ons_plan_set_int(o, "gradient_bytes", link->gradient_bytes));
    ONS_TRY(ons_plan_set_int(o, "freed_bytes", link->freed_bytes));
    ONS_TRY(write_taken(o, link));
    ONS_TRY(write_ends(o, &activation_fields, &link->ends, parts->stages[link->from].forward_count));
    if (!link->gradient) return NULL;
    return write_ends(o, &gradient_fields, &link->gradient_ends, parts->stages[link->to].backward_count);
}

ons_status *ons_plan_write_links(ons_json *costs, const ons_plan *plan) {
    ons_json *links, *ties, *o;
    ONS_TRY(ons_json_set_double(costs, "link_bandwidth", plan->link_bandwidth));
    ONS_TRY(ons_json_set_double(costs, "link_latency", plan->link_latency));
    if (plan->link_eager_bytes > 0) ONS_TRY(ons_plan_set_int(costs, "link_eager_bytes", plan->link_eager_bytes));
    ONS_TRY(write_network(costs, plan));
    ONS_TRY(ons_plan_add_array(costs, "links", &links));
    for (uint32_t i = 0; i < plan->parts.link_count; ++i) {
        ONS_TRY(ons_plan_append_object(links, &o));
        ONS_TRY(write_link(o, &plan->parts, &plan->parts.links[i]));
    }
    ONS_TRY(ons_plan_add_array(costs, "ties", &ties));
    for (uint32_t i = 0; i < plan->parts.tie_count; ++i) {
        ONS_TRY(ons_plan_append_object(ties, &o));
        ONS_TRY(ons_plan_set_int(o, "first", plan->parts.ties[i].first));
        ONS_TRY(ons_plan_set_int(o, "second", plan->parts.ties[i].second));
        ONS_TRY(ons_plan_set_int(o, "bytes", plan->parts.ties[i].bytes));
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* How many elements; for allocating. */
static uint32_t count_of(const ons_json *array) { return (uint32_t)cJSON_GetArraySize(array); }

static ons_status *get_index(const ons_json *o, const char *name, uint32_t low, uint32_t end, uint32_t *index) {
    int64_t value;
    ONS_TRY(ons_plan_get_whole(o, name, low, (int64_t)end - 1, &value));
    *index = (uint32_t)value;
    return NULL;
}

static ons_status *read_piece(const ons_json *o, bool forward, ons_stage_piece *piece) {
    static const ons_action_kind kinds[] = {ONS_ACTION_BACKWARD, ONS_ACTION_RECOMPUTE};
    const char *action;
    int64_t needs, frees;
    ONS_TRY(ons_json_get_text(o, "action", &action));
    piece->kind = ONS_ACTION_FORWARD;
    if (!forward) piece->kind = kinds[strcmp(action, ons_action_name(ONS_ACTION_RECOMPUTE)) == 0];
    ONS_CHECK(strcmp(action, ons_action_name(piece->kind)) == 0, ONS_INVALID_DATA, "'action' is '%s', not %s", action,
              forward ? "forward" : "backward or recompute");
    ONS_TRY(ons_plan_get_seconds(o, "seconds", &piece->seconds));
    ONS_TRY(ons_plan_get_bytes(o, "needs_bytes", &needs));
    ONS_TRY(ons_plan_get_bytes(o, "frees_bytes", &frees));
    piece->start_bytes = needs;
    piece->end_bytes = -frees;
    return NULL;
}

/* Plans of earlier versions do not say what of a backward piece is weight gradients. */
static ons_status *read_division(const ons_json *array, ons_stage_tasks *t) {
    uint32_t i = 0;
    for (const ons_json *o = array->child; o != NULL; o = o->next)
        t->divisible = t->divisible || ons_json_find(o, "weight_gradient_seconds") != NULL ||
                       ons_json_find(o, "apart_needs_bytes") != NULL || ons_json_find(o, "apart_frees_bytes") != NULL;
    for (const ons_json *o = array->child; t->divisible && o != NULL; o = o->next, ++i) {
        ons_stage_piece *p = &t->backward[i];
        ONS_TRY_AT(ons_plan_get_seconds(o, "weight_gradient_seconds", &p->weight_seconds), "backward[%u]", i);
        ONS_TRY_AT(ons_plan_get_bytes(o, "apart_needs_bytes", &p->kept_start_bytes), "backward[%u]", i);
        ONS_TRY_AT(ons_plan_get_bytes(o, "apart_frees_bytes", &p->freed_bytes), "backward[%u]", i);
        ONS_CHECK(p->weight_seconds <= p->seconds, ONS_INVALID_DATA,
                  "backward[%u]: 'weight_gradient_seconds' is more than 'seconds'", i);
    }
    return NULL;
}

static ons_status *read_pieces(const ons_json *parts, const char *name, bool forward, ons_arena *arena,
                               ons_stage_piece **pieces, uint32_t *count) {
    const ons_json *array;
    uint32_t i = 0;
    ONS_TRY(ons_json_get_array(parts, name, &array));
    *count = count_of(array);
    ONS_CHECK(*count > 0, ONS_INVALID_DATA, "'%s' is empty", name);
    ONS_NEW(*pieces, arena, *count);
    for (const ons_json *each = array->child; each != NULL; each = each->next, ++i)
        ONS_TRY_AT(read_piece(each, forward, &(*pieces)[i]), "%s[%u]", name, i);
    return NULL;
}

static ons_status *read_gone(const ons_json *o, const ons_stage_tasks *t, ons_stage_copy *c) {
    bool forward = ons_json_find(o, "gone_in_forward") != NULL, backward = ons_json_find(o, "gone_in_backward") != NULL;
    c->gone_forward = c->gone_backward = ONS_NO_NODE;
    ONS_CHECK(!(forward && backward), ONS_INVALID_DATA, "'gone_in_forward' and 'gone_in_backward' exclude each other");
    if (forward) ONS_TRY(get_index(o, "gone_in_forward", 0, t->forward_count, &c->gone_forward));
    if (backward) ONS_TRY(get_index(o, "gone_in_backward", 0, t->backward_count, &c->gone_backward));
    return forward || backward ? get_index(o, "gone_later", 0, UINT32_MAX, &c->gone_later) : NULL;
}

static ons_status *read_copy(const ons_json *o, const ons_stage_tasks *t, ons_arena *arena, ons_stage_copy *c) {
    ONS_TRY(ons_json_get_text(o, "tensor", &c->name));
    c->name = ons_arena_copy_text(arena, c->name);
    if (c->name == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_plan_get_bytes(o, "bytes", &c->bytes));
    ONS_TRY(ons_plan_get_seconds(o, "seconds", &c->seconds));
    ONS_TRY(get_index(o, "out_after", 0, t->forward_count, &c->out_after));
    ONS_TRY(get_index(o, "used_by", 0, t->forward_count, &c->used_by));
    ONS_TRY(get_index(o, "in_before", 0, t->backward_count, &c->in_before));
    ONS_TRY(get_index(o, "needed_by", c->in_before, t->backward_count, &c->needed_by));
    return read_gone(o, t, c);
}

ons_status *ons_plan_read_parts(const ons_json *stage, ons_arena *arena, ons_stage_tasks *t) {
    const ons_json *parts, *copies, *backward;
    uint32_t i = 0;
    ONS_TRY(ons_json_get_object(stage, "parts", &parts));
    ONS_TRY_AT(read_pieces(parts, "forward", true, arena, &t->forward, &t->forward_count), "parts");
    ONS_TRY_AT(read_pieces(parts, "backward", false, arena, &t->backward, &t->backward_count), "parts");
    ONS_TRY_AT(ons_json_get_array(parts, "backward", &backward), "parts");
    ONS_TRY_AT(read_division(backward, t), "parts");
    ONS_TRY_AT(ons_json_get_array(parts, "copies", &copies), "parts");
    t->copy_count = count_of(copies);
    ONS_NEW(t->copies, arena, (size_t)t->copy_count + 1);
    for (const ons_json *each = copies->child; each != NULL; each = each->next, ++i)
        ONS_TRY_AT(read_copy(each, t, arena, &t->copies[i]), "parts.copies[%u]", i);
    return ons_stage_tasks_sort(t, arena);
}

static ons_status *get_optional_seconds(const ons_json *o, const char *name, double *seconds) {
    return ons_json_find(o, name) == NULL ? NULL : ons_plan_get_seconds(o, name, seconds);
}

/* Plans of earlier versions do not say it, so that a message leaves at the end of a part and is due at the beginning.
 */
static ons_status *read_ends(const ons_json *o, const ends_fields *f, const ons_stage_piece *made, uint32_t made_count,
                             uint32_t read_count, ons_message_ends *ends) {
    ends->made_by = made_count - 1;
    if (ons_json_find(o, f->made_by) != NULL) ONS_TRY(get_index(o, f->made_by, 0, made_count, &ends->made_by));
    if (ons_json_find(o, f->read_by) != NULL) ONS_TRY(get_index(o, f->read_by, 0, read_count, &ends->read_by));
    ONS_TRY(get_optional_seconds(o, f->early_seconds, &ends->early_seconds));
    if (f->early_weight_seconds != NULL)
        ONS_TRY(get_optional_seconds(o, f->early_weight_seconds, &ends->early_weight_seconds));
    ONS_CHECK(ends->early_seconds <= made[ends->made_by].seconds * (1 + 1e-9), ONS_INVALID_DATA,
              "'%s' is more than the 'seconds' of the piece that makes it", f->early_seconds);
    ONS_CHECK(ends->early_weight_seconds <= ends->early_seconds, ONS_INVALID_DATA, "'%s' is more than '%s'",
              f->early_weight_seconds, f->early_seconds);
    return NULL;
}

/* Rising, so that no pair of stages comes twice. */
static ons_status *read_link(const ons_json *o, uint32_t stages, const ons_stage_tasks *tasks,
                             const ons_stage_link *before, ons_stage_link *link) {
    ONS_TRY(get_index(o, "from", 0, stages, &link->from));
    ONS_TRY(get_index(o, "to", link->from + 1, stages, &link->to));
    ONS_CHECK(before == NULL || before->from < link->from || (before->from == link->from && before->to < link->to),
              ONS_INVALID_DATA, "'from' and 'to' do not rise from link to link");
    ONS_TRY(ons_plan_get_bytes(o, "bytes", &link->bytes));
    link->gradient = ons_json_find(o, "gradient_bytes") != NULL;
    if (link->gradient) ONS_TRY(ons_plan_get_bytes(o, "gradient_bytes", &link->gradient_bytes));
    ONS_TRY(ons_plan_get_bytes(o, "freed_bytes", &link->freed_bytes));
    link->taken_bytes = link->bytes;
    link->taken_gradient_bytes = link->gradient_bytes;
    if (ons_json_find(o, "taken_bytes") != NULL) ONS_TRY(ons_plan_get_bytes(o, "taken_bytes", &link->taken_bytes));
    if (link->gradient && ons_json_find(o, "taken_gradient_bytes") != NULL)
        ONS_TRY(ons_plan_get_bytes(o, "taken_gradient_bytes", &link->taken_gradient_bytes));
    const ons_stage_tasks *from = &tasks[link->from], *to = &tasks[link->to];
    ONS_TRY(read_ends(o, &activation_fields, from->forward, from->forward_count, to->forward_count, &link->ends));
    if (!link->gradient) return NULL;
    return read_ends(o, &gradient_fields, to->backward, to->backward_count, from->backward_count, &link->gradient_ends);
}

static ons_status *read_tie(const ons_json *o, uint32_t stages, ons_stage_tie *tie) {
    ONS_TRY(get_index(o, "first", 0, stages, &tie->first));
    ONS_TRY(get_index(o, "second", tie->first + 1, stages, &tie->second));
    return ons_plan_get_bytes(o, "bytes", &tie->bytes);
}

static ons_status *read_network(const ons_json *costs, ons_plan *plan) {
    if (ons_json_find(costs, "node_devices") == NULL) return NULL;
    ONS_TRY(ons_plan_get_whole(costs, "node_devices", 1, INT32_MAX, &plan->node_devices));
    ONS_TRY(ons_plan_get_seconds(costs, "network_bandwidth", &plan->network_bandwidth));
    ONS_TRY(ons_plan_get_seconds(costs, "network_latency", &plan->network_latency));
    if (ons_json_find(costs, "network_eager_bytes") == NULL) return NULL;
    return ons_plan_get_bytes(costs, "network_eager_bytes", &plan->network_eager_bytes);
}

ons_status *ons_plan_read_links(const ons_json *costs, ons_arena *arena, ons_plan *plan) {
    const ons_json *links, *ties, *each;
    ons_pipeline_parts *p = &plan->parts;
    uint32_t i = 0;
    ONS_TRY(ons_plan_get_seconds(costs, "link_bandwidth", &plan->link_bandwidth));
    ONS_TRY(ons_plan_get_seconds(costs, "link_latency", &plan->link_latency));
    if (ons_json_find(costs, "link_eager_bytes") != NULL)
        ONS_TRY(ons_plan_get_bytes(costs, "link_eager_bytes", &plan->link_eager_bytes));
    ONS_TRY(read_network(costs, plan));
    ONS_TRY(ons_json_get_array(costs, "links", &links));
    ONS_TRY(ons_json_get_array(costs, "ties", &ties));
    p->link_count = count_of(links);
    p->tie_count = count_of(ties);
    ONS_NEW(p->links, arena, (size_t)p->link_count + 1);
    ONS_NEW(p->ties, arena, (size_t)p->tie_count + 1);
    for (each = links->child; each != NULL; each = each->next, ++i)
        ONS_TRY_AT(read_link(each, plan->pipeline.stages, p->stages, i > 0 ? &p->links[i - 1] : NULL, &p->links[i]),
                   "links[%u]", i);
    i = 0;
    for (each = ties->child; each != NULL; each = each->next, ++i)
        ONS_TRY_AT(read_tie(each, plan->pipeline.stages, &p->ties[i]), "ties[%u]", i);
    return NULL;
}

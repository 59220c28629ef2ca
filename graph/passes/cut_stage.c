#include <stdlib.h>

#include "graph/operator.h"
#include "graph/passes/cutter.h"

typedef struct assembly {
    cutter *c;
    const cut_steps *steps;
    ons_cut_stage *stage;
    uint32_t values;       /* of the whole graph */
    ons_value_id *fresh;   /* of each operand: the device's value */
    ons_node_id *fresh_of; /* of each node of the whole graph: the device's node that runs first; ONS_NONE: none */
    ons_node_id *of_step;  /* of each step: the device's node, that of the next step where it is dropped */
} assembly;

static ons_graph *graph_of(const assembly *a) { return a->stage->graph; }

/* ----------------------------------------------------------------------------------------------------------- values */

static ons_status *add_value(assembly *a, ons_value_id id, ons_value_kind kind, cut_operand operand,
                             const char *suffix) {
    const ons_value *value = ons_graph_value(a->c->whole, id);
    const char *name = value->name;
    if (suffix != NULL) name = ons_arena_format(a->c->scratch, "%s/%s", name, suffix);
    if (name == NULL) return ons_status_out_of_memory();
    return ons_graph_add_value(graph_of(a), name, kind, &value->type, &a->fresh[operand]);
}

static bool *find_received(assembly *a) {
    bool *received = ons_arena_allocate(a->c->scratch, a->values + 1, sizeof *received);
    for (uint32_t i = 0; received != NULL && i < a->stage->receive_count; ++i)
        received[a->stage->receives[i].value] = true;
    return received;
}

static bool is_swapped(const assembly *a, ons_value_id id) {
    bool found = false;
    for (uint32_t i = 0; i < a->steps->swap_count && !found; ++i) found = a->steps->swaps[i].value == id;
    return found;
}

/* What nobody makes is there where it is read; what is made comes with its node. */
static bool is_wanted(const assembly *a, ons_value_id id, bool received) {
    ons_node_id maker = producer_of(a->c, id);
    if (received) return true;
    if (maker == ONS_NONE) return a->steps->reads[id] > 0 || is_swapped(a, id);
    return a->fresh_of[maker] != ONS_NONE;
}

static ons_status *add_first_versions(assembly *a) {
    const bool *received = find_received(a);
    if (received == NULL) return ons_status_out_of_memory();
    for (ons_value_id id = 0; id < a->values; ++id) {
        if (!is_wanted(a, id, received[id])) continue;
        const ons_value *value = ons_graph_value(a->c->whole, id);
        ONS_TRY(add_value(a, id, received[id] ? ONS_INPUT : value->kind, id, NULL));
        ons_value *fresh = ons_graph_value(graph_of(a), a->fresh[id]);
        if (received[id]) continue;
        fresh->data = value->data;
        fresh->reason = value->reason;
    }
    for (ons_value_id id = 0; id < a->values; ++id) {
        ons_value_id pair = ons_graph_value(a->c->whole, id)->pair;
        if (a->fresh[id] != ONS_NONE && pair != ONS_NONE && !received[id])
            ons_graph_value(graph_of(a), a->fresh[id])->pair = a->fresh[pair];
    }
    const ons_graph *whole = a->c->whole;
    for (size_t i = 0; i < whole->inputs.count; ++i)
        if (a->fresh[whole->inputs.items[i]] != ONS_NONE)
            ONS_PUSH(&graph_of(a)->inputs, a->fresh[whole->inputs.items[i]]);
    return NULL;
}

static ons_status *add_outputs(assembly *a) {
    for (size_t i = 0; i < a->c->o->kept_count; ++i) {
        ons_value_id id = a->c->o->kept[i];
        ons_node_id maker = id == ONS_NONE ? ONS_NONE : producer_of(a->c, id);
        if (maker != ONS_NONE && device_of_node(a->c, maker) == a->steps->device && a->fresh[id] != ONS_NONE)
            ONS_PUSH(&graph_of(a)->outputs, a->fresh[id]);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

static uint32_t count_nodes(assembly *a) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->steps->count; ++i) {
        const cut_step *step = &a->steps->items[i];
        a->of_step[i] = count;
        if (step->dropped) continue;
        if (!step->again) a->fresh_of[step->node] = count;
        a->stage->end[step->part] = ++count;
    }
    for (ons_part part = ONS_PART_FORWARD; part < ons_part_count(a->stage->chunks); ++part)
        if (a->stage->end[part] < a->stage->end[part - 1]) a->stage->end[part] = a->stage->end[part - 1];
    return count;
}

/* An output of a node that runs again: a new version where somebody reads it, nothing where it may be left out or where
 * it is a state that the first run has brought up to date. */
static ons_status *add_again(assembly *a, const ons_node *node, uint32_t index, ons_value_id *fresh) {
    ons_value_id value = node->outputs[index];
    bool read = a->steps->reads[a->values + value] > 0;
    *fresh = ONS_NONE;
    if (ons_graph_value(a->c->whole, value)->pair != ONS_NONE) return NULL;
    if (!read && index >= node->op->arity.outputs_min) return NULL;
    if (is_swapped(a, value)) { /* its second version is the one that comes back */
        const ons_value *whole = ons_graph_value(a->c->whole, value);
        const char *name = ons_arena_format(a->c->scratch, "%s/again", whole->name);
        if (name == NULL) return ons_status_out_of_memory();
        return ons_graph_add_value(graph_of(a), name, whole->kind, &whole->type, fresh);
    }
    ONS_TRY(add_value(a, value, ons_graph_value(a->c->whole, value)->kind, a->values + value, "again"));
    *fresh = a->fresh[a->values + value];
    return NULL;
}

/* The last output that the operator can have. */
static ons_status *add_handed_back(assembly *a, const cut_step *step, ons_node_id id) {
    if (step->handed == ONS_NONE || a->steps->reads[a->values + step->handed] == 0) return NULL;
    ons_value_kind kind = ons_graph_value(a->c->whole, step->handed)->kind;
    ONS_TRY(add_value(a, step->handed, kind, a->values + step->handed, "again"));
    const ons_operator *op = ons_graph_node(graph_of(a), id)->op;
    ons_graph_set_output(graph_of(a), id, op->arity.outputs_max - 1, a->fresh[a->values + step->handed]);
    return NULL;
}

/* Random numbers are keyed by the origin's name, which is here or in the key. */
static void set_origin(const assembly *a, const ons_node *node, ons_node_id id) {
    ons_node *fresh = ons_graph_node(graph_of(a), id);
    ons_node_id origin = a->fresh_of[node->origin];
    fresh->origin = origin != ONS_NONE ? origin : id;
    fresh->key = node->key;
    if (origin == ONS_NONE && node->key == NULL) fresh->key = ons_graph_node(a->c->whole, node->origin)->name;
}

static ons_status *add_node(assembly *a, const cut_step *step) {
    const ons_node *node = ons_graph_node(a->c->whole, step->node);
    const char *name = step->again ? ons_arena_format(a->c->scratch, "%s/again", node->name) : node->name;
    ons_value_id *inputs;
    ons_node_id id;
    ONS_NEW(inputs, a->c->scratch, node->input_count);
    for (uint32_t i = 0; i < node->input_count; ++i)
        inputs[i] = step->inputs[i] == ONS_NONE ? ONS_NONE : a->fresh[step->inputs[i]];
    if (name == NULL) return ons_status_out_of_memory();
    uint32_t outputs = step->handed == ONS_NONE ? node->output_count : node->op->arity.outputs_max;
    ONS_TRY(ons_graph_add_node(graph_of(a), node->op, name, node->attributes, inputs, node->input_count, outputs, &id));
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        ons_value_id fresh = a->fresh[node->outputs[i]];
        if (step->again) ONS_TRY(add_again(a, node, i, &fresh));
        if (fresh != ONS_NONE) ons_graph_set_output(graph_of(a), id, i, fresh);
    }
    ONS_TRY(add_handed_back(a, step, id));
    ons_graph_node(graph_of(a), id)->phase = node->phase;
    ons_graph_node(graph_of(a), id)->per_step = node->per_step;
    set_origin(a, node, id);
    a->stage->original[id] = step->node;
    a->stage->again[id] = step->again;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ swaps */

/* The forward part from which on a value is there: [*first, *end). */
static void find_forward_part(const assembly *a, ons_value_id value, ons_node_id *first, ons_node_id *end) {
    uint32_t device = a->steps->device;
    ons_part part = ons_cut_arrival(a->c, value, device);
    if (part == ONS_PART_BEGIN) part = a->c->need[at_value(a->c, device, value)] - 1;
    if (part == ONS_PART_BEGIN || part > a->stage->chunks) part = ONS_PART_FORWARD;
    *first = a->stage->end[part - 1];
    *end = a->stage->end[part];
}

/* The last of the forward nodes of its part that stand no later than asked for, in the whole graph; the first one for a
 * value that is there before any of them. */
static ons_status *find_out_after(const assembly *a, const cut_step_swap *swap, ons_node_id *result) {
    ons_node_id maker = producer_of(a->c, swap->value), first, end;
    const char *name = ons_graph_value(a->c->whole, swap->value)->name;
    bool made = maker == ONS_NONE || a->fresh_of[maker] == ONS_NONE || swap->out_after >= maker;
    ONS_CHECK(made || a->c->o->lenient, ONS_INVALID_ARGUMENT, "'%s': it cannot be copied to the host before it is made",
              name);
    ons_node_id after = made ? swap->out_after : maker;
    find_forward_part(a, swap->value, &first, &end);
    ONS_CHECK(first < end, ONS_INVALID_ARGUMENT,
              "'%s': device %u has no forward part after which it could be copied to the host", name, a->steps->device);
    *result = first;
    for (ons_node_id id = first; id < end; ++id)
        if (a->stage->original[id] <= after && id > *result) *result = id;
    return NULL;
}

/* The first of the forward nodes of its part that stands no earlier than this one, in the whole graph. */
static ons_node_id find_gone_before(const assembly *a, const cut_step_swap *swap, ons_node_id out_after) {
    ons_node_id id = out_after + 1, first, end;
    find_forward_part(a, swap->value, &first, &end);
    while (id < end && (swap->gone_before == ONS_NONE || a->stage->original[id] < swap->gone_before)) ++id;
    return id;
}

static int compare_swaps(const void *left, const void *right) {
    const ons_cut_swap *a = left, *b = right;
    if (a->in_before != b->in_before) return a->in_before < b->in_before ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

static ons_status *add_swaps(assembly *a) {
    ONS_NEW(a->stage->swaps, a->c->cut->arena, a->steps->swap_count);
    for (uint32_t i = 0; i < a->steps->swap_count; ++i) {
        const cut_step_swap *swap = &a->steps->swaps[i];
        ons_cut_swap *made = &a->stage->swaps[a->stage->swap_count++];
        *made = (ons_cut_swap){.value = a->fresh[swap->value],
                               .back = a->fresh[a->values + swap->value],
                               .in_before = a->of_step[swap->in_before]};
        ONS_TRY(find_out_after(a, swap, &made->out_after));
        made->gone_before = find_gone_before(a, swap, made->out_after);
    }
    qsort(a->stage->swaps, a->stage->swap_count, sizeof *a->stage->swaps, compare_swaps);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ stage */

static void translate_transfers(const assembly *a) {
    for (uint32_t i = 0; i < a->stage->send_count; ++i) a->stage->sends[i].value = a->fresh[a->stage->sends[i].value];
    for (uint32_t i = 0; i < a->stage->receive_count; ++i)
        a->stage->receives[i].value = a->fresh[a->stage->receives[i].value];
}

static ons_status *allocate(assembly *a) {
    ONS_NEW(a->fresh, a->c->scratch, 2 * (size_t)a->values + 1);
    ONS_NEW(a->fresh_of, a->c->scratch, a->c->whole->nodes.count + 1);
    ONS_NEW(a->of_step, a->c->scratch, (size_t)a->steps->count + 1);
    for (size_t i = 0; i < 2 * (size_t)a->values; ++i) a->fresh[i] = ONS_NONE;
    for (size_t i = 0; i < a->c->whole->nodes.count; ++i) a->fresh_of[i] = ONS_NONE;
    ONS_NEW(a->stage->end, a->c->cut->arena, ons_part_count(a->stage->chunks));
    uint32_t count = count_nodes(a);
    ONS_NEW(a->stage->original, a->c->cut->arena, (size_t)count + 1);
    ONS_NEW(a->stage->again, a->c->cut->arena, (size_t)count + 1);
    ONS_NEW(a->stage->value_of, a->c->cut->arena, (size_t)a->values + 1);
    return NULL;
}

ons_status *ons_cut_build_stage(cutter *c, const cut_steps *steps) {
    assembly a = {
        .c = c, .steps = steps, .stage = &c->cut->stages[steps->device], .values = (uint32_t)c->whole->values.count};
    ONS_TRY(allocate(&a));
    const char *name = c->whole->name;
    if (c->devices > 1) name = ons_arena_format(c->scratch, "%s/stage_%u", name, steps->device);
    ONS_TRY(ons_graph_new(c->whole->store, name, &a.stage->graph));
    ONS_TRY(add_first_versions(&a));
    for (uint32_t i = 0; i < steps->swap_count; ++i)
        ONS_TRY(add_value(&a, steps->swaps[i].value, ONS_INPUT, a.values + steps->swaps[i].value, "back"));
    for (uint32_t i = 0; i < steps->count; ++i)
        if (!steps->items[i].dropped) ONS_TRY(add_node(&a, &steps->items[i]));
    ONS_TRY(add_outputs(&a));
    ONS_TRY(add_swaps(&a));
    for (ons_value_id id = 0; id < a.values; ++id) a.stage->value_of[id] = a.fresh[id];
    translate_transfers(&a);
#ifndef NDEBUG
    ONS_TRY(ons_graph_verify(a.stage->graph));
#endif
    return NULL;
}

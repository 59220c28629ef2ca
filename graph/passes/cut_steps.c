/* What one device runs.
 *
 *   base     the nodes that run on the device, part by part, in the whole graph's order
 *   groups   before a base node of a backward part: what runs again for it, in the whole graph's order
 *   steps    both, and views of second versions, each with the versions that it reads
 *
 * Gradients stand in the base as cut_order.c has them.
 *
 * What runs again is what planner/memory/evaluate.c says: the producers of decided values, and of what those read and
 * nobody has kept; each at most once. */
#include <stdlib.h>

#include "graph/operator.h"
#include "graph/passes/cutter.h"

typedef struct lister {
    cutter *c;
    cut_steps *out;
    uint32_t device, values, chunks;
    ons_node_id *base;
    uint32_t base_count, *end;          /* of the base's parts */
    uint32_t forward_end, backward_end; /* of the base: behind all forward parts, behind all backward ones */
    const ons_cut_decision **decision;  /* of each value, NULL: none */
    uint32_t *first_reader;             /* of each root: the first base node of the backward part that reads it */
    bool *saved;                        /* of each root: something behind the forward part reads it */
    uint32_t *trigger;                  /* of each decided value: the base node before which it is there again */
    ons_value_id *replaced_by;          /* of each state: its contents after the forward part, or ONS_NONE */
    bool *reruns;                       /* of each node */
    ons_node_id *group; /* nodes that run again, by group; a group's are [group_begin[i], group_begin[i + 1]) */
    uint32_t group_count, *group_begin; /* of each base node */
    ons_node_id *stack;
    uint32_t *after;          /* of each base node: see ons_cut_place_updates */
    uint32_t *back_at;        /* of each swapped value: the base node before whose group it is back */
    bool *second;             /* of each value: readers take the second version from here on */
    bool *shows_second;       /* of each view: as it stands it shows a second version */
    ons_value_id *hands_back; /* of each node: the decided value that it makes again; ONS_NONE: none */
} lister;

/* ------------------------------------------------------------------------------------------------------------- base */

static ons_part part_of_base(const lister *l, uint32_t index) { return cut_part_at(l->end, index); }

static ons_status *list_base(lister *l) {
    cutter *c = l->c;
    uint32_t parts = ons_part_count(l->chunks);
    ONS_NEW(l->base, c->scratch, c->whole->nodes.count + 1);
    ONS_NEW(l->end, c->scratch, parts);
    for (ons_part part = ONS_PART_BEGIN; part < parts; ++part) {
        for (ons_node_id id = 0; id < c->whole->nodes.count; ++id)
            if (c->runs[at_node(c, l->device, id)] && c->part_there[at_node(c, l->device, id)] == part)
                l->base[l->base_count++] = id;
        l->end[part] = l->base_count;
    }
    l->forward_end = l->end[l->chunks];
    l->backward_end = l->end[3 * l->chunks];
    return ons_cut_order_gradients(c, &(cut_base){l->base, l->end, l->forward_end, l->backward_end});
}

/* Whether the host reads it from this device. */
static bool is_kept(const lister *l, ons_value_id value) {
    ons_node_id maker = producer_of(l->c, value);
    bool found = false;
    for (size_t i = 0; i < l->c->o->kept_count && !found; ++i) found = l->c->o->kept[i] == value;
    return found && maker != ONS_NONE && device_of_node(l->c, maker) == l->device;
}

/* A view reads nothing, unless the host takes it for what it shows. */
static ons_status *find_savers(lister *l) {
    const cutter *c = l->c;
    ONS_NEW(l->first_reader, c->scratch, l->values + 1);
    ONS_NEW(l->saved, c->scratch, l->values + 1);
    for (ons_value_id id = 0; id < l->values; ++id) l->first_reader[id] = ONS_NONE;
    for (uint32_t i = l->forward_end; i < l->base_count; ++i) {
        const ons_node *node = ons_graph_node(c->whole, l->base[i]);
        bool reads = !ons_cut_is_view(node) || is_kept(l, node->outputs[0]);
        for (uint32_t k = 0; k < node->input_count && reads; ++k) {
            if (node->inputs[k] == ONS_NONE) continue;
            ons_value_id root = c->root[node->inputs[k]];
            l->saved[root] = true;
            if (i < l->backward_end && l->first_reader[root] == ONS_NONE) l->first_reader[root] = i;
        }
    }
    const ons_cut_stage *device = &c->cut->stages[l->device];
    for (uint32_t i = 0; i < device->send_count; ++i)
        if (device->sends[i].kind > ONS_PART_FORWARD) l->saved[device->sends[i].value] = true;
    return NULL;
}

static ons_status *find_replaced(lister *l) {
    const ons_graph *whole = l->c->whole;
    ONS_NEW(l->replaced_by, l->c->scratch, l->values + 1);
    for (ons_value_id id = 0; id < l->values; ++id) l->replaced_by[id] = ONS_NONE;
    for (uint32_t i = 0; i < l->forward_end; ++i) {
        const ons_node *node = ons_graph_node(whole, l->base[i]);
        for (uint32_t k = 0; k < node->output_count; ++k) {
            ons_value_id pair =
                node->outputs[k] == ONS_NONE ? ONS_NONE : ons_graph_value(whole, node->outputs[k])->pair;
            if (pair != ONS_NONE) l->replaced_by[pair] = node->outputs[k];
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- decisions */

/* A node of the device's forward parts that makes values which can be made again. */
static bool can_rerun(const lister *l, ons_value_id root) {
    const cutter *c = l->c;
    ons_node_id maker = producer_of(c, root);
    return maker != ONS_NONE && c->kind[maker] == ONS_PART_FORWARD && !c->everywhere[maker] &&
           device_of_node(c, maker) == l->device && ons_graph_value(c->whole, root)->pair == ONS_NONE;
}

/* Whether the device's forward parts have it, other than as weight, table or state. */
static bool is_there(const lister *l, ons_value_id root) {
    const cutter *c = l->c;
    ons_node_id maker = producer_of(c, root);
    if (maker == ONS_NONE) return ons_graph_value(c->whole, root)->kind == ONS_INPUT;
    uint32_t reader;
    if (c->everywhere[maker] || c->kind[maker] != ONS_PART_FORWARD || ons_graph_value(c->whole, root)->pair != ONS_NONE)
        return false;
    if (device_of_node(c, maker) == l->device) return true;
    return c->need[at_value(c, l->device, root)] != 0 &&
           ons_cut_transfer_kind(c, root, l->device, &reader) == ONS_PART_FORWARD;
}

/* Nothing reads it before the node that hands it back, which stands with its readers. */
static bool is_handed_back(const lister *l, const ons_cut_decision *d) {
    const cut_base base = {l->base, l->end, l->forward_end, l->backward_end};
    uint32_t at = cut_find(&base, d->by);
    if (at == l->backward_end || at > l->first_reader[d->value]) return false;
    const ons_node *by = ons_graph_node(l->c->whole, d->by);
    return (by->op->roles.traits & ONS_TRAIT_HANDS_BACK) != 0 && by->output_count < by->op->arity.outputs_max &&
           by->origin == producer_of(l->c, d->value);
}

static ons_status *check_decision(const lister *l, const ons_cut_decision *d) {
    const cutter *c = l->c;
    const char *name = ons_graph_value(c->whole, d->value)->name;
    ONS_CHECK(c->root[d->value] == d->value, ONS_INVALID_ARGUMENT,
              "'%s': it shows the bytes of '%s', which is what can be swapped or computed again", name,
              ons_graph_value(c->whole, c->root[d->value])->name);
    ONS_CHECK(is_there(l, d->value), ONS_INVALID_ARGUMENT,
              "'%s': the forward parts of device %u neither make nor "
              "receive it",
              name, l->device);
    ONS_CHECK(l->decision[d->value] == NULL, ONS_INVALID_ARGUMENT, "'%s': decided twice for device %u", name,
              l->device);
    ONS_CHECK(l->first_reader[d->value] != ONS_NONE, ONS_INVALID_ARGUMENT,
              "'%s': the backward parts of device %u do not read it, so there is nothing to free", name, l->device);
    if (d->eviction == ONS_EVICTION_RECOMPUTE)
        ONS_CHECK(can_rerun(l, d->value), ONS_INVALID_ARGUMENT,
                  "'%s': it cannot be computed again on device %u, which receives it", name, l->device);
    else if (d->eviction == ONS_EVICTION_HAND_BACK)
        ONS_CHECK(can_rerun(l, d->value) && is_handed_back(l, d), ONS_INVALID_ARGUMENT,
                  "'%s': no gradient on device %u can hand it back before it is read", name, l->device);
    else
        ONS_CHECK(d->eviction == ONS_EVICTION_SWAP, ONS_INVALID_ARGUMENT, "'%s': no such decision", name);
    return NULL;
}

/* The first base node of the backward part that was derived from a forward node; where none was, of one before it. */
static uint32_t find_trigger(const lister *l, ons_node_id forward) {
    uint32_t before = l->backward_end;
    for (uint32_t i = l->forward_end; i < l->backward_end; ++i) {
        ons_node_id origin = ons_graph_node(l->c->whole, l->base[i])->origin;
        if (origin == forward) return i;
        if (origin < forward && before == l->backward_end) before = i;
    }
    return before;
}

static ons_status *take_decisions(lister *l) {
    const cutter *c = l->c;
    ONS_NEW(l->decision, c->scratch, l->values + 1);
    ONS_NEW(l->trigger, c->scratch, l->values + 1);
    ONS_NEW(l->back_at, c->scratch, l->values + 1);
    ONS_NEW(l->hands_back, c->scratch, c->whole->nodes.count + 1);
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) l->hands_back[id] = ONS_NONE;
    for (uint32_t i = 0; i < c->o->decision_count; ++i) {
        const ons_cut_decision *d = &c->o->decisions[i];
        uint32_t stage = c->everywhere[d->in_before] ? c->o->stage_of_node[d->in_before] : c->stage[d->in_before];
        if (c->device[stage] != l->device) continue;
        ons_status *problem = check_decision(l, d);
        if (problem != NULL && !c->o->lenient) return problem;
        if (problem != NULL) {
            ons_status_free(problem);
            continue;
        }
        l->decision[d->value] = d;
        if (d->eviction == ONS_EVICTION_HAND_BACK) l->hands_back[d->by] = d->value;
        uint32_t trigger = find_trigger(l, d->in_before), reader = l->first_reader[d->value];
        l->trigger[d->value] = l->back_at[d->value] = reader < trigger ? reader : trigger;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- rerunning */

static bool is_made_again(const lister *l, ons_value_id root) {
    if (!can_rerun(l, root)) return false;
    return l->decision[root] != NULL ? l->decision[root]->eviction == ONS_EVICTION_RECOMPUTE : !l->saved[root];
}

static void push(lister *l, uint32_t *depth, ons_node_id node) {
    if (l->reruns[node]) return;
    l->reruns[node] = true;
    l->stack[(*depth)++] = node;
}

static int compare_nodes(const void *left, const void *right) {
    ons_node_id a = *(const ons_node_id *)left, b = *(const ons_node_id *)right;
    return a < b ? -1 : a > b;
}

/* Adds what runs again before base node `index`. What swapped values it reads must be back by then. */
static void list_group(lister *l, uint32_t index) {
    const cutter *c = l->c;
    uint32_t depth = 0, first = l->group_count;
    for (uint32_t i = 0; i < c->o->decision_count; ++i) {
        const ons_cut_decision *d = &c->o->decisions[i];
        if (l->decision[d->value] == d && d->eviction == ONS_EVICTION_RECOMPUTE && l->trigger[d->value] == index)
            push(l, &depth, producer_of(c, d->value));
    }
    while (depth > 0) {
        ons_node_id id = l->stack[--depth];
        const ons_node *node = ons_graph_node(c->whole, id);
        l->group[l->group_count++] = id;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            ons_value_id root = c->root[node->inputs[i]];
            if (is_made_again(l, root)) push(l, &depth, producer_of(c, root));
            if (l->decision[root] != NULL && index < l->back_at[root]) l->back_at[root] = index;
        }
    }
    qsort(l->group + first, l->group_count - first, sizeof *l->group, compare_nodes);
}

static ons_status *list_groups(lister *l) {
    ONS_NEW(l->reruns, l->c->scratch, l->c->whole->nodes.count + 1);
    ONS_NEW(l->group, l->c->scratch, l->c->whole->nodes.count + 1);
    ONS_NEW(l->stack, l->c->scratch, l->c->whole->nodes.count + 1);
    ONS_NEW(l->group_begin, l->c->scratch, (size_t)l->base_count + 2);
    bool *wakes; /* of each base node */
    ONS_NEW(wakes, l->c->scratch, (size_t)l->base_count + 1);
    for (uint32_t i = 0; i < l->c->o->decision_count; ++i) {
        const ons_cut_decision *d = &l->c->o->decisions[i];
        if (l->decision[d->value] == d && d->eviction == ONS_EVICTION_RECOMPUTE) wakes[l->trigger[d->value]] = true;
    }
    for (uint32_t i = 0; i < l->base_count; ++i) {
        l->group_begin[i] = l->group_count;
        if (wakes[i]) list_group(l, i);
    }
    l->group_begin[l->base_count] = l->group_count;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ steps */

static ons_status *add_step(lister *l, ons_node_id id, ons_part part, bool again);

/* The version of a value that is read now. A view of something that has a second version is made a second time, unless
 * it stands behind and shows that already. */
static ons_status *version_of(lister *l, ons_value_id value, ons_part part, cut_operand *operand) {
    ons_value_id root = l->c->root[value];
    *operand = value;
    if (!l->second[root] || l->shows_second[value]) return NULL;
    if (!l->second[value]) ONS_TRY(add_step(l, producer_of(l->c, value), part, true));
    *operand = l->values + value;
    return NULL;
}

static void note_outputs(lister *l, const ons_node *node, bool again) {
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        if (ons_cut_is_view(node)) {
            if (again)
                l->second[node->outputs[i]] = true;
            else
                l->shows_second[node->outputs[i]] = l->second[l->c->root[node->outputs[i]]];
        } else if (again && is_made_again(l, node->outputs[i])) {
            l->second[node->outputs[i]] = true;
        }
    }
}

/* Views nest as deep as the graph has them; each is made again once. */
// NOLINTNEXTLINE(misc-no-recursion)
static ons_status *add_step(lister *l, ons_node_id id, ons_part part, bool again) {
    const ons_node *node = ons_graph_node(l->c->whole, id);
    cut_operand *inputs;
    ONS_NEW(inputs, l->c->scratch, node->input_count);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        inputs[i] = node->inputs[i];
        if (inputs[i] == ONS_NONE) continue;
        /* The state that the forward part replaced is gone; whoever runs again leaves its own state out. */
        if (again && l->replaced_by[inputs[i]] != ONS_NONE)
            inputs[i] = l->replaced_by[inputs[i]];
        else
            ONS_TRY(version_of(l, node->inputs[i], part, &inputs[i]));
    }
    ons_value_id handed = again ? ONS_NONE : l->hands_back[id];
    l->out->items[l->out->count++] =
        (cut_step){.node = id, .part = part, .again = again, .inputs = inputs, .handed = handed};
    note_outputs(l, node, again);
    if (handed != ONS_NONE) l->second[handed] = true;
    return NULL;
}

static void bring_back(lister *l, uint32_t index) {
    const cutter *c = l->c;
    for (uint32_t i = 0; i < c->o->decision_count; ++i) {
        const ons_cut_decision *d = &c->o->decisions[i];
        if (l->decision[d->value] != d || d->eviction != ONS_EVICTION_SWAP || l->back_at[d->value] != index) continue;
        l->second[d->value] = true;
        l->out->swaps[l->out->swap_count++] = (cut_step_swap){d->value, d->out_after, d->gone_before, l->out->count};
    }
}

static ons_status *place_updates(lister *l) {
    const cut_order order = {l->base, l->base_count, l->backward_end, l->group, l->group_begin};
    ONS_NEW(l->after, l->c->scratch, (size_t)l->base_count + 1);
    return ons_cut_place_updates(l->c, &order, l->after);
}

/* The base nodes that run behind base node `index` instead of in the end part. */
static ons_status *add_early(lister *l, uint32_t index, const uint32_t *first, const uint32_t *next) {
    for (uint32_t i = first[index]; i != ONS_NONE; i = next[i])
        ONS_TRY(add_step(l, l->base[i], part_of_base(l, index), false));
    return NULL;
}

static ons_status *list_steps(lister *l) {
    cutter *c = l->c;
    uint32_t *first, *next;
    ONS_NEW(first, c->scratch, (size_t)l->base_count + 1);
    ONS_NEW(next, c->scratch, (size_t)l->base_count + 1);
    for (uint32_t i = 0; i < l->base_count; ++i) first[i] = ONS_NONE;
    for (uint32_t i = l->base_count; i-- > 0;) {
        if (l->after[i] == ONS_NONE) continue;
        next[i] = first[l->after[i]];
        first[l->after[i]] = i;
    }
    ONS_NEW(l->out->items, c->scratch, 3 * c->whole->nodes.count + 1);
    ONS_NEW(l->out->swaps, c->scratch, c->o->decision_count);
    ONS_NEW(l->second, c->scratch, l->values + 1);
    ONS_NEW(l->shows_second, c->scratch, l->values + 1);
    for (uint32_t i = 0; i < l->base_count; ++i) {
        ons_part part = part_of_base(l, i);
        if (l->after[i] != ONS_NONE) continue;
        bring_back(l, i);
        for (uint32_t k = l->group_begin[i]; k < l->group_begin[i + 1]; ++k)
            ONS_TRY(add_step(l, l->group[k], part, true));
        ONS_TRY(add_step(l, l->base[i], part, false));
        ONS_TRY(add_early(l, i, first, next));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ reads */

static void count_inputs(const cutter *c, cut_steps *steps, const cut_step *step, bool add) {
    const ons_node *node = ons_graph_node(c->whole, step->node);
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (step->inputs[i] != ONS_NONE) steps->reads[step->inputs[i]] += add ? 1u : UINT32_MAX;
    for (uint32_t i = 0; i < node->output_count && !step->again; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE) steps->reads[pair] += add ? 1u : UINT32_MAX;
    }
}

/* A view that nobody reads any more would only lengthen the life of what it shows. */
static ons_status *count_reads(lister *l) {
    const cutter *c = l->c;
    cut_steps *steps = l->out;
    ONS_NEW(steps->reads, c->scratch, 2 * (size_t)l->values + 1);
    for (size_t i = 0; i < c->o->kept_count; ++i)
        if (c->o->kept[i] != ONS_NONE && is_kept(l, c->o->kept[i])) ++steps->reads[c->o->kept[i]];
    for (uint32_t i = 0; i < steps->count; ++i) count_inputs(c, steps, &steps->items[i], true);
    for (uint32_t i = steps->count; i-- > 0;) {
        cut_step *step = &steps->items[i];
        const ons_node *node = ons_graph_node(c->whole, step->node);
        if (!ons_cut_is_view(node) || steps->reads[node->outputs[0] + (step->again ? l->values : 0)] > 0) continue;
        step->dropped = true;
        count_inputs(c, steps, step, false);
    }
    return NULL;
}

ons_status *ons_cut_list_steps(cutter *c, uint32_t device, cut_steps *steps) {
    *steps = (cut_steps){.device = device};
    lister l = {.c = c,
                .out = steps,
                .device = device,
                .values = (uint32_t)c->whole->values.count,
                .chunks = chunks_of(c, device)};
    ONS_TRY(list_base(&l));
    ONS_TRY(find_savers(&l));
    ONS_TRY(find_replaced(&l));
    ONS_TRY(take_decisions(&l));
    ONS_TRY(list_groups(&l));
    ONS_TRY(place_updates(&l));
    ONS_TRY(list_steps(&l));
    return count_reads(&l);
}

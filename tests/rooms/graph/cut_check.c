#include "tests/rooms/graph/cut_check.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/sharing.h"
#include "tests/rooms/graph/fixture.h"

typedef struct checker {
    const ons_cut_options *o;
    const ons_graph *whole;
    const ons_cut *cut;
    const char *where;
} checker;

bool cut_runs_once(const ons_graph *whole, ons_node_id id) {
    const ons_node *node = ons_graph_node(whole, id);
    bool parameter = false;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(whole, node->outputs[i])->pair;
        parameter |= pair != ONS_NONE && ons_graph_value(whole, pair)->kind == ONS_PARAMETER;
    }
    return !ons_is_view(node->op) && !parameter && (node->phase != ONS_FORWARD || !node->per_step);
}

static void check_every_node_once(const checker *k) {
    uint32_t *runs = calloc(k->whole->nodes.count + 1, sizeof *runs);
    for (uint32_t s = 0; s < k->cut->stage_count; ++s) {
        const ons_cut_stage *stage = &k->cut->stages[s];
        for (ons_node_id id = 0; id < stage->graph->nodes.count; ++id) runs[stage->original[id]] += !stage->again[id];
    }
    for (ons_node_id id = 0; id < k->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(k->whole, id);
        if (cut_runs_once(k->whole, id))
            cr_assert_eq(runs[id], 1u, "%s: '%s' runs %u times", k->where, node->name, runs[id]);
        else
            cr_assert(ons_is_view(node->op) || runs[id] >= 1, "%s: '%s' runs nowhere", k->where, node->name);
    }
    free(runs);
}

/* Whether a stage's value stands for the whole graph's: its name is that one's, or that one's with what was appended.
 */
static bool stands_for(const checker *k, const ons_cut_stage *stage, ons_value_id own, ons_value_id whole) {
    if (own == stage->value_of[whole]) return true;
    const char *name = ons_graph_value(stage->graph, own)->name, *of = ons_graph_value(k->whole, whole)->name;
    size_t length = strlen(of);
    return strncmp(name, of, length) == 0 &&
           (strncmp(name + length, "/again", 6) == 0 || strncmp(name + length, "/back", 5) == 0);
}

/* A state that the node replaces is read as its first run left it. */
static bool is_replaced_state(const checker *k, const ons_cut_stage *stage, ons_value_id own, ons_value_id whole) {
    ons_value_id pair = ons_graph_value(stage->graph, own)->pair;
    return pair != ONS_NONE && pair == stage->value_of[whole] && ons_graph_value(k->whole, whole)->producer == ONS_NONE;
}

static void check_node(const checker *k, const ons_cut_stage *stage, ons_node_id id) {
    const ons_node *own = ons_graph_node(stage->graph, id), *node = ons_graph_node(k->whole, stage->original[id]);
    cr_assert_eq(own->op, node->op);
    cr_assert_eq(own->phase, node->phase);
    cr_assert_eq(own->per_step, node->per_step);
    if (!stage->again[id]) cr_assert_str_eq(own->name, node->name);
    cr_assert_eq(ons_graph_node_key(stage->graph, id), ons_graph_node_key(k->whole, stage->original[id]),
                 "%s: '%s' draws other random numbers", k->where, own->name);
    uint32_t attributes = 0;
    while (node->op->attributes[attributes].name != NULL) ++attributes;
    cr_assert_eq(memcmp(own->attributes, node->attributes, attributes * sizeof *node->attributes), 0);
    cr_assert_eq(own->input_count, node->input_count);
    /* One output more, which its origin made first. */
    bool more = own->output_count > node->output_count && (node->op->roles.traits & ONS_TRAIT_HANDS_BACK) != 0;
    cr_assert(own->output_count == node->output_count || more, "%s: '%s'", k->where, own->name);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        cr_assert_eq(own->inputs[i] == ONS_NONE, node->inputs[i] == ONS_NONE, "%s: '%s'", k->where, own->name);
        if (own->inputs[i] == ONS_NONE) continue;
        bool right = stands_for(k, stage, own->inputs[i], node->inputs[i]) ||
                     (stage->again[id] && is_replaced_state(k, stage, own->inputs[i], node->inputs[i]));
        cr_assert(right, "%s: '%s' reads '%s' for '%s'", k->where, own->name,
                  ons_graph_value(stage->graph, own->inputs[i])->name,
                  ons_graph_value(k->whole, node->inputs[i])->name);
    }
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (stage->again[id] && own->outputs[i] == ONS_NONE) continue;
        cr_assert_eq(own->outputs[i] == ONS_NONE, node->outputs[i] == ONS_NONE, "%s: '%s'", k->where, own->name);
        if (own->outputs[i] == ONS_NONE) continue;
        cr_assert(stands_for(k, stage, own->outputs[i], node->outputs[i]), "%s: '%s'", k->where, own->name);
        cr_assert_eq(own->outputs[i] == stage->value_of[node->outputs[i]], !stage->again[id]);
        cr_assert(!stage->again[id] || ons_graph_value(stage->graph, own->outputs[i])->pair == ONS_NONE,
                  "%s: '%s' brings '%s' up to date twice", k->where, own->name,
                  ons_graph_value(stage->graph, own->outputs[i])->name);
    }
}

static ons_part part_of_node(const ons_cut_stage *stage, ons_node_id id) {
    ons_part part = ONS_PART_BEGIN;
    while (id >= stage->end[part]) ++part;
    return part;
}

ons_part cut_part_of_value(const ons_cut_stage *stage, ons_value_id value) {
    const ons_value *v = ons_graph_value(stage->graph, value);
    if (v->producer != ONS_NONE) return part_of_node(stage, v->producer);
    for (uint32_t i = 0; i < stage->receive_count; ++i)
        if (stage->receives[i].value == value) return stage->receives[i].part;
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        if (stage->swaps[i].back == value) return ONS_PART_BACKWARD;
    if (v->kind == ONS_INPUT) {
        for (size_t i = 0; i < stage->graph->inputs.count; ++i)
            if (stage->graph->inputs.items[i] == value) return ONS_PART_FORWARD;
        return ONS_PART_KINDS;
    }
    return ONS_PART_BEGIN;
}

static bool is_read(const ons_graph *graph, ons_value_id value, ons_node_id from) {
    bool found = false;
    for (ons_node_id id = from; id < graph->nodes.count && !found; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->input_count; ++i) found |= node->inputs[i] == value;
    }
    return found;
}

ons_value_id cut_second_version(const ons_cut_stage *stage, ons_value_id value) {
    char name[512];
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        if (stage->swaps[i].value == value) return stage->swaps[i].back;
    snprintf(name, sizeof name, "%s/again", ons_graph_value(stage->graph, value)->name);
    ons_value_id again = ons_graph_find_value(stage->graph, name);
    return again != ONS_NONE && is_read(stage->graph, again, 0) ? again : ONS_NONE;
}

/* What has a second version is not read behind the forward part, or it would have to stay. */
static void check_second_versions(const checker *k, const ons_cut_stage *stage) {
    for (ons_value_id id = 0; id < k->whole->values.count; ++id) {
        ons_value_id own = stage->value_of[id];
        if (own == ONS_NONE || cut_second_version(stage, own) == ONS_NONE) continue;
        cr_assert_not(is_read(stage->graph, own, stage->end[ONS_PART_FORWARD]), "%s: '%s' has to stay", k->where,
                      ons_graph_value(stage->graph, own)->name);
    }
}

static void check_swap(const checker *k, const ons_cut_stage *stage, ons_value_id value, ons_node_id reader) {
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        cr_assert(stage->swaps[i].back != value || stage->swaps[i].in_before <= reader, "%s: '%s' is read too early",
                  k->where, ons_graph_value(stage->graph, value)->name);
}

/* A state that was replaced is gone. */
static void check_states(const checker *k, const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *fresh = ons_graph_value(graph, id);
        if (fresh->pair != ONS_NONE && fresh->producer != ONS_NONE)
            cr_assert_not(is_read(graph, fresh->pair, fresh->producer + 1), "%s: '%s' is read after it was replaced",
                          k->where, ons_graph_value(graph, fresh->pair)->name);
    }
}

/* Of the gradients of one forward node, those of weights may go first where an update need not wait. */
static bool may_go_first(const checker *k, const ons_cut_stage *stage, ons_node_id first, ons_node_id second) {
    const ons_node *a = ons_graph_node(k->o->whole, stage->original[first]);
    const ons_node *b = ons_graph_node(k->o->whole, stage->original[second]);
    return k->o->updates_in_backward && a->origin == b->origin && a->phase == ONS_WEIGHT_GRADIENT;
}

/* What reads a value that is handed back waits for that, and so does what needs that. `late`: of each node before. */
static bool is_late(const checker *k, const ons_cut_stage *stage, ons_node_id id, const bool *late) {
    const ons_node *node = ons_graph_node(stage->graph, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_node_id maker =
            node->inputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(stage->graph, node->inputs[i])->producer;
        if (maker == ONS_NONE) continue;
        const ons_node *by = ons_graph_node(stage->graph, maker);
        bool handed = by->output_count > ons_graph_node(k->whole, stage->original[maker])->output_count &&
                      by->outputs[by->output_count - 1] == node->inputs[i];
        if (late[maker] || handed) return true;
    }
    return false;
}

static void check_order(const checker *k, const ons_cut_stage *stage) {
    const ons_graph *graph = stage->graph;
    ons_node_id before = ONS_NONE;
    bool *late = calloc(graph->nodes.count + 1, sizeof *late);
    cr_assert_not_null(late);
    cr_assert_eq(stage->end[ONS_PART_END], graph->nodes.count);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        ons_part part = part_of_node(stage, id);
        bool update = node->phase == ONS_UPDATE || (ons_is_view(node->op) && part == ONS_PART_END);
        bool early = part == ONS_PART_BACKWARD && k->o->updates_in_backward;
        cr_assert(update ? part == ONS_PART_END || early : part != ONS_PART_END, "%s: '%s'", k->where, node->name);
        cr_assert(part != ONS_PART_FORWARD || node->phase == ONS_FORWARD, "%s: '%s'", k->where, node->name);
        for (uint32_t i = 0; i < node->input_count; ++i) {
            if (node->inputs[i] == ONS_NONE) continue;
            cr_assert(cut_part_of_value(stage, node->inputs[i]) <= part, "%s: '%s' reads '%s' of a later part",
                      k->where, node->name, ons_graph_value(graph, node->inputs[i])->name);
            check_swap(k, stage, node->inputs[i], id);
        }
        late[id] = is_late(k, stage, id, late);
        if (stage->again[id] || (update && early) || late[id]) continue;
        if (before != ONS_NONE && part_of_node(stage, before) == part)
            cr_assert(stage->original[before] < stage->original[id] || may_go_first(k, stage, before, id), "%s: '%s'",
                      k->where, node->name);
        before = id;
    }
    free(late);
}

/* -------------------------------------------------------------------------------------------------------- transfers */

static const ons_cut_transfer *find_transfer(const ons_cut_transfer *list, uint32_t count, uint32_t number) {
    for (uint32_t i = 0; i < count; ++i)
        if (list[i].number == number) return &list[i];
    return NULL;
}

static void check_transfer(const checker *k, uint32_t from, const ons_cut_transfer *send) {
    const ons_cut_stage *a = &k->cut->stages[from], *b = &k->cut->stages[send->peer];
    const ons_cut_transfer *receive = find_transfer(b->receives, b->receive_count, send->number);
    cr_assert_not_null(receive, "%s: number %u is sent and not received", k->where, send->number);
    const ons_value *left = ons_graph_value(a->graph, send->value), *right = ons_graph_value(b->graph, receive->value);
    cr_assert_neq(send->peer, from);
    cr_assert_eq(receive->peer, from);
    cr_assert_eq(receive->part, send->part);
    cr_assert_str_eq(left->name, right->name);
    cr_assert(ons_type_equal(&left->type, &right->type) && left->type.layout == right->type.layout);
    cr_assert_neq(left->producer, ONS_NONE, "%s: '%s' is sent by a stage that does not make it", k->where, left->name);
    cr_assert_eq(right->producer, ONS_NONE);
    cr_assert_eq(right->kind, ONS_INPUT);
    cr_assert(cut_part_of_value(a, send->value) <= send->part, "%s: '%s' is sent too early", k->where, left->name);
    cr_assert(send->part != ONS_PART_BEGIN);
    cr_assert(send->part != ONS_PART_FORWARD || send->peer > from, "%s: '%s' goes backward", k->where, left->name);
    cr_assert(send->part != ONS_PART_BACKWARD || send->peer < from, "%s: '%s' goes forward", k->where, left->name);
    cr_assert_not(ons_is_view(ons_graph_node(a->graph, left->producer)->op), "%s: '%s' is a view", k->where,
                  left->name);
}

/* Parts ascend, and in a part the nodes that make the values. */
static void check_list(const checker *k, const ons_cut_transfer *list, uint32_t count, const ons_graph *graph) {
    for (uint32_t i = 1; i < count; ++i) {
        ons_value_id a = ons_graph_find_value(k->whole, ons_graph_value(graph, list[i - 1].value)->name),
                     b = ons_graph_find_value(k->whole, ons_graph_value(graph, list[i].value)->name);
        cr_assert_leq(list[i - 1].part, list[i].part);
        if (list[i - 1].part == list[i].part)
            cr_assert_leq(ons_graph_value(k->whole, a)->producer, ons_graph_value(k->whole, b)->producer);
        cr_assert_lt(list[i - 1].number, list[i].number, "one order for all, so that both ends agree");
    }
}

static void check_transfers(const checker *k) {
    uint32_t sends = 0, receives = 0;
    for (uint32_t s = 0; s < k->cut->stage_count; ++s) {
        const ons_cut_stage *stage = &k->cut->stages[s];
        for (uint32_t i = 0; i < stage->send_count; ++i) {
            cr_assert_lt(stage->sends[i].number, k->cut->transfer_count);
            check_transfer(k, s, &stage->sends[i]);
        }
        check_list(k, stage->sends, stage->send_count, stage->graph);
        check_list(k, stage->receives, stage->receive_count, stage->graph);
        sends += stage->send_count;
        receives += stage->receive_count;
    }
    cr_assert_eq(sends, k->cut->transfer_count);
    cr_assert_eq(receives, k->cut->transfer_count);
}

/* ----------------------------------------------------------------------------------------------------------- values */

static void check_values(const checker *k, const ons_cut_stage *stage) {
    const ons_graph *graph = stage->graph;
    for (ons_value_id id = 0; id < k->whole->values.count; ++id) {
        if (stage->value_of[id] == ONS_NONE) continue;
        const ons_value *own = ons_graph_value(graph, stage->value_of[id]), *value = ons_graph_value(k->whole, id);
        cr_assert_str_eq(own->name, value->name);
        cr_assert(ons_type_equal(&own->type, &value->type) && own->type.layout == value->type.layout);
        if (own->producer == ONS_NONE && value->producer != ONS_NONE) continue; /* received */
        cr_assert_eq(own->kind, value->kind);
        cr_assert_eq(own->data, value->data);
        cr_assert_eq(own->pair, value->pair == ONS_NONE ? ONS_NONE : stage->value_of[value->pair]);
    }
    ons_value_id before = 0;
    for (size_t i = 0, from = 0; i < graph->inputs.count; ++i) {
        before = ons_graph_find_value(k->whole, ons_graph_value(graph, graph->inputs.items[i])->name);
        while (from < k->whole->inputs.count && k->whole->inputs.items[from] != before) ++from;
        cr_assert_lt(from, k->whole->inputs.count, "%s: inputs in another order", k->where);
    }
}

/* What the host reads is an output of one stage. */
static void check_kept(const checker *k) {
    for (size_t i = 0; i < k->o->kept_count; ++i) {
        if (k->o->kept[i] == ONS_NONE || ons_graph_value(k->whole, k->o->kept[i])->producer == ONS_NONE) continue;
        uint32_t found = 0;
        for (uint32_t s = 0; s < k->cut->stage_count; ++s) {
            const ons_graph *graph = k->cut->stages[s].graph;
            for (size_t j = 0; j < graph->outputs.count; ++j)
                found += graph->outputs.items[j] == k->cut->stages[s].value_of[k->o->kept[i]];
        }
        cr_assert_eq(found, 1u, "%s: '%s' is an output of %u stages", k->where,
                     ons_graph_value(k->whole, k->o->kept[i])->name, found);
    }
}

void cut_check(const ons_cut_options *options, const ons_cut *cut, const char *where) {
    checker k = {options, options->whole, cut, where};
    cr_assert_eq(cut->stage_count, options->stages);
    for (uint32_t s = 0; s < cut->stage_count; ++s) {
        const ons_cut_stage *stage = &cut->stages[s];
        must(ons_graph_verify(stage->graph));
        for (ons_node_id id = 0; id < stage->graph->nodes.count; ++id) check_node(&k, stage, id);
        check_order(&k, stage);
        check_values(&k, stage);
        check_second_versions(&k, stage);
        check_states(&k, stage->graph);
    }
    check_every_node_once(&k);
    check_transfers(&k);
    check_kept(&k);
}

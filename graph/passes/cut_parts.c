#include "graph/operator.h"
#include "graph/passes/cutter.h"
#include "graph/sharing.h"

bool ons_cut_is_view(const ons_node *node) {
    return ons_is_view(node->op) && node->output_count > 0 && node->outputs[0] != ONS_NONE;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

static bool makes_wanted(const cutter *c, const ons_node *node, const bool *wanted) {
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && wanted[node->outputs[i]]) return true;
    return false;
}

/* What is made once a step comes before the micro-batches, and before all parts of a device that has several: the
 * schedule may play any of them first. */
static bool comes_first(const cutter *c, const ons_node *node) {
    return node->phase == ONS_FORWARD && node->per_step && (c->o->repeats || c->o->stages > c->devices);
}

/* A forward node that stands behind the first backward one is there for the backward part alone, and would only
 * lengthen lifetimes in the forward part, unless a forward node before it in the parts' order reads what it makes. */
static ons_status *find_parts(cutter *c) {
    bool *wanted; /* of each value: the forward part reads it */
    ons_node_id first_backward = 0, count = (ons_node_id)c->whole->nodes.count;
    ONS_NEW(wanted, c->scratch, c->whole->values.count + 1);
    ONS_NEW(c->kind, c->scratch, (size_t)count + 1);
    while (first_backward < count && ons_graph_node(c->whole, first_backward)->phase == ONS_FORWARD) ++first_backward;
    for (ons_node_id id = count; id-- > 0;) {
        const ons_node *node = ons_graph_node(c->whole, id);
        if (node->phase == ONS_UPDATE) {
            c->kind[id] = ONS_PART_END;
        } else if (comes_first(c, node)) {
            c->kind[id] = ONS_PART_BEGIN;
        } else if (id < first_backward || makes_wanted(c, node, wanted)) {
            c->kind[id] = ONS_PART_FORWARD;
            ONS_CHECK(node->phase == ONS_FORWARD, ONS_UNSUPPORTED,
                      "node '%s': the forward part reads what it makes, and it is a backward node", node->name);
        } else {
            c->kind[id] = ONS_PART_BACKWARD;
        }
        for (uint32_t i = 0; c->kind[id] == ONS_PART_FORWARD && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) wanted[node->inputs[i]] = true;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- stages */

static bool replaces_parameter(const cutter *c, const ons_node *node) {
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE && ons_graph_value(c->whole, pair)->kind == ONS_PARAMETER) return true;
    }
    return false;
}

static ons_status *start_stages(cutter *c) {
    ONS_NEW(c->everywhere, c->scratch, c->whole->nodes.count + 1);
    ONS_NEW(c->stage, c->scratch, c->whole->nodes.count + 1);
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->whole, id);
        c->stage[id] = c->o->stage_of_node[id];
        ONS_CHECK(c->stage[id] < c->o->stages, ONS_INVALID_ARGUMENT, "node '%s': stage %u of %u", node->name,
                  c->stage[id], c->o->stages);
        c->everywhere[id] =
            ons_cut_is_view(node) || (node->phase == ONS_FORWARD && node->per_step) || replaces_parameter(c, node);
    }
    return NULL;
}

/* Towards where data flow: later stages in the forward part, earlier ones in the backward part. */
static uint32_t further(ons_part_kind part, uint32_t a, uint32_t b) {
    if (a == ONS_NONE || b == ONS_NONE) return a == ONS_NONE ? b : a;
    return (part == ONS_PART_FORWARD) == (a > b) ? a : b;
}

/* A state or buffer that some node replaces is in one place: whoever reads or replaces it is there. */
typedef struct mover {
    cutter *c;
    bool *replaced;     /* of each value: a node that runs in one stage replaces it */
    uint32_t *state_at; /* of each value that is replaced: the stage; ONS_NONE: not known yet */
    uint32_t *bound;    /* of each value: the furthest stage that made it, of those of the part that is looked at */
} mover;

static uint32_t bound_of(const mover *m, ons_part_kind part, const ons_node *node) {
    uint32_t stage = ONS_NONE;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        stage = further(part, stage, m->bound[node->inputs[i]]);
        if (m->replaced[node->inputs[i]]) stage = further(part, stage, m->state_at[node->inputs[i]]);
    }
    return stage;
}

static void note_states(mover *m, const ons_node *node, uint32_t stage) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE && m->replaced[node->inputs[i]]) m->state_at[node->inputs[i]] = stage;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair =
            node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(m->c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE && m->replaced[pair]) m->state_at[pair] = stage;
    }
}

static bool move_node(mover *m, ons_part_kind part, ons_node_id id) {
    cutter *c = m->c;
    const ons_node *node = ons_graph_node(c->whole, id);
    uint32_t bound = bound_of(m, part, node), before = c->stage[id];
    if (!c->everywhere[id] && c->kind[id] == part) {
        c->stage[id] = bound = further(part, before, bound);
        note_states(m, node, bound);
    } else if (!c->everywhere[id]) {
        bound = ONS_NONE; /* of another part: it is sent, or lies there */
    }
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) m->bound[node->outputs[i]] = bound;
    return c->stage[id] != before;
}

/* States tie nodes together against the order in which they stand, hence the repetition; stages change one way only. */
static void move_part(mover *m, ons_part_kind part) {
    for (ons_value_id id = 0; id < m->c->whole->values.count; ++id) m->bound[id] = ONS_NONE;
    for (bool moved = true; moved;) {
        moved = false;
        for (ons_node_id id = 0; id < m->c->whole->nodes.count; ++id) moved |= move_node(m, part, id);
    }
}

/* In the end part data flow anywhere; a state stays where the first node has it. */
static void move_end(mover *m) {
    cutter *c = m->c;
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->whole, id);
        if (c->kind[id] != ONS_PART_END || c->everywhere[id]) continue;
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE && m->replaced[node->inputs[i]] && m->state_at[node->inputs[i]] != ONS_NONE)
                c->stage[id] = m->state_at[node->inputs[i]];
        note_states(m, node, c->stage[id]);
    }
}

static ons_status *check_state(const mover *m, ons_value_id state, const ons_node *node, uint32_t stage) {
    if (!m->replaced[state]) return NULL;
    ONS_CHECK(m->state_at[state] == stage, ONS_UNSUPPORTED,
              "'%s' is kept in stage %u, and node '%s' of stage %u reads or replaces it; give them one stage",
              ons_graph_value(m->c->whole, state)->name, m->state_at[state], node->name, stage);
    return NULL;
}

static ons_status *check_states(const mover *m) {
    const cutter *c = m->c;
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->whole, id);
        if (c->everywhere[id]) continue;
        for (uint32_t i = 0; i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) ONS_TRY(check_state(m, node->inputs[i], node, c->stage[id]));
        for (uint32_t i = 0; i < node->output_count; ++i) {
            ons_value_id pair =
                node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(c->whole, node->outputs[i])->pair;
            if (pair != ONS_NONE) ONS_TRY(check_state(m, pair, node, c->stage[id]));
        }
    }
    return NULL;
}

static ons_status *move_nodes(cutter *c) {
    mover m = {.c = c};
    ONS_NEW(m.replaced, c->scratch, c->whole->values.count + 1);
    ONS_NEW(m.state_at, c->scratch, c->whole->values.count + 1);
    ONS_NEW(m.bound, c->scratch, c->whole->values.count + 1);
    for (ons_value_id id = 0; id < c->whole->values.count; ++id) {
        const ons_value *value = ons_graph_value(c->whole, id);
        m.state_at[id] = ONS_NONE;
        if (value->pair != ONS_NONE && value->producer != ONS_NONE && !c->everywhere[value->producer])
            m.replaced[value->pair] = true;
    }
    move_part(&m, ONS_PART_FORWARD);
    move_part(&m, ONS_PART_BACKWARD);
    move_end(&m);
    return check_states(&m);
}

/* ------------------------------------------------------------------------------------------------- weight gradients */

/* Backward nodes that some other stage's backward part waits for, directly or not. */
static ons_status *find_awaited(const cutter *c, bool **awaited) {
    uint32_t *reader; /* of each value: the stage of those that read it in their backward parts; of several: none */
    bool *waits;      /* of each value: somebody who is waited for reads it */
    ONS_NEW(*awaited, c->scratch, c->whole->nodes.count + 1);
    ONS_NEW(reader, c->scratch, c->whole->values.count + 1);
    ONS_NEW(waits, c->scratch, c->whole->values.count + 1);
    for (ons_value_id id = 0; id < c->whole->values.count; ++id) reader[id] = ONS_NONE;
    for (ons_node_id id = (ons_node_id)c->whole->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(c->whole, id);
        for (uint32_t i = 0; i < node->output_count && c->kind[id] == ONS_PART_BACKWARD; ++i) {
            ons_value_id out = node->outputs[i];
            if (out == ONS_NONE) continue;
            (*awaited)[id] |= waits[out] || (reader[out] != ONS_NONE && reader[out] != c->stage[id]);
        }
        for (uint32_t i = 0; i < node->input_count && c->kind[id] == ONS_PART_BACKWARD; ++i) {
            ons_value_id in = node->inputs[i];
            if (in == ONS_NONE) continue;
            waits[in] |= (*awaited)[id] || (reader[in] != ONS_NONE && reader[in] != c->stage[id]);
            reader[in] = c->stage[id];
        }
    }
    return NULL;
}

/* Weights' gradients, and what is made of them (a cast, a sum), unless another stage waits for it. */
static ons_status *part_weight_gradients(cutter *c) {
    bool *awaited, *of_weights; /* of each node; of each value: made of weights' gradients */
    if (c->o->apart == NULL) return NULL;
    ONS_TRY(find_awaited(c, &awaited));
    ONS_NEW(of_weights, c->scratch, c->whole->values.count + 1);
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->whole, id);
        bool weights = node->phase == ONS_WEIGHT_GRADIENT;
        if (c->kind[id] != ONS_PART_BACKWARD || !c->o->apart[c->stage[id]] || awaited[id]) continue;
        for (uint32_t i = 0; i < node->input_count; ++i)
            weights = weights || (node->inputs[i] != ONS_NONE && of_weights[node->inputs[i]]);
        if (!weights) continue;
        c->kind[id] = ONS_PART_WEIGHT;
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) of_weights[node->outputs[i]] = true;
    }
    return NULL;
}

/* A view that the host reads is there where its source is made. */
static void settle_views(cutter *c) {
    for (ons_node_id id = 0; id < c->whole->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->whole, id);
        if (!ons_cut_is_view(node)) continue;
        ons_node_id maker = producer_of(c, c->root[node->outputs[0]]);
        if (maker != ONS_NONE && maker != id) c->stage[id] = c->stage[maker];
    }
}

ons_status *ons_cut_place(cutter *c) {
    ONS_TRY(ons_find_roots(c->whole, c->scratch, &c->root));
    ONS_TRY(find_parts(c));
    ONS_TRY(start_stages(c));
    ONS_TRY(move_nodes(c));
    settle_views(c);
    return part_weight_gradients(c);
}

#include "graph/passes/loss_facts.h"

/* Values that the loss depends on, and the nodes on the way. */
static ons_status *trace(const ons_loss_proof *p, bool **value_read, bool **node_read) {
    const ons_graph *graph = p->view->graph;
    ONS_NEW(*value_read, p->arena, graph->values.count + 1);
    ONS_NEW(*node_read, p->arena, graph->nodes.count + 1);
    (*value_read)[p->view->loss] = true;
    for (ons_node_id id = (ons_node_id)graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->output_count; ++i)
            (*node_read)[id] |= node->outputs[i] != ONS_NONE && (*value_read)[node->outputs[i]];
        for (uint32_t i = 0; (*node_read)[id] && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) (*value_read)[node->inputs[i]] = true;
    }
    return NULL;
}

static bool is_known_total(const ons_loss_proof *p, ons_value_id id) {
    return id != ONS_NONE && p->facts[id].kind == ONS_LOSS_TOTAL && p->facts[id].known;
}

/* Totals are what nodes on the way to the loss take that are computed for each part. */
static ons_status *list_totals(const ons_loss_proof *p, const bool *node_read, ons_loss_parts *parts, bool *needed) {
    const ons_graph *graph = p->view->graph;
    bool *is_total;
    ONS_NEW(is_total, p->arena, graph->values.count + 1);
    ONS_NEW(parts->totals, p->arena, graph->values.count + 1);
    ONS_NEW(parts->late, p->arena, graph->nodes.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        parts->late[id] = node_read[id] && p->late[id];
        for (uint32_t i = 0; parts->late[id] && i < node->input_count; ++i)
            if (is_known_total(p, node->inputs[i])) is_total[node->inputs[i]] = true;
    }
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        needed[id] = is_total[id];
        if (is_total[id]) parts->totals[parts->total_count++] = id;
    }
    return NULL;
}

/* From totals back to the sums that they follow from. */
static ons_status *list_atoms(const ons_loss_proof *p, bool *needed, ons_loss_parts *parts) {
    const ons_graph *graph = p->view->graph;
    ONS_NEW(parts->atoms, p->arena, graph->values.count + 1);
    ONS_NEW(parts->factors, p->arena, graph->values.count + 1);
    for (ons_node_id id = (ons_node_id)graph->nodes.count; id-- > 0;) {
        const ons_node *node = ons_graph_node(graph, id);
        bool makes = false, atom = false;
        for (uint32_t i = 0; i < node->output_count; ++i) {
            if (node->outputs[i] == ONS_NONE || !needed[node->outputs[i]]) continue;
            const ons_loss_fact *fact = &p->facts[node->outputs[i]];
            makes = true;
            atom |= fact->atom;
            if (!fact->atom) continue;
            if (fact->degree != (fact->mean ? 0 : 1))
                parts->obstacle = (ons_blocker){node->name, node->op->name, ons_loss_other_proportion, NULL};
            parts->atoms[parts->atom_count++] = (ons_loss_atom){node->outputs[i], fact->mean};
        }
        for (uint32_t i = 0; makes && !atom && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) needed[node->inputs[i]] = true;
    }
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (needed[id] && p->facts[id].kind == ONS_LOSS_CONSTANT && p->facts[id].degree != 0)
            parts->factors[parts->factor_count++] = (ons_loss_factor){id, p->facts[id].degree};
    return NULL;
}

static ons_status *list_shares(const ons_loss_proof *p, const bool *node_read, ons_loss_parts *parts) {
    ONS_NEW(parts->shares, p->arena, p->shares.count + 1);
    for (size_t i = 0; i < p->shares.count; ++i)
        if (node_read[p->shares.items[i].node]) parts->shares[parts->share_count++] = p->shares.items[i];
    return NULL;
}

static void set_obstacle(const ons_loss_proof *p, const ons_loss_fact *loss, ons_loss_parts *parts) {
    const ons_graph *graph = p->view->graph;
    bool coupled = loss->kind == ONS_LOSS_COUPLED && loss->node != ONS_NONE;
    const ons_node *node = coupled ? ons_graph_node(graph, loss->node) : NULL;
    parts->obstacle = (ons_blocker){
        coupled ? node->name : ons_graph_value(graph, p->view->loss)->name, coupled ? node->op->name : "output",
        loss->kind == ONS_LOSS_COUPLED   ? loss->reason
        : loss->kind == ONS_LOSS_SAMPLES ? "it is no sum or mean over the samples"
                                         : "it does not grow with the samples as a sum or a mean does",
        NULL};
}

ons_status *ons_loss_parts_conclude(const ons_loss_proof *p, ons_loss_parts *parts) {
    const ons_loss_fact *loss = &p->facts[p->view->loss];
    bool *value_read, *node_read, *needed;
    bool adds_up = loss->kind == ONS_LOSS_TOTAL || loss->kind == ONS_LOSS_CONSTANT;
    parts->degree = loss->degree;
    if (!adds_up || (loss->degree != 0 && loss->degree != 1)) {
        set_obstacle(p, loss, parts);
        return NULL;
    }
    ONS_TRY(trace(p, &value_read, &node_read));
    if (p->guessed != ONS_NONE && node_read[p->guessed]) {
        const ons_node *node = ons_graph_node(p->view->graph, p->guessed);
        parts->guessed = (ons_blocker){node->name, node->op->name, "", NULL};
    }
    ONS_NEW(needed, p->arena, p->view->graph->values.count + 1);
    ONS_TRY(list_totals(p, node_read, parts, needed));
    ONS_TRY(list_atoms(p, needed, parts));
    return list_shares(p, node_read, parts);
}

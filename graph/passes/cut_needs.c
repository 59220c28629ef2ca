#include "graph/passes/cutter.h"

/* ----------------------------------------------------------------------------------------------------------- needs */

static bool note_need(cutter *c, uint32_t stage, ons_value_id value, uint8_t need) {
    uint8_t *known = &c->need[at_value(c, stage, value)];
    if (*known != 0 && *known <= need) return false;
    *known = need;
    return true;
}

/* What a node that runs in the stage reads. A state is needed where it is replaced, too. */
static bool note_reads(cutter *c, uint32_t stage, const ons_node *node, uint8_t need) {
    bool changed = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) changed |= note_need(c, stage, node->inputs[i], need);
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE) changed |= note_need(c, stage, pair, need);
    }
    return changed;
}

/* 1 + the first part in which the stage needs the node, which can run everywhere; 0: it does not need it. */
static uint8_t need_of_node(const cutter *c, uint32_t stage, const ons_node *node) {
    uint8_t first = 0;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        const ons_value *value = ons_graph_value(c->whole, node->outputs[i]);
        uint8_t need = c->need[at_value(c, stage, node->outputs[i])];
        if (need != 0 && (first == 0 || need < first)) first = need;
        bool held = value->pair != ONS_NONE && ons_graph_value(c->whole, value->pair)->kind == ONS_PARAMETER &&
                    c->need[at_value(c, stage, value->pair)] != 0;
        if (held && first == 0) first = ONS_PART_END + 1;
    }
    return first;
}

static bool note_node(cutter *c, ons_node_id id) {
    const ons_node *node = ons_graph_node(c->whole, id);
    bool changed = false;
    for (uint32_t s = 0; s < c->o->stages; ++s) {
        bool *runs = &c->runs[at_node(c, s, id)];
        uint8_t need = (uint8_t)(c->part[id] + 1);
        if (c->everywhere[id]) {
            uint8_t first = need_of_node(c, s, node);
            *runs |= first != 0;
            need = ons_cut_is_view(node) && first != 0 ? first : need;
        } else {
            *runs = c->stage[id] == s;
        }
        if (*runs) changed |= note_reads(c, s, node, need);
    }
    return changed;
}

/* Readers stand behind what they read; only the update of a tied weight learns from nodes before it. */
static void spread_needs(cutter *c) {
    for (bool changed = true; changed;) {
        changed = false;
        for (ons_node_id id = (ons_node_id)c->whole->nodes.count; id-- > 0;) changed |= note_node(c, id);
    }
}

static bool runs_somewhere(const cutter *c, ons_node_id id) {
    bool any = false;
    for (uint32_t s = 0; s < c->o->stages && !any; ++s) any = c->runs[at_node(c, s, id)];
    return any;
}

static void note_kept(cutter *c) {
    for (size_t i = 0; i < c->o->kept_count; ++i) {
        ons_value_id value = c->o->kept[i];
        ons_node_id maker = value == ONS_NONE ? ONS_NONE : producer_of(c, value);
        if (maker != ONS_NONE && c->everywhere[maker]) note_need(c, c->stage[maker], value, ONS_PART_END + 1);
    }
}

static void run_unneeded_nodes(cutter *c) {
    for (ons_node_id id = (ons_node_id)c->whole->nodes.count; id-- > 0;)
        if (c->everywhere[id] && !ons_cut_is_view(ons_graph_node(c->whole, id)) && !runs_somewhere(c, id)) {
            c->runs[at_node(c, c->stage[id], id)] = true;
            spread_needs(c);
        }
}

/* ----------------------------------------------------------------------------------------------------------- parts */

ons_part ons_cut_transfer_part(const cutter *c, ons_value_id value, uint32_t stage) {
    ons_node_id maker = producer_of(c, value);
    if (c->need[at_value(c, stage, value)] == ONS_PART_END + 1) return ONS_PART_END;
    return c->part[maker] == ONS_PART_FORWARD && c->stage[maker] > stage ? ONS_PART_BACKWARD : c->part[maker];
}

static ons_part arrival(const cutter *c, ons_value_id value, uint32_t stage) {
    ons_node_id maker = producer_of(c, value);
    if (maker == ONS_NONE) return ONS_PART_BEGIN;
    if (c->runs[at_node(c, stage, maker)]) return (ons_part)c->part_there[at_node(c, stage, maker)];
    return ons_cut_transfer_part(c, value, stage);
}

/* A view that a stage makes for its backward part stands where what it shows arrives, and a node of one stage where it
 * always stood. */
static ons_status *find_part_there(cutter *c, uint32_t stage, ons_node_id id) {
    const ons_node *node = ons_graph_node(c->whole, id);
    ons_part part = c->part[id];
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_part there = arrival(c, node->inputs[i], stage);
        ONS_CHECK(there <= part || c->everywhere[id], ONS_DEFECT, "node '%s': '%s' arrives too late in stage %u",
                  node->name, ons_graph_value(c->whole, node->inputs[i])->name, stage);
        part = there > part ? there : part;
    }
    c->part_there[at_node(c, stage, id)] = (uint8_t)part;
    return NULL;
}

ons_status *ons_cut_find_needs(cutter *c) {
    size_t stages = c->o->stages;
    ONS_NEW(c->need, c->scratch, stages * (c->whole->values.count + 1));
    ONS_NEW(c->runs, c->scratch, stages * (c->whole->nodes.count + 1));
    ONS_NEW(c->part_there, c->scratch, stages * (c->whole->nodes.count + 1));
    note_kept(c);
    spread_needs(c);
    run_unneeded_nodes(c);
    for (uint32_t s = 0; s < stages; ++s)
        for (ons_node_id id = 0; id < c->whole->nodes.count; ++id)
            if (c->runs[at_node(c, s, id)]) ONS_TRY(find_part_there(c, s, id));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- transfers */

static bool is_received(const cutter *c, uint32_t stage, ons_value_id value) {
    return c->need[at_value(c, stage, value)] != 0 && !c->runs[at_node(c, stage, producer_of(c, value))];
}

/* What a node makes and other stages read in a part; only counted where `fill` is false. */
static void send_outputs(cutter *c, ons_node_id id, ons_part part, bool fill) {
    const ons_node *node = ons_graph_node(c->whole, id);
    ons_cut_stage *from = &c->cut->stages[c->stage[id]];
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id value = node->outputs[i];
        for (uint32_t s = 0; value != ONS_NONE && s < c->o->stages; ++s) {
            if (!is_received(c, s, value) || ons_cut_transfer_part(c, value, s) != part) continue;
            ons_cut_stage *to = &c->cut->stages[s];
            ons_cut_transfer transfer = {.value = value, .part = part, .number = c->cut->transfer_count++};
            if (fill) {
                transfer.peer = s;
                from->sends[from->send_count] = transfer;
                transfer.peer = c->stage[id];
                to->receives[to->receive_count] = transfer;
            }
            ++from->send_count;
            ++to->receive_count;
        }
    }
}

static void send_all(cutter *c, bool fill) {
    c->cut->transfer_count = 0;
    for (int part = ONS_PART_BEGIN; part < ONS_PART_COUNT; ++part)
        for (ons_node_id id = 0; id < c->whole->nodes.count; ++id)
            if (!c->everywhere[id]) send_outputs(c, id, (ons_part)part, fill);
}

ons_status *ons_cut_list_transfers(cutter *c) {
    send_all(c, false);
    for (uint32_t s = 0; s < c->o->stages; ++s) {
        ons_cut_stage *stage = &c->cut->stages[s];
        ONS_NEW(stage->sends, c->cut->arena, stage->send_count);
        ONS_NEW(stage->receives, c->cut->arena, stage->receive_count);
        stage->send_count = stage->receive_count = 0;
    }
    send_all(c, true);
    return NULL;
}

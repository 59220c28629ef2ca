#include "graph/passes/cutter.h"

/* ------------------------------------------------------------------------------------------------------------ needs */

static bool note_need(cutter *c, uint32_t device, ons_value_id value, uint32_t need) {
    uint32_t *known = &c->need[at_value(c, device, value)];
    if (*known != 0 && *known <= need) return false;
    *known = need;
    return true;
}

/* What a node that runs on the device reads. A state is needed where it is replaced, too. */
static bool note_reads(cutter *c, uint32_t device, const ons_node *node, uint32_t need) {
    bool changed = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE) changed |= note_need(c, device, node->inputs[i], need);
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id pair = node->outputs[i] == ONS_NONE ? ONS_NONE : ons_graph_value(c->whole, node->outputs[i])->pair;
        if (pair != ONS_NONE) changed |= note_need(c, device, pair, need);
    }
    return changed;
}

/* 1 + the first part in which the device needs the node, which can run everywhere; 0: it does not need it. */
static uint32_t need_of_node(const cutter *c, uint32_t device, const ons_node *node) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        const ons_value *value = ons_graph_value(c->whole, node->outputs[i]);
        uint32_t need = c->need[at_value(c, device, node->outputs[i])];
        if (need != 0 && (first == 0 || need < first)) first = need;
        bool held = value->pair != ONS_NONE && ons_graph_value(c->whole, value->pair)->kind == ONS_PARAMETER &&
                    c->need[at_value(c, device, value->pair)] != 0;
        if (held && first == 0) first = ons_part_last(chunks_of(c, device)) + 1;
    }
    return first;
}

/* The part of a node on a device: of one that runs everywhere, the first that it can be. */
static ons_part part_on(const cutter *c, uint32_t device, ons_node_id id) {
    uint32_t chunks = chunks_of(c, device);
    if (!c->everywhere[id]) return part_of_stage(c, c->kind[id], c->stage[id]);
    bool backward = c->kind[id] == ONS_PART_BACKWARD || c->kind[id] == ONS_PART_WEIGHT;
    return backward ? ons_part_first_backward(chunks) : ons_part_of(chunks, c->kind[id], 0);
}

static bool note_node(cutter *c, ons_node_id id) {
    const ons_node *node = ons_graph_node(c->whole, id);
    bool changed = false;
    for (uint32_t d = 0; d < c->devices; ++d) {
        bool *runs = &c->runs[at_node(c, d, id)];
        uint32_t first = c->everywhere[id] ? need_of_node(c, d, node) : 0;
        *runs = c->everywhere[id] ? *runs || first != 0 : device_of_node(c, id) == d;
        if (!*runs) continue;
        uint32_t need = ons_cut_is_view(node) && first != 0 ? first : part_on(c, d, id) + 1;
        changed |= note_reads(c, d, node, need);
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
    for (uint32_t d = 0; d < c->devices && !any; ++d) any = c->runs[at_node(c, d, id)];
    return any;
}

static void note_kept(cutter *c) {
    for (size_t i = 0; i < c->o->kept_count; ++i) {
        ons_value_id value = c->o->kept[i];
        ons_node_id maker = value == ONS_NONE ? ONS_NONE : producer_of(c, value);
        if (maker == ONS_NONE || !c->everywhere[maker]) continue;
        uint32_t device = device_of_node(c, maker);
        note_need(c, device, value, ons_part_last(chunks_of(c, device)) + 1);
    }
}

static void run_unneeded_nodes(cutter *c) {
    for (ons_node_id id = (ons_node_id)c->whole->nodes.count; id-- > 0;)
        if (c->everywhere[id] && !ons_cut_is_view(ons_graph_node(c->whole, id)) && !runs_somewhere(c, id)) {
            c->runs[at_node(c, device_of_node(c, id), id)] = true;
            spread_needs(c);
        }
}

/* ------------------------------------------------------------------------------------------------------------ parts */

ons_part_kind ons_cut_transfer_kind(const cutter *c, ons_value_id value, uint32_t device, uint32_t *reader) {
    const ons_cut_stage *there = &c->cut->stages[device];
    ons_node_id maker = producer_of(c, value);
    ons_part part = c->need[at_value(c, device, value)] - 1;
    ons_part_kind kind = ons_part_kind_of(there->chunks, part);
    bool of_step = kind == ONS_PART_BEGIN || kind == ONS_PART_END;
    *reader = there->stages[of_step ? 0 : ons_part_chunk(there->chunks, part)];
    if (kind == ONS_PART_END) return ONS_PART_END;
    return c->kind[maker] == ONS_PART_FORWARD && c->stage[maker] > *reader ? ONS_PART_BACKWARD : c->kind[maker];
}

ons_part ons_cut_arrival(const cutter *c, ons_value_id value, uint32_t device) {
    uint32_t reader;
    ons_node_id maker = producer_of(c, value);
    if (maker == ONS_NONE) return ONS_PART_BEGIN;
    if (c->runs[at_node(c, device, maker)]) return c->part_there[at_node(c, device, maker)];
    ons_part_kind kind = ons_cut_transfer_kind(c, value, device, &reader);
    return part_of_stage(c, kind, reader);
}

/* A view that a device makes for its backward part stands where what it shows arrives, and a node of one stage where it
 * always stood. */
static ons_status *find_part_there(cutter *c, uint32_t device, ons_node_id id) {
    const ons_node *node = ons_graph_node(c->whole, id);
    ons_part part = part_on(c, device, id);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (node->inputs[i] == ONS_NONE) continue;
        ons_part there = ons_cut_arrival(c, node->inputs[i], device);
        ONS_CHECK(there <= part || c->everywhere[id], ONS_DEFECT, "node '%s': '%s' arrives too late on device %u",
                  node->name, ons_graph_value(c->whole, node->inputs[i])->name, device);
        part = there > part ? there : part;
    }
    c->part_there[at_node(c, device, id)] = part;
    return NULL;
}

ons_status *ons_cut_find_needs(cutter *c) {
    size_t devices = c->devices;
    ONS_NEW(c->need, c->scratch, devices * (c->whole->values.count + 1));
    ONS_NEW(c->runs, c->scratch, devices * (c->whole->nodes.count + 1));
    ONS_NEW(c->part_there, c->scratch, devices * (c->whole->nodes.count + 1));
    note_kept(c);
    spread_needs(c);
    run_unneeded_nodes(c);
    for (uint32_t d = 0; d < c->devices; ++d)
        for (ons_node_id id = 0; id < c->whole->nodes.count; ++id)
            if (c->runs[at_node(c, d, id)]) ONS_TRY(find_part_there(c, d, id));
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- transfers */

static bool is_received(const cutter *c, uint32_t device, ons_value_id value) {
    return c->need[at_value(c, device, value)] != 0 && !c->runs[at_node(c, device, producer_of(c, value))];
}

static void send_to(cutter *c, ons_value_id value, uint32_t device, ons_part_kind kind, uint32_t reader, bool fill) {
    uint32_t maker = c->stage[producer_of(c, value)];
    ons_cut_stage *from = &c->cut->stages[c->device[maker]], *to = &c->cut->stages[device];
    ons_cut_transfer transfer = {.value = value,
                                 .peer = device,
                                 .kind = kind,
                                 .part = part_of_stage(c, kind, maker),
                                 .from = maker,
                                 .to = reader,
                                 .channel = (maker * c->o->stages + reader) * ONS_PART_KINDS + kind,
                                 .number = c->cut->transfer_count++};
    if (fill) {
        from->sends[from->send_count] = transfer;
        transfer.peer = c->device[maker];
        transfer.part = part_of_stage(c, kind, reader);
        to->receives[to->receive_count] = transfer;
    }
    ++from->send_count;
    ++to->receive_count;
}

/* What a node makes and other devices read, and is sent in this kind of part; only counted where `fill` is false. */
static void send_outputs(cutter *c, ons_node_id id, ons_part_kind kind, bool fill) {
    const ons_node *node = ons_graph_node(c->whole, id);
    for (uint32_t i = 0; i < node->output_count; ++i) {
        ons_value_id value = node->outputs[i];
        for (uint32_t d = 0; value != ONS_NONE && d < c->devices; ++d) {
            uint32_t reader;
            if (is_received(c, d, value) && ons_cut_transfer_kind(c, value, d, &reader) == kind)
                send_to(c, value, d, kind, reader, fill);
        }
    }
}

static void send_all(cutter *c, bool fill) {
    c->cut->transfer_count = 0;
    for (int kind = ONS_PART_BEGIN; kind < ONS_PART_KINDS; ++kind)
        for (ons_node_id id = 0; id < c->whole->nodes.count; ++id)
            if (!c->everywhere[id]) send_outputs(c, id, (ons_part_kind)kind, fill);
}

ons_status *ons_cut_list_transfers(cutter *c) {
    send_all(c, false);
    for (uint32_t d = 0; d < c->devices; ++d) {
        ons_cut_stage *device = &c->cut->stages[d];
        ONS_NEW(device->sends, c->cut->arena, device->send_count);
        ONS_NEW(device->receives, c->cut->arena, device->receive_count);
        device->send_count = device->receive_count = 0;
    }
    send_all(c, true);
    return NULL;
}

#include "runtime/program/units.h"

#include <inttypes.h>
#include <string.h>

#include "graph/operator.h"
#include "kernels/kernels.h"
#include "runtime/program/samples.h"

/* ------------------------------------------------------------------------------------------------------------ sizes */

/* Neither is 0. */
static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t size_of(const ons_schedule *schedule, uint32_t stage) {
    return ons_schedule_grouping(schedule, stage).size;
}

uint32_t ons_units_together(const ons_schedule *schedule) {
    uint32_t units = 1;
    for (uint32_t i = 0; i < schedule->stages; ++i)
        units *= size_of(schedule, i) / (uint32_t)greatest_common_divisor(units, size_of(schedule, i));
    return units;
}

uint32_t ons_units_of_device(const ons_schedule *schedule, uint32_t device) {
    for (uint32_t i = 0; i < schedule->stages; ++i)
        if (ons_schedule_holds(schedule, i, device)) return size_of(schedule, i);
    return 1;
}

ons_status *ons_units_sizes(const ons_schedule *schedule, ons_arena *arena, uint32_t **sizes) {
    *sizes = NULL;
    if (ons_units_together(schedule) == 1) return NULL;
    ONS_NEW(*sizes, arena, schedule->devices);
    for (uint32_t i = 0; i < schedule->devices; ++i) (*sizes)[i] = ons_units_of_device(schedule, i);
    return NULL;
}

ons_status *ons_units_group_sizes(const ons_schedule *schedule, ons_arena *arena, uint32_t **sizes) {
    ons_device_groups groups;
    uint32_t *of_device;
    ONS_TRY(ons_units_sizes(schedule, arena, &of_device));
    *sizes = NULL;
    if (of_device == NULL) return NULL;
    ONS_TRY(ons_device_groups_find(schedule, arena, &groups));
    ONS_NEW(*sizes, arena, groups.count);
    for (uint32_t i = 0; i < groups.count; ++i) (*sizes)[i] = of_device[groups.items[i].first];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- shares */

/* From there on everything repeats itself. */
static uint64_t period_of(const ons_unit_share *a, const ons_unit_share *b) {
    uint64_t first = (uint64_t)a->size * a->copies, second = (uint64_t)b->size * b->copies;
    return first * (second / greatest_common_divisor(first, second));
}

static uint64_t next_of_both(const ons_unit_share *a, const ons_unit_share *b, uint64_t unit) {
    return ons_unit_share_next(b, ons_unit_share_next(a, unit));
}

uint64_t ons_units_next_common(const ons_unit_share *a, const ons_unit_share *b, uint64_t unit) {
    uint64_t next = next_of_both(a, b, unit), end;
    if (next == unit) return unit; /* mostly */
    for (end = unit + period_of(a, b); next < end && next != unit; next = next_of_both(a, b, unit)) unit = next;
    return next == unit ? unit : UINT64_MAX;
}

/* --------------------------------------------------------------------------------------------------- random numbers */

static bool draws(const ons_node *node) { return (node->op->roles.traits & ONS_TRAIT_RANDOM) != 0; }

/* The attribute's place; where the operator has none, that of the end. */
static uint32_t find_attribute(const ons_node *node) {
    uint32_t at = 0;
    while (node->op->attributes[at].name != NULL && strcmp(node->op->attributes[at].name, ONS_UNIT_ELEMENTS) != 0) ++at;
    return at;
}

/* What the node makes of one unit; NULL: it cannot draw unit by unit. */
static const ons_type *type_of_unit(const ons_graph *unit, int64_t unit_rows, const ons_graph *graph,
                                    const ons_node *node, int64_t rows) {
    ons_node_id id = ons_graph_find_node(unit, node->name);
    if (id == ONS_NONE || node->op->attributes[find_attribute(node)].name == NULL) return NULL;
    const ons_type *one = &ons_graph_value(unit, ons_graph_node(unit, id)->outputs[0])->type;
    const ons_type *all = &ons_graph_value(graph, node->outputs[0])->type;
    return ons_samples_relate(all, rows, one, unit_rows) == ONS_SAMPLES_OUTERMOST ? one : NULL;
}

static ons_status *number_node(ons_graph *graph, ons_node *node, int64_t elements) {
    ons_attribute *attributes;
    uint32_t count = 0;
    while (node->op->attributes[count].name != NULL) ++count;
    ONS_NEW(attributes, graph->arena, count);
    memcpy(attributes, node->attributes, count * sizeof *attributes);
    attributes[find_attribute(node)] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = elements};
    node->attributes = attributes;
    return NULL;
}

ons_status *ons_units_number_elements(const ons_graph *unit, int64_t unit_rows, ons_graph *graph, int64_t rows) {
    if (rows <= unit_rows) return NULL;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node *node = ons_graph_node(graph, id);
        if (!draws(node)) continue;
        const ons_type *one = type_of_unit(unit, unit_rows, graph, node, rows);
        ONS_CHECK(one != NULL, ONS_UNSUPPORTED,
                  "node '%s' (%s) does not draw its random numbers sample by sample, or its samples are not the "
                  "outermost axis in memory: micro-batches of %" PRId64 " samples and of %" PRId64
                  " would not draw the same; plan without micro-batches of a stage's own size, or give --dropout off",
                  node->name, node->op->name, rows, unit_rows);
        ONS_TRY(number_node(graph, node, ons_shape_elements(&one->shape)));
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- messages */

typedef struct connection {
    const ons_cut_stage *from, *to; /* of the lowering for the one's size, and for the other's */
    uint32_t size, other_size;
    const ons_registry *registry;
} connection;

/* The next transfer of the channel from `at` on; `count`: there is none. */
static uint32_t next_of(const ons_cut_transfer *list, uint32_t count, uint32_t at, uint32_t channel) {
    while (at < count && list[at].channel != channel) ++at;
    return at;
}

static const ons_value *value_of(const ons_cut_stage *stage, const ons_cut_transfer *t) {
    return ons_graph_value(stage->graph, t->value);
}

static bool goes_in_pieces(const connection *l, const ons_type *sent, const ons_type *received) {
    int64_t bytes = ons_registry_type_bytes(l->registry, sent), others = ons_registry_type_bytes(l->registry, received);
    bool outermost = ons_samples_relate(sent, l->size, received, l->other_size) == ONS_SAMPLES_OUTERMOST;
    return outermost && bytes % l->size == 0 && others % l->other_size == 0 &&
           bytes / l->size == others / l->other_size;
}

static ons_status *check_transfer(const connection *l, const ons_cut_transfer *send, const ons_cut_transfer *receive) {
    const ons_value *sent = value_of(l->from, send), *received = value_of(l->to, receive);
    ONS_CHECK(strcmp(sent->name, received->name) == 0, ONS_UNSUPPORTED,
              "stage %u would send '%s' and stage %u wait for '%s': with %u and %u units of a step at once they do not "
              "have the same nodes; give both micro-batches of one size, or cut elsewhere",
              send->from, sent->name, send->to, received->name, l->size, l->other_size);
    ONS_CHECK(goes_in_pieces(l, &sent->type, &received->type), ONS_UNSUPPORTED,
              "'%s' goes from stage %u, which takes %u units of a step at once, to stage %u, which takes %u, and its "
              "samples are not the outermost axis in memory (or it has none), so it cannot go in pieces; give both "
              "stages micro-batches of one size, or cut elsewhere",
              sent->name, send->from, l->size, send->to, l->other_size);
    return NULL;
}

/* What the one sends over a channel is what the other waits for. */
static ons_status *check_channel(const connection *l, uint32_t channel) {
    uint32_t send = 0, receive = 0;
    for (;; ++send, ++receive) {
        send = next_of(l->from->sends, l->from->send_count, send, channel);
        receive = next_of(l->to->receives, l->to->receive_count, receive, channel);
        bool sends = send < l->from->send_count, receives = receive < l->to->receive_count;
        if (!sends && !receives) return NULL;
        const ons_cut_transfer *t = sends ? &l->from->sends[send] : &l->to->receives[receive];
        ONS_CHECK(sends && receives, ONS_UNSUPPORTED,
                  "'%s' goes from stage %u to stage %u with %u units of a step at once, and not with %u; give both "
                  "micro-batches of one size, or cut elsewhere",
                  value_of(sends ? l->from : l->to, t)->name, t->from, t->to, sends ? l->size : l->other_size,
                  sends ? l->other_size : l->size);
        ONS_TRY(check_transfer(l, &l->from->sends[send], &l->to->receives[receive]));
    }
}

static ons_status *check_link(const connection *l, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < l->from->send_count; ++i) {
        const ons_cut_transfer *t = &l->from->sends[i];
        bool first = next_of(l->from->sends, i, 0, t->channel) == i;
        if (t->peer == to && first && ons_units_is_cut(t->kind)) ONS_TRY(check_channel(l, t->channel));
    }
    for (uint32_t i = 0; i < l->to->receive_count; ++i) {
        const ons_cut_transfer *t = &l->to->receives[i];
        bool sent = next_of(l->from->sends, l->from->send_count, 0, t->channel) < l->from->send_count;
        if (t->peer == from && !sent && ons_units_is_cut(t->kind)) ONS_TRY(check_channel(l, t->channel));
    }
    return NULL;
}

ons_status *ons_units_check_messages(const ons_cut *const *cuts, const uint32_t *sizes, const ons_registry *registry) {
    uint32_t devices = cuts[0]->stage_count;
    for (uint32_t from = 0; from < devices; ++from)
        for (uint32_t to = 0; to < devices; ++to) {
            const connection l = {&cuts[from]->stages[from], &cuts[to]->stages[to], sizes[from], sizes[to], registry};
            if (from != to && sizes[from] != sizes[to]) ONS_TRY(check_link(&l, from, to));
        }
    return NULL;
}

/* Weights whose gates' blocks of rows were put into ONNX's order by Slice, Split and Concat, found by where their
 * elements lie in memory: a weight is a list of runs of elements of what it was made of. */
#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/layout/upwards.h"
#include "kernels/common/layout/views.h"
#include "kernels/operators.h"
#include "kernels/recurrent/recurrent.h"

/* Both directions, both biases of each, a run for each gate. */
enum { RUNS_MOST = 2 * ONS_RECURRENT_DIRECTIONS * ONS_RECURRENT_GATES };

/* Elements [start, start + count) of `base`. */
typedef struct run {
    ons_value_id base;
    int64_t start, count;
} run;

typedef struct runs {
    run items[RUNS_MOST];
    uint32_t count;
} runs;

static bool is_dense_view(const ons_view *view) {
    ons_view_part parts[ONS_VIEW_PARTS];
    uint32_t count = ons_view_parts(view, 0, view->shape.rank, parts);
    return count == 0 || (count == 1 && parts[0].step == 1);
}

/* A value that no Concat made: the run furthest up. */
static bool add_run(const ons_graph *graph, ons_value_id value, runs *to) {
    int64_t count = ons_shape_elements(&ons_graph_value(graph, value)->type.shape);
    if (to->count == RUNS_MOST || count == 0) return false;
    run *made = &to->items[to->count++];
    for (ons_value_id base = value; base != ONS_NONE; base = ons_view_source(graph, base, NULL)) {
        ons_view view;
        if (ons_view_within(graph, base, value, NULL, &view) && is_dense_view(&view))
            *made = (run){base, view.start, count};
    }
    return true;
}

/* Whether the parts lie one after the other in memory: nothing is in front of the axis. */
static bool joins_memory(const ons_graph *graph, const ons_node *concat) {
    const ons_shape *shape = &ons_graph_value(graph, concat->outputs[0])->type.shape;
    uint32_t axis;
    if (!ons_axis_resolve(concat->attributes[0].i, shape->rank, &axis)) return false;
    for (uint32_t i = 0; i < axis; ++i)
        if (shape->dims[i] != 1) return false;
    return true;
}

static bool list_runs(const ons_graph *graph, ons_value_id value, runs *to) {
    const ons_node *concat = ons_made_by(graph, ons_view_unshaped(graph, value), "Concat");
    if (concat == NULL || !joins_memory(graph, concat)) return add_run(graph, value, to);
    for (uint32_t i = 0; i < concat->input_count; ++i)
        if (!list_runs(graph, concat->inputs[i], to)) return false;
    return true;
}

/* Takes `count` elements off the front of the runs; false where they do not lie together. */
static bool take(runs *from, uint32_t *next, int64_t count, run *taken) {
    if (*next == from->count) return false;
    run *first = &from->items[*next];
    *taken = (run){first->base, first->start, count};
    if (first->count < count) return false;
    first->start += count;
    first->count -= count;
    if (first->count == 0) ++*next;
    return true;
}

/* One operand in the order of its source. */
typedef struct operand {
    ons_value_id bases[2 * ONS_RECURRENT_DIRECTIONS];
    uint32_t count;
} operand;

/* The gates of one direction (and, of the biases, of one of the two): all blocks of one value, in an order that is
 * that of `order` or, where it has none yet, becomes it. */
static bool find_unit(const ons_graph *graph, runs *from, uint32_t *next, int64_t gates, int64_t block, int64_t *order,
                      operand *to) {
    ons_value_id base = ONS_NONE;
    for (int64_t gate = 0; gate < gates; ++gate) {
        run taken;
        if (!take(from, next, block, &taken) || taken.start % block != 0 || (gate > 0 && taken.base != base))
            return false;
        base = taken.base;
        int64_t place = taken.start / block;
        if (place >= gates || (order[place] >= 0 && order[place] != gate)) return false;
        order[place] = gate;
    }
    if (ons_shape_elements(&ons_graph_value(graph, base)->type.shape) != gates * block) return false;
    to->bases[to->count++] = base;
    return true;
}

static bool find_operand(const ons_graph *graph, ons_value_id value, uint32_t units, int64_t gates, int64_t *order,
                         operand *to) {
    runs found = {.count = 0};
    uint32_t next = 0;
    int64_t block = ons_shape_elements(&ons_graph_value(graph, value)->type.shape) / (units * gates);
    to->count = 0;
    if (block == 0 || !list_runs(graph, value, &found)) return false;
    for (uint32_t i = 0; i < units; ++i)
        if (!find_unit(graph, &found, &next, gates, block, order, to)) return false;
    return true;
}

/* The bases one after the other, as the operand's shape. */
static ons_value_id join(ons_builder *builder, const operand *o, const ons_shape *shape) {
    const ons_shape flat = {1, {ons_shape_elements(shape) / o->count}};
    ons_value_id parts[2 * ONS_RECURRENT_DIRECTIONS];
    if (o->count == 1) return ons_build_reshape(builder, o->bases[0], shape);
    for (uint32_t i = 0; i < o->count; ++i) parts[i] = ons_build_reshape(builder, o->bases[i], &flat);
    ons_value_id all = ons_build(builder, &ons_op_concat, (ons_inputs){parts, o->count}, ONS_WITH(ONS_AT_INT(0, 0)));
    return ons_build_reshape(builder, all, shape);
}

static bool is_as_exported(const int64_t *order, int64_t gates) {
    for (int64_t i = 0; i < gates; ++i)
        if (order[i] != i) return false;
    return true;
}

static ons_value_id rebuild(ons_match *match, const ons_node *node, ons_cell cell, const operand found[],
                            const int64_t *order) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *o = ons_match_node(match, "result");
    ons_value_id inputs[ONS_RECURRENT_P + 1], made[ONS_RECURRENT_Y_C + 2];
    ons_attribute attributes[ONS_RECURRENT_VARIANT + 1];
    static const bool wanted[ONS_RECURRENT_Y_C + 2] = {true};
    if (o == NULL) return ONS_NONE;
    uint32_t input_count = o->input_count, output_count = o->output_count;
    memcpy(inputs, node->inputs, input_count * sizeof *inputs);
    memcpy(attributes, o->attributes, sizeof attributes);
    attributes[ONS_RECURRENT_GATE_ORDER] =
        (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = (uint32_t)cell, .ints = order};
    for (uint32_t i = ONS_RECURRENT_W; i <= ONS_RECURRENT_B; ++i)
        if (found[i].count > 0) inputs[i] = join(builder, &found[i], &o->inputs[i].shape);
    ons_node_id fresh =
        ons_build_node_like(builder, o->op, (ons_inputs){inputs, input_count}, attributes, output_count, wanted, made);
    ons_match_hand_over(match, "result", fresh);
    return fresh == ONS_NONE ? ONS_NONE : made[ONS_RECURRENT_Y];
}

ons_value_id ons_recurrent_take_order(ons_match *match, ons_cell cell) {
    const ons_graph *graph = ons_match_builder(match)->graph;
    const ons_node *node = ons_graph_node(graph, ons_graph_value(graph, ons_match_value(match, "result"))->producer);
    const ons_shape *weights = &ons_graph_value(graph, node->inputs[ONS_RECURRENT_W])->type.shape;
    uint32_t directions = (uint32_t)weights->dims[0];
    int64_t order[ONS_RECURRENT_GATES] = {-1, -1, -1, -1}, gates = (int64_t)cell;
    operand found[ONS_RECURRENT_B + 1] = {0};
    if (node->attributes[ONS_RECURRENT_GATE_ORDER].kind == ONS_ATTRIBUTE_INTS) return ONS_NONE;
    for (uint32_t i = ONS_RECURRENT_W; i <= ONS_RECURRENT_B && i < node->input_count; ++i) {
        uint32_t units = i == ONS_RECURRENT_B ? 2 * directions : directions;
        if (node->inputs[i] == ONS_NONE) continue;
        if (!find_operand(graph, node->inputs[i], units, gates, order, &found[i])) return ONS_NONE;
    }
    bool fits = cell != ONS_CELL_GRU || order[ONS_GRU_H] == ONS_GRU_H;
    return fits && !is_as_exported(order, gates) ? rebuild(match, node, cell, found, order) : ONS_NONE;
}

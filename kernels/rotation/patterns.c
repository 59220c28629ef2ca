/* Rotary embedding as models spell it:
 *
 *     x · cos + concat(-x₂, x₁) · sin                          Llama, GPT-NeoX
 *     concat(x₁ · cos - x₂ · sin, x₂ · cos + x₁ · sin)         halves, cosines of pairs
 *     the same of every second element, stacked                GPT-J, the Llama paper
 *     concat(turned first part, other part)                    Phi
 *
 * where x₁ and x₂ are slices of x, or results of a Split. */
#include "kernels/rotation/patterns.h"

#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"

/* Elements [begin, end) of the source's last axis, every step-th. */
typedef struct part {
    ons_value_id source;
    int64_t begin, end, step;
} part;

static const ons_node *producer_of(const ons_graph *graph, ons_value_id value) {
    ons_node_id id = value == ONS_NONE ? ONS_NONE : ons_graph_value(graph, value)->producer;
    return id == ONS_NONE ? NULL : ons_graph_node(graph, id);
}

static int64_t length_of(const ons_graph *graph, ons_value_id value) {
    const ons_shape *shape = &ons_graph_value(graph, value)->type.shape;
    return shape->rank == 0 ? 0 : shape->dims[shape->rank - 1];
}

/* The one known integer of a Slice's operand. */
static bool read_integer(const ons_graph *graph, const ons_node *node, uint32_t input, int64_t *number) {
    if (input >= node->input_count || node->inputs[input] == ONS_NONE) return false;
    const ons_tensor *known = ons_graph_constant(graph, node->inputs[input]);
    if (known == NULL || known->data == NULL || ons_shape_elements(&known->type.shape) != 1) return false;
    int32_t narrow;
    if (known->type.dtype == ONS_INT64) memcpy(number, known->data, sizeof *number);
    if (known->type.dtype == ONS_INT32) memcpy(&narrow, known->data, sizeof narrow);
    if (known->type.dtype == ONS_INT32) *number = narrow;
    return known->type.dtype == ONS_INT64 || known->type.dtype == ONS_INT32;
}

static bool is_last_axis(const ons_graph *graph, ons_value_id value, int64_t axis) {
    uint32_t rank = ons_graph_value(graph, value)->type.shape.rank, resolved;
    return ons_axis_resolve(axis, rank, &resolved) && resolved + 1 == rank;
}

static int64_t clamp(int64_t index, int64_t length) {
    if (index < 0) index = index < -length ? 0 : index + length;
    return index > length ? length : index;
}

static bool read_slice(const ons_graph *graph, const ons_node *node, part *p) {
    int64_t axis = 0, length = length_of(graph, node->inputs[0]);
    *p = (part){.source = node->inputs[0], .step = 1};
    bool has_step = node->input_count > 4 && node->inputs[4] != ONS_NONE;
    bool whole = node->input_count <= 3 || node->inputs[3] == ONS_NONE; /* axes from the first on */
    if (!read_integer(graph, node, 1, &p->begin) || !read_integer(graph, node, 2, &p->end) ||
        (!whole && !read_integer(graph, node, 3, &axis)) || (has_step && !read_integer(graph, node, 4, &p->step)) ||
        p->step < 1 || !is_last_axis(graph, p->source, axis))
        return false;
    p->begin = clamp(p->begin, length);
    p->end = clamp(p->end, length);
    return true;
}

static bool read_split(const ons_graph *graph, const ons_node *node, ons_value_id value, part *p) {
    *p = (part){.source = node->inputs[0], .step = 1};
    if (node->attributes[0].kind != ONS_ATTRIBUTE_INT || !is_last_axis(graph, p->source, node->attributes[0].i))
        return false;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) return false;
        p->end = p->begin + length_of(graph, node->outputs[i]);
        if (node->outputs[i] == value) return true;
        p->begin = p->end;
    }
    return false;
}

static bool read_part(const ons_graph *graph, ons_value_id value, part *p) {
    const ons_node *node = producer_of(graph, value);
    if (node == NULL) return false;
    if (strcmp(node->op->name, "Slice") == 0) return read_slice(graph, node, p);
    return strcmp(node->op->name, "Split") == 0 && read_split(graph, node, value, p);
}

/* Whether the two are the halves of one value, in order. */
static bool are_halves(const part *first, const part *second, int64_t length) {
    return first->source == second->source && first->step == 1 && second->step == 1 && first->begin == 0 &&
           first->end == second->begin && 2 * first->end == length && second->end == length;
}

/* Whether they are the even and the odd elements. */
static bool are_neighbours(const part *first, const part *second, int64_t length) {
    return first->source == second->source && first->step == 2 && second->step == 2 && first->begin == 0 &&
           second->begin == 1 && first->end >= length - 1 && second->end == length && length % 2 == 0;
}

/* The rotation of x by tables that fit it: they may not widen it. */
static ons_value_id build(ons_builder *builder, ons_value_id x, ons_value_id cosines, ons_value_id sines,
                          bool interleaved) {
    const ons_graph *graph = builder->graph;
    const ons_type *type = &ons_graph_value(graph, x)->type, *table = &ons_graph_value(graph, cosines)->type;
    ons_shape joined, turned = type->shape, wide = table->shape;
    int64_t length = length_of(graph, x), numbers = length_of(graph, cosines);
    if (table->shape.rank == 0 || type->dtype != table->dtype ||
        !ons_type_equal(table, &ons_graph_value(graph, sines)->type) || length == 0 ||
        (numbers != length && 2 * numbers != length))
        return ONS_NONE;
    wide.dims[wide.rank - 1] = length;
    if (!ons_shape_broadcast(&turned, &wide, &joined) || !ons_shape_equal(&joined, &turned)) return ONS_NONE;
    return ons_build(builder, &ons_op_rotation, ONS_IN(x, cosines, sines),
                     ONS_WITH(ONS_AT_INT(ONS_ROTATION_INTERLEAVED, interleaved)));
}

static bool is_concat_on_last_axis(const ons_match *match, const char *name) {
    const ons_operands *concat = ons_match_node(match, name);
    return concat != NULL && concat->input_count == 2 && concat->attributes[0].kind == ONS_ATTRIBUTE_INT &&
           (concat->attributes[0].i == -1 || concat->attributes[0].i == (int64_t)concat->inputs[0].shape.rank - 1);
}

static ons_value_id replace_half_turn(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_graph *graph = builder->graph;
    ons_value_id x = ons_match_value(match, "x"), cosines = ons_match_value(match, "cosines"),
                 sines = ons_match_value(match, "sines");
    part first, second;
    if (!is_concat_on_last_axis(match, "turned") || !read_part(graph, ons_match_value(match, "first"), &first) ||
        !read_part(graph, ons_match_value(match, "second"), &second) || first.source != x ||
        !are_halves(&first, &second, length_of(graph, x)) || length_of(graph, cosines) != length_of(graph, x))
        return ONS_NONE;
    return build(builder, x, cosines, sines, false);
}

static ons_value_id replace_parts(ons_match *match, bool interleaved) {
    ons_builder *builder = ons_match_builder(match);
    const ons_graph *graph = builder->graph;
    ons_value_id cosines = ons_match_value(match, "cosines"), sines = ons_match_value(match, "sines");
    part first, second;
    if (!read_part(graph, ons_match_value(match, "first"), &first) ||
        !read_part(graph, ons_match_value(match, "second"), &second))
        return ONS_NONE;
    int64_t length = length_of(graph, first.source);
    bool fits = interleaved ? are_neighbours(&first, &second, length) : are_halves(&first, &second, length);
    if (!fits || 2 * length_of(graph, cosines) != length) return ONS_NONE;
    return build(builder, first.source, cosines, sines, interleaved);
}

static ons_value_id replace_halves(ons_match *match) {
    return is_concat_on_last_axis(match, "result") ? replace_parts(match, false) : ONS_NONE;
}

/* [.., n, 1] and [.., n, 1] joined on the last axis and flattened are the source's elements in order. */
static ons_value_id replace_neighbours(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    ons_type whole = ons_match_type(match, "result");
    const ons_operands *joined = ons_match_node(match, "joined");
    if (!is_concat_on_last_axis(match, "joined") || joined->inputs[0].shape.rank == 0 ||
        joined->inputs[0].shape.dims[joined->inputs[0].shape.rank - 1] != 1)
        return ONS_NONE;
    ons_value_id turned = replace_parts(match, true);
    ons_shape shape = ons_builder_type(builder, turned).shape;
    if (turned == ONS_NONE || ons_shape_equal(&whole.shape, &shape)) return turned;
    return ons_build_reshape(builder, turned, &whole.shape);
}

/* concat(turned x[.. , :n], x[.., n:]) */
static ons_value_id replace_first_part(ons_match *match) {
    ons_builder *builder = ons_match_builder(match);
    const ons_graph *graph = builder->graph;
    const ons_operands *rotation = ons_match_node(match, "turned");
    part first, other;
    if (!is_concat_on_last_axis(match, "result") || rotation == NULL || rotation->op != &ons_op_rotation ||
        rotation->attributes[ONS_ROTATION_SIZE].i != 0 || rotation->attributes[ONS_ROTATION_INVERSE].i != 0 ||
        !read_part(graph, ons_match_value(match, "x"), &first) ||
        !read_part(graph, ons_match_value(match, "other"), &other) || first.source != other.source ||
        first.begin != 0 || first.step != 1 || other.step != 1 || other.begin != first.end ||
        other.end != length_of(graph, first.source) || first.end == 0)
        return ONS_NONE;
    return ons_build(builder, &ons_op_rotation,
                     ONS_IN(first.source, ons_match_value(match, "cosines"), ons_match_value(match, "sines")),
                     ONS_WITH(ONS_AT_INT(ONS_ROTATION_SIZE, first.end),
                              ONS_AT_INT(ONS_ROTATION_INTERLEAVED, rotation->attributes[ONS_ROTATION_INTERLEAVED].i)));
}

const ons_pattern ons_rotation_patterns[] = {
    {"Add(Mul(x, cosines), Mul(turned=Concat(Neg(second), first), sines))", replace_half_turn},
    {"Concat(Sub(Mul(first, cosines), Mul(second, sines)), Add(Mul(second, cosines), Mul(first, sines)))",
     replace_halves},
    {"Reshape(joined=Concat(Unsqueeze(Sub(Mul(first, cosines), Mul(second, sines))), "
     "Unsqueeze(Add(Mul(first, sines), Mul(second, cosines)))))",
     replace_neighbours},
    {"Reshape(joined=Concat(Reshape(Sub(Mul(first, cosines), Mul(second, sines))), "
     "Reshape(Add(Mul(first, sines), Mul(second, cosines)))))",
     replace_neighbours},
    {"Concat(turned=Rotation(x, cosines, sines), other)", replace_first_part},
    {.form = NULL},
};

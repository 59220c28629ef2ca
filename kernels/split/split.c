/* Split: pieces of the input along an axis, of the sizes in input 1, or all equal (the last one smaller where
 * num_outputs says how many). */
#include "kernels/split/split.h"

#include "graph/evaluate.h"
#include "graph/upgrade.h"
#include "kernels/concat/pieces.h"
#include "kernels/gather_scatter/scatter.h"
#include "kernels/operators.h"

enum { AXIS, NUM_OUTPUTS };

static ons_status *equal_sizes(const ons_operands *o, int64_t length, int64_t *size, uint32_t *count) {
    int64_t wanted = ons_has_attribute(o, NUM_OUTPUTS) ? ons_attribute_int(o, NUM_OUTPUTS) : o->output_count;
    if (wanted <= 0 || wanted > PIECES_MAX || wanted < o->output_count)
        return ons_node_error(o, "cannot be split into %lld pieces for %u outputs", (long long)wanted, o->output_count);
    *count = (uint32_t)wanted;
    if (!ons_has_attribute(o, NUM_OUTPUTS) && length % *count != 0)
        return ons_node_error(o, "%lld elements do not split into %u equal pieces", (long long)length, *count);
    *size = (length + *count - 1) / *count;
    return NULL;
}

static ons_status *read_sizes(const ons_operands *o, int64_t sizes[static PIECES_MAX], uint32_t *count) {
    const ons_tensor *known = &o->constants[1];
    int64_t elements = ons_elements(&o->inputs[1]);
    if (known->data == NULL || elements <= ONS_INTEGERS_MAX) return ons_constant_integers(o, 1, sizes, count);
    if (elements > PIECES_MAX || (known->type.dtype != ONS_INT64 && known->type.dtype != ONS_INT32))
        return ons_node_error(o, "cannot be split into %lld pieces", (long long)elements);
    ons_widen(known->type.dtype, known->data, elements, sizes);
    *count = (uint32_t)elements;
    return NULL;
}

static ons_status *find_sizes(const ons_operands *o, uint32_t axis, int64_t sizes[static PIECES_MAX], uint32_t *count) {
    int64_t length = o->inputs[0].shape.dims[axis], size = 0, total = 0;
    if (ons_has_input(o, 1)) {
        ONS_TRY(read_sizes(o, sizes, count));
    } else {
        ONS_TRY(equal_sizes(o, length, &size, count));
        for (uint32_t i = 0; i < *count; ++i)
            sizes[i] = size * (i + 1) <= length ? size : size * i < length ? length - size * i : 0;
    }
    if (*count < o->output_count) return ons_node_error(o, "%u sizes for %u outputs", *count, o->output_count);
    for (uint32_t i = 0; i < *count; ++i) {
        if (sizes[i] < 0 || sizes[i] > length)
            return ons_node_error(o, "a piece of %lld elements", (long long)sizes[i]);
        total += total > length ? 0 : sizes[i];
    }
    if (total != length)
        return ons_node_error(o, "the pieces have %lld elements together, axis %u has %lld", (long long)total, axis,
                              (long long)length);
    return NULL;
}

static ons_status *split_infer(ons_operands *o) {
    uint32_t axis, count;
    int64_t sizes[PIECES_MAX];
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), o->inputs[0].shape.rank, &axis));
    ONS_TRY(find_sizes(o, axis, sizes, &count));
    for (uint32_t i = 0; i < o->output_count; ++i) {
        o->outputs[i] = o->inputs[0];
        o->outputs[i].shape.dims[axis] = sizes[i];
    }
    return NULL;
}

uint32_t ons_split_find_pieces(const ons_operands *o, ons_type pieces[static PIECES_MAX], uint32_t *axis) {
    int64_t sizes[PIECES_MAX];
    uint32_t count = 0;
    *axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[0].shape.rank, axis);
    ons_resolved(find_sizes(o, *axis, sizes, &count));
    for (uint32_t i = 0; i < count; ++i) {
        pieces[i] = o->inputs[0];
        pieces[i].shape.dims[*axis] = sizes[i];
    }
    return count;
}

static void split_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_type pieces[PIECES_MAX];
    uint32_t axis, count = ons_split_find_pieces(o, pieces, &axis);
    int64_t start = 0;
    for (uint32_t i = 0; i < count && i < o->output_count; ++i) {
        ons_piece_reference(&o->inputs[0].shape, &pieces[i].shape, axis, start, false, inputs[0], outputs[i]);
        start += pieces[i].shape.dims[axis];
    }
}

/* What nobody reads has no cotangent: zeros stand in for it. */
static ons_status *split_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_type pieces[PIECES_MAX];
    uint32_t axis, count = ons_split_find_pieces(o, pieces, &axis);
    ons_value_id parts[PIECES_MAX];
    for (uint32_t i = 0; i < count; ++i) {
        bool flows = i < o->output_count && g->cotangents[i] != ONS_NONE;
        parts[i] = flows ? g->cotangents[i] : ons_build_zeros(g->builder, &pieces[i]);
    }
    g->gradients[0] = ons_build(g->builder, &ons_op_concat, (ons_inputs){parts, count}, ONS_WITH(ONS_AT_INT(0, axis)));
    return NULL;
}

static ons_status *split_upgrade(ons_upgrade *u) { return ons_upgrade_attribute_to_input(u, "split", 1, ONS_INT64); }

ONS_DEFINE_OPERATOR(split, "Split", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, ONS_VARIADIC),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0),
                                   ONS_OPTIONAL_ATTRIBUTE("num_outputs", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(split_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(split_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_SPLIT, ONS_TRAIT_ANY_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_pieces_choose_pieces), ONS_FORMS(split_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(split_reference));

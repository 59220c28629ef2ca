/* ScatterND: the data with updates put, or added, at the slices that index tuples name. */
#include "kernels/scatter_nd/scatter_nd_node.h"

#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter.h"
#include "kernels/operators.h"

static ons_status *scatter_nd_infer(ons_operands *o) {
    ons_nd_indexing indexing;
    uint32_t tail;
    ons_shape updates;
    ONS_TRY(find_indexing(o, &indexing, &tail));
    ONS_TRY(ons_nd_indexing_shape(o, &o->inputs[DATA].shape, tail, &updates));
    if (!ons_shape_equal(&o->inputs[UPDATES].shape, &updates) || o->inputs[UPDATES].dtype != o->inputs[DATA].dtype)
        return ons_node_error(o, "data, indices and updates do not fit together");
    if (ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)) == ONS_SCATTER_MODES)
        return ons_node_error(o, "unknown reduction '%s'", ons_attribute_string(o, REDUCTION));
    o->outputs[0] = o->inputs[DATA];
    return NULL;
}

static void scatter_nd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    ons_nd_indexing indexing = {0};
    uint32_t tail;
    ons_resolved(find_indexing(o, &indexing, &tail));
    ons_scatter_mode mode = ons_scatter_mode_of(ons_attribute_string(o, REDUCTION));
    memcpy(outputs[0], inputs[DATA], (size_t)ons_elements(&o->inputs[DATA]) * 8);
    for (int64_t i = 0; i < indexing.tuples; ++i) {
        int64_t to = ons_nd_indexing_reference(&indexing, step, inputs[INDICES], i);
        for (int64_t k = 0; to >= 0 && k < indexing.slice; ++k)
            ons_scatter_word(mode, o->inputs[DATA].dtype, outputs[0], to + k, inputs[UPDATES], i * indexing.slice + k);
    }
}

/* Without a reduction an element that was replaced has no gradient; where two updates meet, which ONNX leaves open,
 * both get that of the element, as in PyTorch. */
static ons_status *scatter_nd_gradient(ons_gradient *g) {
    const char *reduction = ons_attribute_string(g->operands, REDUCTION);
    ons_scatter_mode mode = ons_scatter_mode_of(reduction);
    ons_setting name = ONS_AT_STRING(REDUCTION, reduction);
    ons_value_id dy = g->cotangents[0], indices = ons_gradient_input(g, INDICES);
    if (mode != ONS_SCATTER_NONE && mode != ONS_SCATTER_ADD) {
        const bool wanted[2] = {g->wanted[DATA], g->wanted[UPDATES]};
        ons_value_id made[2] = {ONS_NONE, ONS_NONE};
        ons_build_node(
            g->builder, &ons_op_scatter_nd_gradient,
            ONS_IN(dy, indices, ons_gradient_input(g, DATA), ons_gradient_input(g, UPDATES), ons_gradient_output(g, 0)),
            ONS_WITH(name), 2, wanted, made);
        g->gradients[DATA] = made[0];
        g->gradients[UPDATES] = made[1];
        return NULL;
    }
    if (g->wanted[UPDATES])
        g->gradients[UPDATES] = ons_build(g->builder, &ons_op_gather_nd, ONS_IN(dy, indices), ONS_DEFAULTS);
    if (g->wanted[DATA])
        g->gradients[DATA] = mode == ONS_SCATTER_ADD ? dy
                                                     : ons_build(g->builder, &ons_op_scatter_nd_gradient,
                                                                 ONS_IN(dy, indices), ONS_WITH(name));
    return NULL;
}

ONS_DEFINE_OPERATOR(scatter_nd, "ScatterND", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "none")), ONS_INFER(scatter_nd_infer),
                    ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(scatter_nd_gradient, ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(UPDATES)),
                    ONS_SAVES(ONS_INPUT_BIT(DATA) | ONS_INPUT_BIT(INDICES) | ONS_INPUT_BIT(UPDATES), ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ADDRESSES, 0), ONS_ALIASES({ONS_ALIAS_MAY, 0, DATA}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(scatter_nd_reference));

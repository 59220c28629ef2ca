/* Attention: softmax(scale · Q Kᵀ + mask) V, a head at a time in the cache of one thread. Saved for backward are not
 * the probabilities but log Σ e^score of every row, from which they are computed again (Dao et al., "FlashAttention",
 * 2022, section 3.1; rows are short enough here for the plain softmax). Keys that a causal mask hides are not looked
 * at. */
#include "kernels/attention/attention.h"

#include <math.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/patterns.h"
#include "kernels/operators.h"

static ons_status *attention_infer(ons_operands *o) {
    ons_attention a;
    ONS_TRY(find_attention(o, &a));
    ons_attention_order order = (ons_attention_order)ons_attribute_int(o, ONS_ATTENTION_RESULT_ORDER);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, ons_attention_shape(&a, a.queries, order));
    o->outputs[1] = ons_type_make(ONS_FLOAT32, ons_shape_make(3, (int64_t[]){a.batch, a.heads, a.queries}));
    return NULL;
}

/* For every pair of query and key two products of `size` multiply-adds, and 5 operations of softmax. */
static ons_cost attention_cost(const ons_operands *o) {
    ons_attention a;
    ons_resolved(find_attention(o, &a));
    return (ons_cost){ons_attention_pairs(&a) * (4 * (double)a.size + 5), ons_attention_bytes(o, 0)};
}

static void reference_row(const ons_attention *a, const void *const *inputs, void *const *outputs, int64_t batch,
                          int64_t head, int64_t i) {
    const double *mask = a->has_mask ? inputs[3] : NULL;
    double max = -INFINITY, sum = 0, *saved = outputs[1];
    double *y = (double *)outputs[0] + ons_attention_offset(&a->result, batch, head) + i * a->result.position;
    for (int64_t j = 0; j < a->keys; ++j)
        max = fmax(max, ons_attention_score(a, inputs[0], inputs[1], mask, batch, head, i, j));
    for (int64_t d = 0; d < a->size; ++d) y[d] = 0;
    for (int64_t j = 0; j < a->keys; ++j) {
        const double *v =
            (const double *)inputs[2] + ons_attention_offset(&a->value, batch, head) + j * a->value.position;
        double e = exp(ons_attention_score(a, inputs[0], inputs[1], mask, batch, head, i, j) - max);
        sum += e;
        e *= ons_attention_kept(a, a->has_kept ? inputs[4] : NULL, batch, head, i, j);
        for (int64_t d = 0; d < a->size; ++d) y[d] += e * v[d];
    }
    bool blind = a->guard && max == -INFINITY;
    for (int64_t d = 0; d < a->size; ++d) y[d] = blind ? 0 : y[d] / sum;
    if (saved != NULL) saved[(batch * a->heads + head) * a->queries + i] = blind ? INFINITY : max + log(sum);
}

static void attention_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_attention a;
    ons_resolved(find_attention(o, &a));
    for (int64_t b = 0; b < a.batch; ++b)
        for (int64_t h = 0; h < a.heads; ++h)
            for (int64_t i = 0; i < a.queries; ++i) reference_row(&a, inputs, outputs, b, h, i);
}

/* Of half types it takes the result too. */
static ons_status *attention_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    bool has_mask = ons_has_input(g->operands, 3), half = g->operands->inputs[0].dtype != ONS_FLOAT32;
    bool packed = ons_attribute_int(g->operands, ONS_ATTENTION_PACKED) != 0;
    const bool wanted[4] = {g->wanted[0], g->wanted[1] && !packed, g->wanted[2] && !packed, has_mask && g->wanted[3]};
    ons_build_node_like(g->builder, &ons_op_attention_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1),
                               ons_gradient_input(g, 2), ons_gradient_output(g, 1), ons_gradient_input(g, 3),
                               ons_gradient_input(g, 4), half ? ons_gradient_output(g, 0) : ONS_NONE),
                        g->operands->attributes, has_mask ? 4 : 3, wanted, g->gradients);
    return NULL;
}

ONS_DEFINE_OPERATOR(
    attention, "Attention", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 2), ONS_ATTENTION_ATTRIBUTES, ONS_INFER(attention_infer),
    ONS_COST(attention_cost),
    ONS_GRADIENT_RULE(attention_gradient, ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2) | ONS_INPUT_BIT(3)),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2) | ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4),
              ONS_INPUT_BIT(1)),
    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_DENSE, 0, ONS_INPUT_BIT(3)), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL, ons_attention_patterns, NULL), ONS_REFERENCE(attention_reference));

/* Gradients of Attention, a head at a time in the cache of one thread, from cotangent dY, Q, K, V and the saved log Σ
 * e^score of every row. For a block of queries:
 *
 *   P = e^(scale · Q Kᵀ + mask - saved),  dP = dY Vᵀ,  dS = scale · P (dP - row sums of P dP)
 *   dV += Pᵀ dY,  dK += dSᵀ Q,  dQ = dS K
 *
 * where P of rows whose saved logarithm is far (kernels/common/math/far.h) is divided by its sum; and, where it is
 * wanted, the mask's: dS / scale, summed over the batch where the mask has none.
 *
 * Blocks come in order and one thread has all of a head, so sums are always made in the same order. */
#include "kernels/attention/attention_gradient.h"

#include <math.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/common/math/far.h"

static ons_status *attention_gradient_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    ons_attention a;
    ONS_TRY(find_attention(o, &a));
    ons_attention_order order = (ons_attention_order)ons_attribute_int(o, ONS_ATTENTION_RESULT_ORDER);
    ons_shape result = ons_attention_shape(&a, a.queries, order);
    if (!ons_shape_equal(&o->inputs[0].shape, &result))
        return ons_node_error(o, "%s is not the shape of the result", ons_type_print(&o->inputs[0], text));
    if (ons_has_input(o, RESULT) && !ons_shape_equal(&o->inputs[RESULT].shape, &result))
        return ons_node_error(o, "%s is not the result's shape", ons_type_print(&o->inputs[RESULT], text));
    if (ons_elements(&o->inputs[4]) != a.batch * a.heads * a.queries)
        return ons_node_error(o, "%s does not hold a number for each row", ons_type_print(&o->inputs[4], text));
    for (uint32_t i = 0; i < (a.packed ? 1 : 3); ++i) o->outputs[i] = o->inputs[1 + i];
    if (o->output_count > 3 && a.has_mask)
        o->outputs[3] = ons_type_make(o->inputs[5].dtype,
                                      ons_shape_make(4, (int64_t[]){mask_batch(&a), a.heads, a.queries, a.keys}));
    return NULL;
}

/* For every pair of query and key five products of `size` multiply-adds, and 8 operations of softmax and its gradient.
 */
static ons_cost attention_gradient_cost(const ons_operands *o) {
    ons_attention a;
    ons_resolved(find_attention(o, &a));
    return (ons_cost){ons_attention_pairs(&a) * (10 * (double)a.size + 8), ons_attention_bytes(o, 1)};
}

/* What the probabilities of a query are multiplied by. */
static double far_share(const ons_attention *a, const void *const *inputs, int64_t batch, int64_t head, int64_t i,
                        double saved) {
    const double *mask = a->has_mask ? inputs[5] : NULL;
    double sum = 0;
    for (int64_t j = 0; ons_is_far((float)saved) && j < a->keys; ++j)
        sum += exp(ons_attention_score(a, inputs[1], inputs[2], mask, batch, head, i, j) - saved);
    return sum > 0 ? 1 / sum : 1;
}

/* Whether a score has no gradient though its probability is not 0. */
static bool is_closed(const ons_attention *a, const double *mask, int64_t batch, int64_t head, int64_t i, int64_t j,
                      double saved) {
    if (!a->chosen || mask == NULL || !ons_is_far((float)saved)) return false;
    return mask[ons_attention_offset(&a->mask, batch, head) + i * a->mask.position + j] <= ONS_ATTENTION_HIDDEN;
}

/* One query's share of all gradients. */
static void reference_row(const ons_attention *a, const double *result, const void *const *inputs, void *const *outputs,
                          int64_t batch, int64_t head, int64_t i) {
    const double *mask = a->has_mask ? inputs[5] : NULL;
    int64_t q_at = ons_attention_offset(&a->query, batch, head) + i * a->query.position;
    int64_t k_at = ons_attention_offset(&a->key, batch, head), v_at = ons_attention_offset(&a->value, batch, head);
    const double *dy =
        (const double *)inputs[0] + ons_attention_offset(&a->result, batch, head) + i * a->result.position;
    const double *query = inputs[1], *key = inputs[2], *value = inputs[3];
    double *dq = outputs[0], *dk = outputs[ons_attention_gradient_output(a, 1)];
    double *dv = outputs[ons_attention_gradient_output(a, 2)], *dm = a->has_mask ? outputs[3] : NULL, dot = 0;
    if (dm != NULL) dm += (((mask_batch(a) == 1 ? 0 : batch) * a->heads + head) * a->queries + i) * a->keys;
    double saved = ((const double *)inputs[4])[(batch * a->heads + head) * a->queries + i];
    double share = far_share(a, inputs, batch, head, i, saved);
    for (int64_t d = 0; result != NULL && d < a->size; ++d)
        dot += dy[d] * result[ons_attention_offset(&a->result, batch, head) + i * a->result.position + d];
    for (int pass = result == NULL ? 0 : 1; pass < 2; ++pass)
        for (int64_t j = 0; j < a->keys; ++j) {
            double p = share * exp(ons_attention_score(a, query, key, mask, batch, head, i, j) - saved), dp = 0;
            double kept = ons_attention_kept(a, a->has_kept ? inputs[6] : NULL, batch, head, i, j);
            for (int64_t d = 0; d < a->size; ++d) dp += kept * dy[d] * value[v_at + j * a->value.position + d];
            if (pass == 0) dot += p * dp;
            double ds = is_closed(a, mask, batch, head, i, j, saved) ? 0 : p * (dp - dot);
            if (pass == 1 && dm != NULL) dm[j] += ds;
            for (int64_t d = 0; pass == 1 && d < a->size; ++d) {
                int64_t k = k_at + j * a->key.position + d * a->key.size;
                dq[q_at + d] += a->scale * ds * key[k];
                dk[k] += a->scale * ds * query[q_at + d];
                dv[v_at + j * a->value.position + d] += kept * p * dy[d];
            }
        }
}

static void attention_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_attention a;
    ons_resolved(find_attention(o, &a));
    for (int i = 0; i < (a.packed ? 1 : 3); ++i)
        for (int64_t k = 0; k < ons_elements(&o->inputs[1 + i]); ++k) ((double *)outputs[i])[k] = 0;
    void *places[4] = {outputs[0], a.packed ? NULL : outputs[1], a.packed ? NULL : outputs[2],
                       ons_has_output(o, 3) ? outputs[3] : NULL};
    for (int64_t k = 0; places[3] != NULL && k < ons_elements(&o->outputs[3]); ++k) ((double *)places[3])[k] = 0;
    const double *result = ons_has_input(o, RESULT) ? inputs[RESULT] : NULL;
    for (int64_t b = 0; b < a.batch; ++b)
        for (int64_t h = 0; h < a.heads; ++h)
            for (int64_t i = 0; i < a.queries; ++i) reference_row(&a, result, inputs, places, b, h, i);
}

ONS_DEFINE_OPERATOR(attention_gradient, "AttentionGradient", ONS_INTERNAL, ONS_ARITY(5, 8, 0, 4),
                    ONS_ATTENTION_ATTRIBUTES, ONS_INFER(attention_gradient_infer), ONS_COST(attention_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, /* The saved logarithms; the mask, as in Attention. */
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_DENSE, 0, ONS_INPUT_BIT(4) | ONS_INPUT_BIT(5)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(attention_gradient_reference));

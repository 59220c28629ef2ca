/* com.microsoft.MultiHeadAttention: attention of queries, keys and values that are projected already. They come apart,
 * [batch, positions, heads × size] (keys and values also [batch, heads, positions, size]), or packed side by side:
 * [batch, positions, heads, 3, size], or queries apart and [batch, positions, heads, 2, size]. */
#include <math.h>
#include <stdlib.h>

#include "kernels/microsoft/expanded_attention.h"
#include "kernels/microsoft/expanded_norm.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, SCORE_BIAS, PAST_KEY };

enum { HEADS, FILTER, SCALE, CAUSAL };

typedef enum form { APART, HEADS_FIRST, KEYS_AND_VALUES_PACKED, ALL_PACKED } form;

typedef struct attention {
    ons_heads heads;
    form form;
} attention;

static ons_status *misfit(const ons_operands *o) {
    return ons_node_error(o, "queries, keys and values do not fit together or into %lld heads",
                          (long long)ons_attribute_int(o, HEADS));
}

/* Sizes by the form, from the shapes. */
static ons_status *resolve_form(const ons_operands *o, attention *a) {
    const ons_shape *q = &o->inputs[QUERY].shape, *k = &o->inputs[KEY].shape, *v = &o->inputs[VALUE].shape;
    bool has_key = ons_has_input(o, KEY), has_value = ons_has_input(o, VALUE);
    ons_heads *h = &a->heads;
    h->batch = q->dims[0];
    h->queries = h->keys = q->dims[1];
    if (!has_key) {
        if (q->rank != 5 || q->dims[2] != h->heads || q->dims[3] != 3 || has_value) return misfit(o);
        a->form = ALL_PACKED;
        h->size = h->value_size = q->dims[4];
        return NULL;
    }
    if (q->rank != 3 || q->dims[2] % h->heads != 0 || k->dims[0] != h->batch) return misfit(o);
    h->size = h->value_size = q->dims[2] / h->heads;
    if (!has_value) {
        if (k->rank != 5 || k->dims[2] != h->heads || k->dims[3] != 2 || k->dims[4] != h->size) return misfit(o);
        a->form = KEYS_AND_VALUES_PACKED;
        h->keys = k->dims[1];
        return NULL;
    }
    if (k->rank != v->rank || v->dims[0] != h->batch) return misfit(o);
    a->form = k->rank == 4 ? HEADS_FIRST : APART;
    if (k->rank == 4) {
        if (k->dims[1] != h->heads || v->dims[1] != h->heads || k->dims[3] != h->size || v->dims[2] != k->dims[2])
            return misfit(o);
        h->keys = k->dims[2];
        h->value_size = v->dims[3];
        return NULL;
    }
    if (k->rank != 3 || k->dims[2] != q->dims[2] || v->dims[1] != k->dims[1] || v->dims[2] % h->heads != 0)
        return misfit(o);
    h->keys = k->dims[1];
    h->value_size = v->dims[2] / h->heads;
    return NULL;
}

static ons_status *resolve_attention(const ons_operands *o, attention *a) {
    ONS_TRY(ons_need_float(o, QUERY));
    *a = (attention){.heads = {.heads = ons_attribute_int(o, HEADS)}};
    if (a->heads.heads < 1) return ons_node_error(o, "num_heads is %lld", (long long)a->heads.heads);
    for (uint32_t i = PAST_KEY; i < o->input_count; ++i)
        if (ons_has_input(o, i))
            return ons_node_error(o, "keys and values of the past are for generating text; export the model without "
                                     "them");
    for (uint32_t i = KEY; i <= BIAS; ++i)
        if (ons_has_input(o, i) && o->inputs[i].dtype != o->inputs[QUERY].dtype)
            return ons_node_error(o, "operands have different element types");
    ONS_TRY(resolve_form(o, a));
    ons_heads *h = &a->heads;
    h->scale = ons_has_attribute(o, SCALE) && ons_attribute_float(o, SCALE) != 0 ? ons_attribute_float(o, SCALE)
                                                                                 : 1 / sqrt((double)h->size);
    h->filter = ons_attribute_float(o, FILTER);
    h->causal = ons_attribute_int(o, CAUSAL) != 0;
    ONS_TRY(ons_need_vector(o, BIAS, h->heads * (2 * h->size + h->value_size), "bias"));
    return ons_heads_check(o, h, MASK, SCORE_BIAS);
}

static ons_status *microsoft_multi_head_attention_infer(ons_operands *o) {
    attention a;
    ONS_TRY(resolve_attention(o, &a));
    int64_t dims[] = {a.heads.batch, a.heads.queries, a.heads.heads * a.heads.value_size};
    o->outputs[0] = ons_type_make(o->inputs[QUERY].dtype, ons_shape_make(3, dims));
    for (uint32_t i = 1; i < o->output_count && i < 3; ++i) {
        int64_t present[] = {a.heads.batch, a.heads.heads, a.heads.keys, i == 1 ? a.heads.size : a.heads.value_size};
        o->outputs[i] = ons_type_make(o->inputs[QUERY].dtype, ons_shape_make(4, present));
    }
    return NULL;
}

/* One of the three, [batch, positions, heads, size], without its bias. */
static ons_value_id part_of(ons_replacement *m, const attention *a, int part) {
    static const int64_t swap[] = {0, 2, 1, 3};
    const ons_heads *h = &a->heads;
    int64_t dims[] = {h->batch, part == 0 ? h->queries : h->keys, h->heads, part == 2 ? h->value_size : h->size};
    ons_value_id x = m->inputs[part];
    if (a->form == ALL_PACKED) x = ons_expand_slice(m, m->inputs[QUERY], 3, part, part + 1);
    if (a->form == KEYS_AND_VALUES_PACKED && part > 0) x = ons_expand_slice(m, m->inputs[KEY], 3, part - 1, part);
    if (a->form == HEADS_FIRST && part > 0) return ons_expand_transpose(m, x, 4, swap);
    return ons_expand_reshape(m, x, 4, dims);
}

static ons_status *microsoft_multi_head_attention_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    attention a;
    ons_resolved(resolve_attention(o, &a));
    ons_value_id parts[3];
    int64_t first = 0;
    for (int i = 0; i < 3; ++i) {
        int64_t dims[] = {a.heads.heads, i == 2 ? a.heads.value_size : a.heads.size}, size = dims[0] * dims[1];
        parts[i] = part_of(m, &a, i);
        if (ons_has_input(o, BIAS)) {
            ons_value_id bias = ons_expand_slice(m, m->inputs[BIAS], 0, first, first + size);
            parts[i] = ons_expand_sum(m, parts[i], ons_expand_reshape(m, bias, 2, dims));
        }
        first += size;
    }
    static const int64_t swap[] = {0, 2, 1, 3};
    for (uint32_t i = 1; i < o->output_count && i < 3; ++i)
        if (m->outputs_used[i]) m->outputs[i] = ons_expand_transpose(m, parts[i], 4, swap);
    return ons_expand_finish(
        m, ons_heads_expand(m, &a.heads, parts, ons_expand_input(m, MASK), ons_expand_input(m, SCORE_BIAS)));
}

static double *gather_part(const ons_operands *o, const attention *a, const void *const *inputs, int part) {
    const ons_heads *h = &a->heads;
    int64_t positions = part == 0 ? h->queries : h->keys, size = part == 2 ? h->value_size : h->size;
    int64_t count = h->batch * positions * h->heads * size;
    const double *bias = ons_has_input(o, BIAS) ? (const double *)inputs[BIAS] + part * h->heads * h->size : NULL;
    double *result = malloc(((size_t)count + 1) * sizeof *result);
    for (int64_t i = 0; result != NULL && i < count; ++i) {
        int64_t d = i % size, n = i / size % h->heads, p = i / size / h->heads % positions;
        int64_t b = i / size / h->heads / positions;
        if (a->form == ALL_PACKED)
            result[i] = ((const double *)inputs[QUERY])[(((b * positions + p) * h->heads + n) * 3 + part) * size + d];
        else if (a->form == KEYS_AND_VALUES_PACKED && part > 0)
            result[i] = ((const double *)inputs[KEY])[(((b * positions + p) * h->heads + n) * 2 + part - 1) * size + d];
        else if (a->form == HEADS_FIRST && part > 0)
            result[i] = ((const double *)inputs[part])[((b * h->heads + n) * positions + p) * size + d];
        else
            result[i] = ((const double *)inputs[part])[i];
        if (bias != NULL) result[i] += bias[n * size + d];
    }
    return result;
}

static void microsoft_multi_head_attention_reference(const ons_operands *o, const ons_step *step,
                                                     const void *const *inputs, void *const *outputs) {
    attention a;
    ons_resolved(resolve_attention(o, &a));
    double *parts[3];
    for (int i = 0; i < 3; ++i) parts[i] = gather_part(o, &a, inputs, i);
    ons_heads_words words = {parts[0],
                             parts[1],
                             parts[2],
                             ons_has_input(o, SCORE_BIAS) ? inputs[SCORE_BIAS] : NULL,
                             ons_has_input(o, MASK) ? inputs[MASK] : NULL,
                             ons_has_input(o, SCORE_BIAS) ? &o->inputs[SCORE_BIAS].shape : NULL};
    bool all = parts[0] != NULL && parts[1] != NULL && parts[2] != NULL;
    if (all) ons_heads_reference(&a.heads, &words, outputs[0]);
    for (uint32_t k = 1; k < 3 && all; ++k) {
        int64_t size = k == 2 ? a.heads.value_size : a.heads.size;
        if (!ons_has_output(o, k) || outputs[k] == NULL || size == 0 || a.heads.keys == 0 || a.heads.heads == 0)
            continue;
        for (int64_t i = 0, n = ons_elements(&o->outputs[k]); i < n; ++i) {
            int64_t d = i % size, p = i / size % a.heads.keys, head = i / size / a.heads.keys % a.heads.heads;
            int64_t b = i / size / a.heads.keys / a.heads.heads;
            ((double *)outputs[k])[i] = parts[k][((b * a.heads.keys + p) * a.heads.heads + head) * size + d];
        }
    }
    for (int i = 0; i < 3; ++i) free(parts[i]);
}

ONS_DEFINE_EXPANSION(microsoft_multi_head_attention, "MultiHeadAttention", ONS_MICROSOFT, ONS_ARITY(1, 10, 1, 4),
                     ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("num_heads", ONS_ATTRIBUTE_INT),
                                    ONS_FLOAT_ATTRIBUTE("mask_filter_value", -10000),
                                    ONS_OPTIONAL_ATTRIBUTE("scale", ONS_ATTRIBUTE_FLOAT),
                                    ONS_INT_ATTRIBUTE("unidirectional", 0)),
                     microsoft_multi_head_attention_infer, ons_cost_elementwise, ONS_ALL_INPUTS,
                     microsoft_multi_head_attention_expand, microsoft_multi_head_attention_reference);

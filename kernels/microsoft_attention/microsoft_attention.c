/* com.microsoft.Attention: self-attention with the projections to queries, keys and values packed into one weight. */
#include <math.h>
#include <stdlib.h>

#include "kernels/microsoft/expanded_attention.h"
#include "kernels/microsoft/expanded_norm.h"
#include "kernels/operators.h"

enum { X, WEIGHT, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH };

enum { HEADS, CAUSAL, SIZES, FILTER, SCALE, ROTARY, ROTARY_SIZE, SHARED_BUFFER };

typedef struct attention {
    ons_heads heads;
    int64_t inner, columns; /* the weight is inner × columns */
    int64_t begin[4];       /* first columns of queries, keys and values; the last is `columns` */
} attention;

static ons_status *resolve_sizes(const ons_operands *o, attention *a) {
    const ons_attribute *sizes = &o->attributes[SIZES];
    int64_t heads = ons_attribute_int(o, HEADS);
    if (heads < 1) return ons_node_error(o, "num_heads is %lld", (long long)heads);
    if (ons_has_attribute(o, SIZES) && sizes->count != 3)
        return ons_node_error(o, "qkv_hidden_sizes must be three numbers");
    a->begin[0] = 0;
    for (int i = 0; i < 3; ++i) {
        int64_t size = ons_has_attribute(o, SIZES) ? sizes->ints[i] : a->columns / 3;
        if (size < 1 || size > a->columns || size % heads != 0)
            return ons_node_error(o, "%lld heads do not share %lld columns of the weight", (long long)heads,
                                  (long long)size);
        a->begin[i + 1] = a->begin[i] + size;
    }
    if (a->begin[3] != a->columns || a->begin[1] != a->begin[2] - a->begin[1])
        return ons_node_error(o, "the weight's %lld columns are not those of queries, keys and values",
                              (long long)a->columns);
    a->heads.heads = heads;
    a->heads.size = a->begin[1] / heads;
    a->heads.value_size = (a->begin[3] - a->begin[2]) / heads;
    a->heads.scale = ons_has_attribute(o, SCALE) && ons_attribute_float(o, SCALE) != 0
                         ? ons_attribute_float(o, SCALE)
                         : 1 / sqrt((double)a->heads.size);
    return NULL;
}

static ons_status *resolve_attention(const ons_operands *o, attention *a) {
    const ons_shape *x = &o->inputs[X].shape, *weight = &o->inputs[WEIGHT].shape;
    ONS_TRY(ons_need_float(o, X));
    if (ons_has_input(o, PAST) || ons_has_input(o, PAST_LENGTH) || ons_attribute_int(o, SHARED_BUFFER) != 0)
        return ons_node_error(o, "keys and values of the past are for generating text; export the model without them");
    if (ons_attribute_int(o, ROTARY) != 0)
        return ons_node_error(o, "do_rotary is not supported; export the model without ONNX Runtime's fusions");
    if (x->rank != 3 || weight->rank != 2 || x->dims[2] != weight->dims[0] ||
        o->inputs[WEIGHT].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the input must be [batch, positions, n] and the weight [n, columns]");
    *a = (attention){.heads = {.batch = x->dims[0], .queries = x->dims[1], .keys = x->dims[1]},
                     .inner = x->dims[2],
                     .columns = weight->dims[1]};
    a->heads.causal = ons_attribute_int(o, CAUSAL) != 0;
    a->heads.filter = ons_attribute_float(o, FILTER);
    ONS_TRY(resolve_sizes(o, a));
    ONS_TRY(ons_need_vector(o, BIAS, a->columns, "bias"));
    return ons_heads_check(o, &a->heads, MASK, SCORE_BIAS);
}

static ons_status *microsoft_attention_infer(ons_operands *o) {
    attention a;
    ONS_TRY(resolve_attention(o, &a));
    int64_t dims[] = {a.heads.batch, a.heads.queries, a.heads.heads * a.heads.value_size};
    o->outputs[0] = ons_type_make(o->inputs[X].dtype, ons_shape_make(3, dims));
    if (o->output_count < 2) return NULL;
    int64_t present[] = {2, a.heads.batch, a.heads.heads, a.heads.keys, a.heads.size};
    o->outputs[1] = ons_type_make(o->inputs[X].dtype, ons_shape_make(5, present));
    return NULL;
}

static ons_status *microsoft_attention_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    attention a;
    ons_resolved(resolve_attention(o, &a));
    ONS_CHECK(o->output_count < 2 || !m->outputs_used[1], ONS_UNSUPPORTED,
              "node '%s' (%s): keys and values for later (output 1) are for generating text; export the model without "
              "them",
              o->name, o->op->name);
    ons_value_id all = ons_expand2(m, &ons_op_matmul, m->inputs[X], m->inputs[WEIGHT]), parts[3];
    all = ons_expand_sum(m, all, ons_expand_input(m, BIAS));
    for (int i = 0; i < 3; ++i) {
        int64_t size = i == 2 ? a.heads.value_size : a.heads.size;
        int64_t dims[] = {a.heads.batch, a.heads.queries, a.heads.heads, size};
        parts[i] = ons_expand_reshape(m, ons_expand_slice(m, all, 2, a.begin[i], a.begin[i + 1]), 4, dims);
    }
    return ons_expand_finish(
        m, ons_heads_expand(m, &a.heads, parts, ons_expand_input(m, MASK), ons_expand_input(m, SCORE_BIAS)));
}

/* One of the three projections, [batch, positions, its columns]. */
static double *project(const ons_operands *o, const attention *a, const void *const *inputs, int part) {
    const double *x = inputs[X], *weight = inputs[WEIGHT], *bias = ons_has_input(o, BIAS) ? inputs[BIAS] : NULL;
    int64_t rows = a->heads.batch * a->heads.queries, first = a->begin[part], size = a->begin[part + 1] - first;
    double *result = malloc(((size_t)(rows * size) + 1) * sizeof *result);
    for (int64_t i = 0; result != NULL && i < rows * size; ++i) {
        int64_t row = i / size, column = first + i % size;
        result[i] = bias == NULL ? 0 : bias[column];
        for (int64_t k = 0; k < a->inner; ++k) result[i] += x[row * a->inner + k] * weight[k * a->columns + column];
    }
    return result;
}

static void microsoft_attention_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    attention a;
    ons_resolved(resolve_attention(o, &a));
    double *parts[3];
    for (int i = 0; i < 3; ++i) parts[i] = project(o, &a, inputs, i);
    ons_heads_words words = {parts[0],
                             parts[1],
                             parts[2],
                             ons_has_input(o, SCORE_BIAS) ? inputs[SCORE_BIAS] : NULL,
                             ons_has_input(o, MASK) ? inputs[MASK] : NULL,
                             ons_has_input(o, SCORE_BIAS) ? &o->inputs[SCORE_BIAS].shape : NULL};
    if (parts[0] != NULL && parts[1] != NULL && parts[2] != NULL) ons_heads_reference(&a.heads, &words, outputs[0]);
    for (int i = 0; i < 3; ++i) free(parts[i]);
}

ONS_DEFINE_EXPANSION(microsoft_attention, "Attention", ONS_MICROSOFT, ONS_ARITY(2, 7, 1, 2),
                     ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("num_heads", ONS_ATTRIBUTE_INT),
                                    ONS_INT_ATTRIBUTE("unidirectional", 0),
                                    ONS_OPTIONAL_ATTRIBUTE("qkv_hidden_sizes", ONS_ATTRIBUTE_INTS),
                                    ONS_FLOAT_ATTRIBUTE("mask_filter_value", -10000),
                                    ONS_OPTIONAL_ATTRIBUTE("scale", ONS_ATTRIBUTE_FLOAT),
                                    ONS_INT_ATTRIBUTE("do_rotary", 0), ONS_INT_ATTRIBUTE("rotary_embedding_dim", 0),
                                    ONS_INT_ATTRIBUTE("past_present_share_buffer", 0)),
                     microsoft_attention_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_attention_expand,
                     microsoft_attention_reference);

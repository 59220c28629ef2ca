/* The heart of the form, softmax and the product with the values, is matched as a pattern. Masks and scales of the
 * scores come in any order and number and are followed by hand upwards; what stands before queries, keys and values and
 * behind the result is taken in afterwards (absorb.c). What is followed may have other readers: it then stays where it
 * is. */
#include "kernels/attention/patterns.h"

#include <math.h>
#include <string.h>

#include "graph/passes/fuse.h"
#include "kernels/attention/absorb.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/attention/masks.h"
#include "kernels/attention/time_first.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/layout/upwards.h"
#include "kernels/operators.h"

typedef struct finding {
    ons_value_id query, keys_transposed, value;
    ons_found_masks masks;
    double scale;
} finding;

/* A shape of rank 3 has all heads of all samples in its first axis: they are the heads of one sample. */
static ons_shape with_batch(const ons_graph *graph, ons_value_id value) {
    ons_shape shape = ons_graph_value(graph, value)->type.shape;
    if (shape.rank != 3) return shape;
    return (ons_shape){4, {1, shape.dims[0], shape.dims[1], shape.dims[2]}};
}

static bool find_parts(const ons_graph *graph, ons_value_id scores, ons_value_id values, finding *f) {
    uint32_t rank = ons_graph_value(graph, scores)->type.shape.rank;
    *f = (finding){.scale = 1};
    if ((rank != 3 && rank != 4) || ons_graph_value(graph, values)->type.shape.rank != rank ||
        !ons_step_over_masks(graph, with_batch(graph, scores).dims, &scores, &f->masks))
        return false;
    while (ons_step_over_scale(graph, &scores, &f->scale)) continue;
    const ons_node *product = ons_made_by(graph, scores, "MatMul");
    if (product == NULL || ons_graph_value(graph, product->inputs[0])->type.shape.rank != rank ||
        ons_graph_value(graph, product->inputs[1])->type.shape.rank != rank)
        return false;
    f->query = product->inputs[0];
    f->keys_transposed = product->inputs[1];
    f->value = values;
    return f->scale > 0 && isfinite(f->scale);
}

/* The last axis, as softmax's only one. */
static bool is_over_keys(const ons_operands *softmax) {
    int64_t axis = softmax->attributes[0].i;
    return axis == -1 || axis == (int64_t)softmax->inputs[0].shape.rank - 1;
}

/* Batch, heads and size agree without broadcasting. */
static bool is_regular(const ons_graph *graph, const finding *f, const ons_shape *result) {
    ons_shape query = with_batch(graph, f->query), keys = with_batch(graph, f->keys_transposed),
              value = with_batch(graph, f->value);
    const int64_t *d = result->dims, of_keys[4] = {d[0], d[1], d[3], value.dims[2]};
    const ons_value_id values[3] = {f->query, f->keys_transposed, f->value};
    for (int i = 0; i < 3; ++i)
        if (ons_graph_value(graph, values[i])->type.dtype != ONS_FLOAT32) return false;
    return memcmp(query.dims, d, sizeof of_keys) == 0 && memcmp(keys.dims, of_keys, sizeof of_keys) == 0 &&
           value.dims[0] == d[0] && value.dims[1] == d[1] && value.dims[3] == d[3];
}

static ons_value_id as_rank_4(ons_builder *builder, ons_value_id value) {
    ons_shape shape = with_batch(builder->graph, value);
    return ons_builder_type(builder, value).shape.rank == 4 ? value : ons_build_reshape(builder, value, &shape);
}

static ons_value_id replace(ons_match *match, bool guard, bool drops) {
    ons_builder *builder = ons_match_builder(match);
    const ons_operands *softmax = ons_match_node(match, "p");
    ons_type result = ons_match_type(match, "result");
    ons_shape shape = result.shape;
    if (shape.rank == 3) shape = (ons_shape){4, {1, shape.dims[0], shape.dims[1], shape.dims[2]}};
    finding f;
    if (softmax == NULL || !is_over_keys(softmax) || shape.rank != 4 ||
        !find_parts(builder->graph, ons_match_value(match, "scores"), ons_match_value(match, "values"), &f) ||
        !is_regular(builder->graph, &f, &shape))
        return ONS_NONE;
    ons_value_id query = as_rank_4(builder, f.query), keys = as_rank_4(builder, f.keys_transposed), kept = ONS_NONE;
    const ons_operands *dropout = drops ? ons_match_node(match, "d") : NULL;
    double ratio = dropout == NULL ? 0 : dropout->attributes[0].f;
    if (dropout != NULL) {
        ons_shape pairs = with_batch(builder->graph, ons_match_value(match, "scores"));
        kept = ons_build(
            builder, &ons_op_dropout_mask, (ons_inputs){NULL, 0},
            ONS_WITH(ONS_AT_FLOAT(0, ratio), {1, dropout->attributes[1]}, ONS_AT_INTS(2, pairs.rank, pairs.dims)));
    }
    ons_value_id y =
        ons_build(builder, &ons_op_attention,
                  ONS_IN(query, keys, as_rank_4(builder, f.value), ons_build_masks(builder, &f.masks), kept),
                  ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_RATIO, ratio), ONS_AT_FLOAT(ONS_ATTENTION_SCALE, f.scale),
                           ONS_AT_INT(ONS_ATTENTION_CAUSAL, f.masks.causal), ONS_AT_INT(ONS_ATTENTION_GUARD, guard),
                           ONS_AT_INT(ONS_ATTENTION_CHOSEN, f.masks.chosen),
                           ONS_AT_INT(ONS_ATTENTION_KEY_ORDER, ONS_SIZE_FIRST)));
    return result.shape.rank == 4 ? y : ons_build_reshape(builder, y, &result.shape);
}

static ons_value_id replace_plain(ons_match *match) { return replace(match, false, false); }
static ons_value_id replace_guarded(ons_match *match) { return replace(match, true, false); }
static ons_value_id replace_dropping(ons_match *match) { return replace(match, false, true); }
static ons_value_id replace_guarded_dropping(ons_match *match) { return replace(match, true, true); }

const ons_pattern ons_attention_patterns[] = {
    {"MatMul(p=Softmax(scores), values)", replace_plain},
    {"MatMul(Where(IsNaN(p=Softmax(scores)), 0, p), values)", replace_guarded},
    {"MatMul(d=DropoutTraining(p=Softmax(scores)), values)", replace_dropping},
    {"MatMul(d=DropoutTraining(Where(IsNaN(p=Softmax(scores)), 0, p)), values)", replace_guarded_dropping},
    {"Transpose(a=Attention(query))", ons_attention_absorb_result},
    {"Transpose(Reshape(a=Attention(query)))", ons_attention_absorb_result},
    {"Transpose(Reshape(Reshape(a=Attention(query))))", ons_attention_absorb_result},
    {"Attention(query, key, values)", ons_attention_absorb_operands},
    {"Attention(v=Reshape(p=Linear(t=Transpose(x), w, b)), v, v)", ons_attention_untranspose_operand},
    {"Attention(v=Reshape(p=MatMul(t=Transpose(x), w)), v, v)", ons_attention_untranspose_operand},
    {"Attention(v=Reshape(p=MatMulTransposed(t=Transpose(x), w)), v, v)", ons_attention_untranspose_operand},
    {"Attention(v=Reshape(p=Gemm(Reshape(t=Transpose(x)), w, b)), v, v)", ons_attention_untranspose_operand},
    {"Transpose(p=Linear(Reshape(a=Attention(query)), w, b))", ons_attention_untranspose_result},
    {"Transpose(p=MatMul(Reshape(a=Attention(query)), w))", ons_attention_untranspose_result},
    {"Transpose(p=MatMulTransposed(Reshape(a=Attention(query)), w))", ons_attention_untranspose_result},
    {"Transpose(Reshape(p=Gemm(Reshape(a=Attention(query)), w, b)))", ons_attention_untranspose_result},
    {"Transpose(Reshape(p=Gemm(Reshape(Reshape(a=Attention(query))), w, b)))", ons_attention_untranspose_result},
    {.form = NULL},
};

/* com.microsoft.EmbedLayerNormalization: the embeddings of words, positions and segments, added and normalised.
 * Output 1 counts the tokens that the mask leaves (0 without a mask); output 2 is the sum of the embeddings. */
#include "kernels/common/indexing/indexing.h"
#include "kernels/microsoft/expanded_norm.h"
#include "kernels/operators.h"

enum { WORDS_AT, SEGMENTS_AT, WORDS, POSITIONS, SEGMENTS, SCALE, SHIFT, MASK, POSITIONS_AT };

enum { EPSILON, MASK_INDEX_TYPE };

static ons_status *check_table(const ons_operands *o, uint32_t table, int64_t columns) {
    const ons_shape *shape = &o->inputs[table].shape;
    ONS_TRY(ons_need_float(o, table));
    if (shape->rank != 2 || shape->dims[1] != columns)
        return ons_node_error(o, "the embeddings (input %u) must be rows of %lld", table, (long long)columns);
    return NULL;
}

static ons_status *check_ids(const ons_operands *o, uint32_t ids, uint32_t table) {
    const ons_shape *tokens = &o->inputs[WORDS_AT].shape, *shape = &o->inputs[ids].shape;
    bool broadcast =
        ids == POSITIONS_AT && shape->rank == 2 && shape->dims[0] == 1 && shape->dims[1] == tokens->dims[1];
    if (!ons_shape_equal(shape, tokens) && !broadcast)
        return ons_node_error(o, "input %u must have the shape of the word numbers", ids);
    return ons_check_indices(o, ids, o->inputs[table].shape.dims[0]);
}

static ons_status *microsoft_embed_layer_normalization_infer(ons_operands *o) {
    const ons_shape *tokens = &o->inputs[WORDS_AT].shape;
    if (!ons_has_input(o, WORDS) || !ons_has_input(o, POSITIONS))
        return ons_node_error(o, "word and position embeddings are needed");
    if (tokens->rank != 2) return ons_node_error(o, "the word numbers must be [batch, positions]");
    if (o->inputs[WORDS].shape.rank != 2) return ons_node_error(o, "the word embeddings must be a matrix");
    int64_t columns = o->inputs[WORDS].shape.dims[1];
    ONS_TRY(check_table(o, WORDS, columns));
    ONS_TRY(check_table(o, POSITIONS, columns));
    ONS_TRY(check_ids(o, WORDS_AT, WORDS));
    if (ons_has_input(o, SEGMENTS_AT) != ons_has_input(o, SEGMENTS))
        return ons_node_error(o, "segment numbers and segment embeddings come together");
    if (ons_has_input(o, SEGMENTS)) {
        ONS_TRY(check_table(o, SEGMENTS, columns));
        ONS_TRY(check_ids(o, SEGMENTS_AT, SEGMENTS));
    }
    if (ons_has_input(o, POSITIONS_AT))
        ONS_TRY(check_ids(o, POSITIONS_AT, POSITIONS));
    else if (o->inputs[POSITIONS].shape.dims[0] < tokens->dims[1])
        return ons_node_error(o, "there are fewer position embeddings than positions");
    if (!ons_has_input(o, SCALE) || !ons_has_input(o, SHIFT)) return ons_node_error(o, "scale and shift are needed");
    ONS_TRY(ons_need_vector(o, SCALE, columns, "scale"));
    ONS_TRY(ons_need_vector(o, SHIFT, columns, "shift"));
    if (ons_has_input(o, MASK) && !ons_shape_equal(&o->inputs[MASK].shape, tokens))
        return ons_node_error(o, "the mask must have the shape of the word numbers");
    int64_t dims[] = {tokens->dims[0], tokens->dims[1], columns};
    o->outputs[0] = ons_type_make(o->inputs[WORDS].dtype, ons_shape_make(3, dims));
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_INT32, ons_shape_make(1, dims));
    if (o->output_count > 2) o->outputs[2] = o->outputs[0];
    return NULL;
}

static ons_status *microsoft_embed_layer_normalization_expand(ons_replacement *m) {
    const ons_operands *o = m->operands;
    const ons_shape *tokens = &o->inputs[WORDS_AT].shape;
    ons_value_id places = ons_expand_input(m, POSITIONS_AT);
    if (places == ONS_NONE) places = ons_expand_range(m, 0, tokens->dims[1], 1, &tokens->dims[1]);
    ons_value_id sum = ons_expand_sum(m, ons_expand2(m, &ons_op_gather, m->inputs[WORDS], m->inputs[WORDS_AT]),
                                      ons_expand2(m, &ons_op_gather, m->inputs[POSITIONS], places));
    if (ons_has_input(o, SEGMENTS))
        sum = ons_expand_sum(m, sum, ons_expand2(m, &ons_op_gather, m->inputs[SEGMENTS], m->inputs[SEGMENTS_AT]));
    if (o->output_count > 1 && ons_has_input(o, MASK)) {
        int64_t last = 1;
        ons_value_id counted =
            ons_build(m->builder, &ons_op_reduce_sum, ONS_IN(m->inputs[MASK], ons_build_integers(m->builder, &last, 1)),
                      ONS_WITH(ONS_AT_INT(0, 0)));
        m->outputs[1] = ons_expand_cast(m, counted, ONS_INT32);
    } else if (o->output_count > 1) {
        int64_t *zeros;
        ONS_NEW(zeros, m->builder->graph->arena, (size_t)tokens->dims[0] + 1);
        m->outputs[1] = ons_build_constant(m->builder, o->name, &o->outputs[1], zeros);
    }
    if (o->output_count > 2) m->outputs[2] = sum;
    return ons_expand_finish(
        m, ons_build(m->builder, &ons_op_layer_normalization, ONS_IN(sum, m->inputs[SCALE], m->inputs[SHIFT]),
                     ONS_WITH(ONS_AT_INT(0, -1), ONS_AT_FLOAT(1, ons_attribute_float(o, EPSILON)))));
}

/* Adds a row of a table to the sum at a place; a number outside of it adds nothing and is a fault. */
static void add_row(const ons_operands *o, const ons_step *step, int64_t place, const void *const *inputs,
                    uint32_t table, int64_t number, double *to) {
    const ons_shape *shape = &o->inputs[table].shape;
    int64_t row = ons_reference_index(step, place, number, shape->dims[0]);
    for (int64_t c = 0; row >= 0 && c < shape->dims[1]; ++c)
        to[c] += ((const double *)inputs[table])[row * shape->dims[1] + c];
}

static void microsoft_embed_layer_normalization_reference(const ons_operands *o, const ons_step *step,
                                                          const void *const *inputs, void *const *outputs) {
    const ons_shape *tokens = &o->inputs[WORDS_AT].shape;
    int64_t columns = o->inputs[WORDS].shape.dims[1], count = ons_shape_elements(tokens);
    double *y = outputs[0];
    for (int64_t t = 0; t < count; ++t, y += columns) {
        for (int64_t c = 0; c < columns; ++c) y[c] = 0;
        int64_t place = t % tokens->dims[1];
        if (ons_has_input(o, POSITIONS_AT))
            place = ((const int64_t *)inputs[POSITIONS_AT])[o->inputs[POSITIONS_AT].shape.dims[0] == 1 ? place : t];
        add_row(o, step, t, inputs, WORDS, ((const int64_t *)inputs[WORDS_AT])[t], y);
        add_row(o, step, t, inputs, POSITIONS, place, y);
        if (ons_has_input(o, SEGMENTS))
            add_row(o, step, t, inputs, SEGMENTS, ((const int64_t *)inputs[SEGMENTS_AT])[t], y);
        for (int64_t c = 0; ons_has_output(o, 2) && outputs[2] != NULL && c < columns; ++c)
            ((double *)outputs[2])[t * columns + c] = y[c];
        ons_norm_reference(
            &(ons_norm_rows){1, columns, ons_attribute_float(o, EPSILON), true, inputs[SCALE], inputs[SHIFT]}, y, y,
            NULL);
    }
    for (int64_t b = 0; ons_has_output(o, 1) && outputs[1] != NULL && b < tokens->dims[0]; ++b) {
        int64_t seen = 0;
        for (int64_t s = 0; ons_has_input(o, MASK) && s < tokens->dims[1]; ++s)
            seen += ((const int64_t *)inputs[MASK])[b * tokens->dims[1] + s];
        ((int64_t *)outputs[1])[b] = seen;
    }
}

ONS_DEFINE_EXPANSION(microsoft_embed_layer_normalization, "EmbedLayerNormalization", ONS_MICROSOFT,
                     ONS_ARITY(1, 9, 1, 3),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("epsilon", 1e-12), ONS_INT_ATTRIBUTE("mask_index_type", 0)),
                     microsoft_embed_layer_normalization_infer, ons_cost_elementwise, ONS_ALL_INPUTS,
                     microsoft_embed_layer_normalization_expand, microsoft_embed_layer_normalization_reference);

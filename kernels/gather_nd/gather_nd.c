/* GatherND: the slices of the data that index tuples name. */
#include "kernels/gather_nd/gather_nd_node.h"

#include <stdlib.h>

#include "graph/passes/replacement.h"
#include "kernels/gather_scatter/nd_indexing.h"

extern const ons_operator ons_op_gather_nd, ons_op_gather_nd_gradient;

static ons_status *gather_nd_infer(ons_operands *o) {
    ons_nd_indexing indexing;
    uint32_t tail;
    ons_shape shape;
    ONS_TRY(find_indexing(o, &indexing, &tail));
    ONS_TRY(ons_nd_indexing_shape(o, &o->inputs[DATA].shape, tail, &shape));
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

static void gather_nd_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_nd_indexing indexing = {0};
    uint32_t tail;
    ons_resolved(find_indexing(o, &indexing, &tail));
    for (int64_t i = 0, zero = 0; i < indexing.batches * indexing.tuples; ++i) {
        int64_t from = ons_nd_indexing_reference(&indexing, step, inputs[INDICES], i);
        for (int64_t k = 0; k < indexing.slice; ++k)
            ons_copy_word(outputs[0], i * indexing.slice + k, from < 0 ? &zero : inputs[DATA], from < 0 ? 0 : from + k);
    }
}

static ons_status *gather_nd_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_nd_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, BATCH_DIMS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

/* Whether the indices are known and the first number of each tuple counts the indices' first axis, which is as long as
 * the data's: x[arange(batch), places]. */
static bool counts_first_axis(const ons_operands *o) {
    const ons_shape *shape = &o->inputs[INDICES].shape;
    const int64_t *indices = o->constants[INDICES].data;
    if (indices == NULL || o->inputs[INDICES].dtype != ONS_INT64 || ons_attribute_int(o, BATCH_DIMS) != 0) return false;
    if (shape->rank < 2 || shape->dims[0] != o->inputs[DATA].shape.dims[0]) return false;
    int64_t width = shape->dims[shape->rank - 1], tuples = ons_shape_span(shape, 1, shape->rank - 1);
    bool counts = width > 1;
    for (int64_t i = 0; i < shape->dims[0] && counts; ++i)
        for (int64_t k = 0; k < tuples && counts; ++k) counts = indices[(i * tuples + k) * width] == i;
    return counts;
}

/* Where the tuples only count the first axis, that becomes one of the batch, whose number they do without. */
static ons_status *gather_nd_decompose(ons_replacement *m) {
    const ons_operands *o = m->operands;
    if (!counts_first_axis(o)) return NULL;
    ons_type type = o->inputs[INDICES];
    int64_t *width = &type.shape.dims[type.shape.rank - 1], from = 0;
    *width -= 1;
    int64_t count = ons_shape_elements(&type.shape);
    int64_t *places = malloc((size_t)(count + 1) * sizeof *places);
    if (places == NULL) return ons_status_out_of_memory();
    for (int64_t i = 0; i < count; ++i) {
        if (i % *width == 0) ++from;
        places[i] = ((const int64_t *)o->constants[INDICES].data)[from++];
    }
    ons_value_id indices = ons_build_constant(m->builder, "indices", &type, places);
    free(places);
    return ons_replace_by(m, &ons_op_gather_nd, ONS_IN(m->inputs[DATA], indices), ONS_WITH(ONS_AT_INT(BATCH_DIMS, 1)));
}

ONS_DEFINE_OPERATOR(gather_nd, "GatherND", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_dims", 0)), ONS_INFER(gather_nd_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_nd_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ADDRESSES, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(NULL, ONS_NO_PATTERNS, gather_nd_decompose),
                    ONS_REFERENCE(gather_nd_reference));

/* Gather: along one axis the entries that the indices name; with axis 0 of a matrix, an embedding. */
#include "kernels/gather/gather.h"

#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "graph/passes/replacement.h"
#include "graph/passes/shard.h"
#include "graph/upgrade.h"
#include "kernels/common/indexing/indexing.h"
#include "kernels/transpose/transpose.h"

extern const ons_operator ons_op_gather, ons_op_gather_gradient, ons_op_gather_shard, ons_op_reshape, ons_op_transpose;

ons_status *ons_gather_infer_of(ons_operands *o, uint32_t axis, int64_t entries) {
    const ons_shape *data = &o->inputs[DATA].shape, *indices = &o->inputs[INDICES].shape;
    ONS_TRY(ons_check_indices(o, INDICES, entries));
    ons_shape shape = {.rank = data->rank - 1 + indices->rank};
    if (shape.rank > ONS_RANK_MAX)
        return ons_node_error(o, "the result has rank %u, at most %d is possible", shape.rank, ONS_RANK_MAX);
    for (uint32_t i = 0; i < shape.rank; ++i)
        shape.dims[i] = i < axis                   ? data->dims[i]
                        : i < axis + indices->rank ? indices->dims[i - axis]
                                                   : data->dims[i - indices->rank + 1];
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, shape);
    return NULL;
}

static ons_status *gather_infer(ons_operands *o) {
    const ons_shape *data = &o->inputs[DATA].shape;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), data->rank, &axis));
    return ons_gather_infer_of(o, axis, data->dims[axis]);
}

void ons_gather_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    state s = make_state(o, 8);
    const int64_t *indices = inputs[INDICES];
    int64_t outer_count = s.inner == 0 ? 1 : s.outer;
    for (int64_t outer = 0; outer < outer_count; ++outer)
        for (int64_t i = 0; i < s.count; ++i) {
            int64_t row = ons_reference_index(step, i, indices[i], s.entries) - s.first;
            char *to = (char *)outputs[0] + (outer * s.count + i) * s.inner;
            if (row < 0 || row >= s.length)
                memset(to, 0, (size_t)s.inner);
            else
                memcpy(to, (const char *)inputs[DATA] + (outer * s.length + row) * s.inner, (size_t)s.inner);
        }
}

static ons_status *gather_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] =
        ons_build(g->builder, &ons_op_gather_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
                  ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)),
                           ONS_AT_INTS(1, shape->rank, shape->dims), {2, g->operands->attributes[PADDING]}));
    return NULL;
}

/* Whether the indices are known, and take all entries in order. */
static bool takes_all(const ons_operands *o, uint32_t axis) {
    const ons_tensor *indices = &o->constants[INDICES];
    int64_t count = ons_shape_elements(&o->inputs[INDICES].shape);
    bool all = indices->data != NULL && count == o->inputs[DATA].shape.dims[axis];
    for (int64_t i = 0; i < count && all; ++i) {
        int64_t index;
        ons_widen(indices->type.dtype, (const char *)indices->data + i * (int64_t)ons_dtype_size(indices->type.dtype),
                  1, &index);
        all = index == i;
    }
    return all;
}

/* PyTorch's exporter writes as_strided so: it is then a change of shape. */
static ons_status *gather_decompose(ons_replacement *m) {
    const ons_operands *o = m->operands;
    const ons_shape *shape = &o->outputs[0].shape;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), o->inputs[DATA].shape.rank, &axis));
    if (ons_has_attribute(o, PADDING) || !takes_all(o, axis)) return NULL;
    ons_value_id sizes = ons_build_integers(m->builder, shape->dims, shape->rank);
    return ons_replace_by(m, &ons_op_reshape, ONS_IN(m->inputs[DATA], sizes), ONS_WITH(ONS_AT_INT(0, 1)));
}

/* A Transpose that leaves the looked-up rows whole moves the indices instead, which are far fewer bytes: a recurrent
 * network behind an embedding has its time first so. */
static ons_value_id transpose_indices(ons_match *match) {
    const ons_operands *gather = ons_match_node(match, "g"), *transpose = ons_match_node(match, "result");
    uint32_t perm[ONS_RANK_MAX], axis;
    if (gather == NULL || transpose == NULL) return ONS_NONE;
    const ons_shape *table = &gather->inputs[DATA].shape, *indices = &gather->inputs[INDICES].shape;
    ons_resolved(ons_transpose_find_permutation(transpose, perm));
    bool fits = ons_axis_resolve(ons_attribute_int(gather, AXIS), table->rank, &axis) && axis == 0;
    for (uint32_t i = indices->rank; fits && i < transpose->inputs[0].shape.rank; ++i) fits = perm[i] == i;
    if (!fits) return ONS_NONE;
    int64_t order[ONS_RANK_MAX];
    for (uint32_t i = 0; i < indices->rank; ++i) order[i] = perm[i];
    ons_builder *builder = ons_match_builder(match);
    ons_value_id moved = ons_build(builder, &ons_op_transpose, ONS_IN(ons_match_value(match, "indices")),
                                   ONS_WITH(ONS_AT_INTS(0, indices->rank, order)));
    return ons_build(builder, &ons_op_gather, ONS_IN(ons_match_value(match, "table"), moved),
                     ONS_WITH({PADDING, gather->attributes[PADDING]}));
}

/* Each shard looks up what it has, and the sum is what one of them found. */
static ons_status *gather_shard(ons_sharding *s) {
    uint32_t axis;
    ONS_TRY(
        ons_node_axis(s->operands, ons_attribute_int(s->operands, AXIS), s->operands->inputs[DATA].shape.rank, &axis));
    if (s->parts[DATA] == NULL || s->axes[DATA] != axis) return NULL;
    for (uint32_t i = 0; i < s->shards; ++i) {
        ons_sharding_begin(s, i);
        s->results[i] = ons_build(s->builder, &ons_op_gather_shard, ONS_IN(s->parts[DATA][i], s->inputs[INDICES]),
                                  ONS_WITH(ONS_AT_INT(AXIS, axis), {PADDING, s->operands->attributes[PADDING]},
                                           ONS_AT_INT(FIRST, ons_sharding_first(s, DATA, i)),
                                           ONS_AT_INT(ENTRIES, s->operands->inputs[DATA].shape.dims[axis])));
    }
    s->join = ONS_SHARDS_SUM;
    return NULL;
}

/* PyTorch's embedding leaves one row without a gradient. Only the exporter's own words tell which: nn.Embedding counts
 * a negative padding_idx from the end before the call, and there a negative number means that there is none. */
static ons_status *gather_upgrade(ons_upgrade *u) {
    const ons_attribute yes = {.kind = ONS_ATTRIBUTE_INT, .i = 1};
    bool one = ons_call_is(&u->call, "aten.embedding"), bag = ons_call_is(&u->call, "aten.embedding_bag");
    int64_t padding = -1;
    if (one) ons_call_integer(&u->call, 2, "padding_idx", &padding);
    if ((one || bag) && ons_call_is_true(&u->call, 3, "scale_grad_by_freq"))
        ONS_TRY(ons_upgrade_set(u, "onstage_by_frequency", yes));
    if (padding < 0) return NULL; /* what a bag leaves out its nodes leave out */
    return ons_upgrade_set(u, "onstage_padding", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = padding});
}

ONS_DEFINE_OPERATOR(
    gather, "Gather", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_OPTIONAL_ATTRIBUTE("onstage_padding", ONS_ATTRIBUTE_INT),
                   ONS_OPTIONAL_ATTRIBUTE("onstage_by_frequency", ONS_ATTRIBUTE_INT)),
    ONS_INFER(gather_infer), ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_gradient, ONS_INPUT_BIT(DATA)),
    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0), ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_ALONG_AXIS, 0),
    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_SHARDED_FORMS(gather_upgrade, ONS_PATTERNS({"Transpose(g=Gather(table, indices))", transpose_indices}),
                      gather_decompose, gather_shard),
    ONS_REFERENCE(ons_gather_reference));

/* SplitToSequence: a tensor cut along an axis, into pieces of given sizes, of one size, or of 1. */
#include "kernels/operators.h"
#include "kernels/sequences/sequences.h"

enum { AXIS, KEEPDIMS };

enum { MOST = 4096 };

/* A scalar is the size of all pieces but a shorter last one. */
static ons_status *find_sizes(const ons_operands *o, int64_t length, int64_t sizes[static ONS_INTEGERS_MAX],
                              uint32_t *count) {
    *count = 0;
    if (ons_has_input(o, 1)) ONS_TRY(ons_constant_integers(o, 1, sizes, count));
    if (*count > 0 && o->inputs[1].shape.rank == 1) return NULL;
    int64_t size = *count > 0 ? sizes[0] : 1;
    if (size < 1 || (length + size - 1) / size > ONS_INTEGERS_MAX)
        return ons_node_error(o, "pieces of %lld of an axis of %lld, at most %d are possible", (long long)size,
                              (long long)length, ONS_INTEGERS_MAX);
    for (*count = 0; *count * size < length; ++*count)
        sizes[*count] = length - *count * size < size ? length - *count * size : size;
    return NULL;
}

static ons_status *split_to_sequence_resolve(ons_replacement *m) {
    const ons_operands *o = m->operands;
    int64_t sizes[ONS_INTEGERS_MAX];
    uint32_t axis, count;
    if (o->inputs[0].dtype == ONS_NO_DTYPE) return ons_node_error(o, "its input is a sequence already");
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), o->inputs[0].shape.rank, &axis));
    int64_t length = o->inputs[0].shape.dims[axis];
    ons_value_id *pieces;
    bool unstacks = !ons_has_input(o, 1) && ons_attribute_int(o, KEEPDIMS) == 0;
    if (unstacks && length > MOST) return ons_node_error(o, "more than %d pieces", MOST);
    ONS_NEW(pieces, m->builder->graph->arena, (unstacks ? (size_t)length : 0) + ONS_INTEGERS_MAX);
    if (unstacks) {
        ONS_TRY(ons_replacement_unstack(m, m->inputs[0], axis, pieces));
        return ons_replace_by_sequence(m, pieces, (uint32_t)length);
    }
    ONS_TRY(find_sizes(o, length, sizes, &count));
    pieces[0] = m->inputs[0];
    if (count != 1)
        ons_build_node(m->builder, &ons_op_split, ONS_IN(m->inputs[0], ons_build_integers(m->builder, sizes, count)),
                       ONS_WITH(ONS_AT_INT(0, axis)), count, NULL, pieces);
    ONS_TRY(ons_builder_finish(m->builder));
    return ons_replace_by_sequence(m, pieces, count);
}

ONS_DEFINE_SEQUENCE_OPERATOR(split_to_sequence, "SplitToSequence", 11, ONS_ARITY(1, 2, 1, 1),
                             ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_INT_ATTRIBUTE("keepdims", 1)),
                             split_to_sequence_resolve);

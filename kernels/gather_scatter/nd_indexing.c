#include "kernels/gather_scatter/nd_indexing.h"

static ons_status *check_tuples(const ons_operands *o, const ons_nd_indexing *indexing) {
    const void *known = o->constants[1].data;
    for (int64_t i = 0, bad = 0; known != NULL && i < indexing->batches * indexing->tuples; ++i)
        if (ons_nd_indexing_at(indexing, indexing->index_dtype, known, i, &bad) < 0)
            return ons_node_error(o, "index %lld lies outside of the data",
                                  (long long)ons_index_at(indexing->index_dtype, known, bad));
    return NULL;
}

ons_status *ons_nd_indexing_of(const ons_operands *o, const ons_shape *data, int64_t batch_dims,
                               ons_nd_indexing *indexing, uint32_t *tail) {
    const ons_shape *indices = &o->inputs[1].shape;
    ons_dtype dtype = o->inputs[1].dtype;
    if (dtype != ONS_INT64 && dtype != ONS_INT32)
        return ons_node_error(o, "indices must be int64 or int32, not %s", ons_dtype_name(dtype));
    if (batch_dims < 0 || batch_dims >= indices->rank || batch_dims >= data->rank)
        return ons_node_error(o, "batch_dims %lld does not fit the ranks", (long long)batch_dims);
    uint32_t batch = (uint32_t)batch_dims, last = indices->rank - 1;
    int64_t depth = indices->dims[last];
    if (depth < 1 || depth > data->rank - batch)
        return ons_node_error(o, "tuples of %lld indices into data of rank %u", (long long)depth, data->rank);
    for (uint32_t i = 0; i < batch; ++i)
        if (data->dims[i] != indices->dims[i]) return ons_node_error(o, "data and indices differ in batch axis %u", i);
    *tail = batch + (uint32_t)depth;
    *indexing = (ons_nd_indexing){
        .batches = ons_shape_span(data, 0, batch),
        .tuples = ons_shape_span(indices, batch, last),
        .slice = ons_shape_span(data, *tail, data->rank),
        .per_batch = ons_shape_span(data, batch, data->rank),
        .depth = (uint32_t)depth,
        .index_dtype = dtype,
    };
    for (uint32_t i = 0; i < indexing->depth; ++i) indexing->dims[i] = data->dims[batch + i];
    return check_tuples(o, indexing);
}

ons_status *ons_nd_indexing_shape(const ons_operands *o, const ons_shape *data, uint32_t tail, ons_shape *shape) {
    const ons_shape *indices = &o->inputs[1].shape;
    *shape = (ons_shape){.rank = indices->rank - 1 + data->rank - tail};
    if (shape->rank > ONS_RANK_MAX)
        return ons_node_error(o, "the result has rank %u, at most %d is possible", shape->rank, ONS_RANK_MAX);
    for (uint32_t i = 0; i < shape->rank; ++i)
        shape->dims[i] = i < indices->rank - 1 ? indices->dims[i] : data->dims[tail + i - (indices->rank - 1)];
    ONS_TRY_AT(ons_shape_check(shape), "node '%s'", o->name);
    return NULL;
}

int64_t ons_nd_indexing_at(const ons_nd_indexing *indexing, ons_dtype dtype, const void *indices, int64_t number,
                           int64_t *bad) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < indexing->depth; ++i) {
        int64_t position = number * indexing->depth + i;
        int64_t index = ons_resolve_index(ons_index_at(dtype, indices, position), indexing->dims[i]);
        if (index < 0) {
            *bad = position;
            return -1;
        }
        offset = offset * indexing->dims[i] + index;
    }
    return number / indexing->tuples * indexing->per_batch + offset * indexing->slice;
}

int64_t ons_nd_indexing_reference(const ons_nd_indexing *indexing, const ons_step *step, const void *indices,
                                  int64_t number) {
    int64_t bad = 0, at = ons_nd_indexing_at(indexing, ONS_INT64, indices, number, &bad);
    if (at < 0)
        ons_reference_fault(step, "an index tuple lies outside of the data", bad, ((const int64_t *)indices)[bad]);
    return at;
}

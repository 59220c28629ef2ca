/* com.microsoft.RotaryEmbedding: pairs of elements of each head turned by an angle that grows with the position. The
 * pairs are the halves of the head, or (interleaved) neighbours; elements past the rotary size stay as they are. */
#include "kernels/common/indexing/indexing.h"
#include "kernels/common/operator/expand.h"

enum { X, PLACES, COSINES, SINES };

enum { INTERLEAVED, HEADS, SIZE, SCALE, PACKED };

typedef struct rotary {
    int64_t batch, positions, heads, size, half; /* `half`: pairs of a head */
    bool heads_first, interleaved, offset;       /* `offset`: one number, where the first position is */
} rotary;

static ons_status *resolve_rotary(const ons_operands *o, rotary *r) {
    const ons_shape *x = &o->inputs[X].shape, *places = &o->inputs[PLACES].shape, *table = &o->inputs[COSINES].shape;
    ONS_TRY(ons_need_float(o, X));
    if (ons_attribute_int(o, PACKED) != 0 || ons_attribute_float(o, SCALE) != 1)
        return ons_node_error(o, "packed batches and a scale are not supported");
    if ((x->rank != 3 && x->rank != 4) || table->rank != 2 || !ons_shape_equal(table, &o->inputs[SINES].shape) ||
        o->inputs[COSINES].dtype != o->inputs[X].dtype || o->inputs[SINES].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the input must be [batch, positions, n] or [batch, heads, positions, size], and the "
                                 "tables of cosines and sines alike");
    *r = (rotary){.batch = x->dims[0], .half = table->dims[1], .heads_first = x->rank == 4};
    r->interleaved = ons_attribute_int(o, INTERLEAVED) != 0;
    r->heads = r->heads_first ? x->dims[1] : ons_attribute_int(o, HEADS);
    r->positions = r->heads_first ? x->dims[2] : x->dims[1];
    int64_t last = x->dims[x->rank - 1];
    if (!r->heads_first && r->heads == 0) /* then heads are as large as the tables say */
        r->heads = r->half == 0 || last % (2 * r->half) != 0 ? 0 : last / (2 * r->half);
    r->size = r->heads_first ? last : r->heads == 0 ? 0 : last / r->heads;
    int64_t turned = ons_attribute_int(o, SIZE);
    if (r->heads < 1 || (!r->heads_first && last != r->heads * r->size) || r->half < 1 || 2 * r->half > r->size ||
        (turned != 0 && turned != 2 * r->half))
        return ons_node_error(o, "tables of %lld pairs do not fit %lld heads of %lld elements", (long long)r->half,
                              (long long)r->heads, (long long)r->size);
    r->offset = places->rank == 1 && places->dims[0] == 1;
    if (!r->offset && (places->rank != 2 || places->dims[0] != r->batch || places->dims[1] != r->positions))
        return ons_node_error(o, "the positions must be one number or [batch, positions]");
    return ons_check_indices(o, PLACES, table->dims[0]);
}

static ons_status *microsoft_rotary_embedding_infer(ons_operands *o) {
    rotary r;
    ONS_TRY(resolve_rotary(o, &r));
    o->outputs[0] = o->inputs[X];
    return NULL;
}

/* A row of the table for every position, so that it broadcasts to the pairs. */
static ons_value_id rows(ons_replacement *m, const rotary *r, uint32_t table, ons_value_id places) {
    int64_t batch = r->offset ? 1 : r->batch;
    int64_t dims[] = {batch, r->heads_first ? 1 : r->positions, r->heads_first ? r->positions : 1, r->half};
    return ons_expand_reshape(m, ons_expand2(m, &ons_op_gather, m->inputs[table], places), 4, dims);
}

static ons_status *microsoft_rotary_embedding_expand(ons_replacement *m) {
    rotary r;
    ons_resolved(resolve_rotary(m->operands, &r));
    const ons_shape *shape = &m->operands->inputs[X].shape;
    int64_t second = r.heads_first ? r.heads : r.positions, third = r.heads_first ? r.positions : r.heads;
    int64_t whole[] = {r.batch, second, third, r.size}, halves[] = {r.batch, second, third, r.half},
            turned[] = {r.batch, second, third, 2 * r.half}, pairs[] = {r.batch, second, third, r.half, 2},
            apart[] = {r.batch, second, third, r.half, 1};
    ons_value_id places = ons_expand_cast(m, m->inputs[PLACES], ONS_INT64);
    if (r.offset) places = ons_expand_sum(m, places, ons_expand_range(m, 0, r.positions, 1, &r.positions));
    ons_value_id cosine = rows(m, &r, COSINES, places), sine = rows(m, &r, SINES, places);
    ons_value_id x = ons_expand_reshape(m, m->inputs[X], 4, whole), a, b;
    if (r.interleaved) {
        ons_value_id split = ons_expand_reshape(m, ons_expand_slice(m, x, 3, 0, 2 * r.half), 5, pairs);
        a = ons_expand_reshape(m, ons_expand_slice(m, split, 4, 0, 1), 4, halves);
        b = ons_expand_reshape(m, ons_expand_slice(m, split, 4, 1, 2), 4, halves);
    } else {
        a = ons_expand_slice(m, x, 3, 0, r.half);
        b = ons_expand_slice(m, x, 3, r.half, 2 * r.half);
    }
    ons_value_id first =
        ons_expand2(m, &ons_op_sub, ons_expand2(m, &ons_op_mul, a, cosine), ons_expand2(m, &ons_op_mul, b, sine));
    ons_value_id other =
        ons_expand2(m, &ons_op_add, ons_expand2(m, &ons_op_mul, b, cosine), ons_expand2(m, &ons_op_mul, a, sine));
    ons_value_id y;
    if (r.interleaved)
        y = ons_expand_reshape(
            m, ons_expand_concat(m, ons_expand_reshape(m, first, 5, apart), ons_expand_reshape(m, other, 5, apart), 4),
            4, turned);
    else
        y = ons_expand_concat(m, first, other, 3);
    if (2 * r.half < r.size) y = ons_expand_concat(m, y, ons_expand_slice(m, x, 3, 2 * r.half, r.size), 3);
    return ons_expand_finish(m, ons_expand_reshape(m, y, shape->rank, shape->dims));
}

static void microsoft_rotary_embedding_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    rotary r;
    ons_resolved(resolve_rotary(o, &r));
    const double *x = inputs[X];
    double *y = outputs[0];
    if (r.size == 0 || r.heads == 0 || r.positions == 0) return;
    for (int64_t i = 0, n = ons_elements(&o->inputs[X]); i < n; ++i) {
        int64_t d = i % r.size, head = i - d, second = r.heads_first ? r.heads : r.positions,
                third = r.heads_first ? r.positions : r.heads, batch = i / r.size / third / second,
                position = r.heads_first ? i / r.size % third : i / r.size / third % second;
        y[i] = x[i];
        if (d >= 2 * r.half) continue;
        int64_t pair = r.interleaved ? d / 2 : d % r.half;
        bool is_first = r.interleaved ? d % 2 == 0 : d < r.half;
        int64_t partner = r.interleaved ? d ^ 1 : is_first ? d + r.half : d - r.half;
        const int64_t *places = inputs[PLACES];
        int64_t row = r.offset ? places[0] + position : places[batch * r.positions + position];
        row = ons_reference_index(step, batch * r.positions + position, row, o->inputs[COSINES].shape.dims[0]);
        double cosine = row < 0 ? 0 : ((const double *)inputs[COSINES])[row * r.half + pair];
        double sine = row < 0 ? 0 : ((const double *)inputs[SINES])[row * r.half + pair];
        y[i] = x[i] * cosine + (is_first ? -sine : sine) * x[head + partner];
    }
}

/* The tables are cosines and sines: no gradient is to change them. */
ONS_DEFINE_EXPANSION(microsoft_rotary_embedding, "RotaryEmbedding", ONS_MICROSOFT, ONS_ARITY(4, 4, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("interleaved", 0), ONS_INT_ATTRIBUTE("num_heads", 0),
                                    ONS_INT_ATTRIBUTE("rotary_embedding_dim", 0), ONS_FLOAT_ATTRIBUTE("scale", 1),
                                    ONS_INT_ATTRIBUTE("is_packed_batching", 0)),
                     microsoft_rotary_embedding_infer, ons_cost_elementwise, ONS_INPUT_BIT(X),
                     microsoft_rotary_embedding_expand, microsoft_rotary_embedding_reference);

/* RotaryEmbedding of opset 23: pairs of elements of each head turned by an angle that grows with the position. */
#include "kernels/common/indexing/indexing.h"
#include "kernels/common/operator/expand.h"
#include "kernels/rotation/patterns.h"

enum { X, COSINES, SINES, PLACES };

enum { INTERLEAVED, HEADS, SIZE };

typedef struct rotary {
    int64_t batch, positions, heads, length, size; /* the first `size` elements of a head's `length` are turned */
    bool heads_first, interleaved, looks_up;       /* `looks_up`: the tables have a row for each of the places */
} rotary;

static ons_status *resolve_rotary(const ons_operands *o, rotary *r) {
    const ons_shape *x = &o->inputs[X].shape, *table = &o->inputs[COSINES].shape;
    ONS_TRY(ons_need_float(o, X));
    if ((x->rank != 3 && x->rank != 4) || !ons_type_equal(&o->inputs[COSINES], &o->inputs[SINES]) ||
        o->inputs[COSINES].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the input must be [batch, positions, n] or [batch, heads, positions, size], and the "
                                 "tables of cosines and sines alike");
    *r = (rotary){.batch = x->dims[0], .heads_first = x->rank == 4, .looks_up = ons_has_input(o, PLACES)};
    r->interleaved = ons_attribute_int(o, INTERLEAVED) != 0;
    r->positions = x->dims[r->heads_first ? 2 : 1];
    r->heads = r->heads_first ? x->dims[1] : ons_attribute_int(o, HEADS);
    int64_t last = x->dims[x->rank - 1];
    if (!r->heads_first && (r->heads < 1 || last % r->heads != 0))
        return ons_node_error(o, "%lld elements are not num_heads (%lld) heads", (long long)last, (long long)r->heads);
    r->length = r->heads_first ? last : last / r->heads;
    int64_t given = ons_attribute_int(o, SIZE);
    r->size = given == 0 ? r->length : given;
    bool fits = r->size > 0 && r->size % 2 == 0 && r->size <= r->length && table->rank == (r->looks_up ? 2 : 3) &&
                table->dims[table->rank - 1] == r->size / 2;
    if (fits && !r->looks_up) fits = table->dims[0] == r->batch && table->dims[1] == r->positions;
    if (!fits)
        return ons_node_error(o, "the tables do not fit %lld elements to turn at %lld positions", (long long)r->size,
                              (long long)r->positions);
    if (!r->looks_up) return NULL;
    const ons_shape *places = &o->inputs[PLACES].shape;
    if (places->rank != 2 || places->dims[0] != r->batch || places->dims[1] != r->positions)
        return ons_node_error(o, "the positions must be [batch, positions]");
    return ons_check_indices(o, PLACES, table->dims[0]);
}

static ons_status *rotary_embedding_infer(ons_operands *o) {
    rotary r;
    ONS_TRY(resolve_rotary(o, &r));
    o->outputs[0] = o->inputs[X];
    return NULL;
}

/* A row for every position, so that it broadcasts to the heads. */
static ons_value_id rows(ons_replacement *m, const rotary *r, uint32_t table) {
    ons_value_id found = m->inputs[table];
    if (r->looks_up) found = ons_expand2(m, &ons_op_gather, found, m->inputs[PLACES]);
    const int64_t dims[] = {r->batch, r->heads_first ? 1 : r->positions, r->heads_first ? r->positions : 1,
                            r->size / 2};
    return ons_expand_reshape(m, found, 4, dims);
}

static ons_status *rotary_embedding_expand(ons_replacement *m) {
    rotary r;
    ons_resolved(resolve_rotary(m->operands, &r));
    const ons_shape *shape = &m->operands->inputs[X].shape;
    ons_value_id x = m->inputs[X];
    if (!r.heads_first) x = ons_expand_reshape(m, x, 4, (int64_t[]){r.batch, r.positions, r.heads, r.length});
    x = ons_build(m->builder, &ons_op_rotation, ONS_IN(x, rows(m, &r, COSINES), rows(m, &r, SINES)),
                  ONS_WITH(ONS_AT_INT(ONS_ROTATION_SIZE, r.size), ONS_AT_INT(ONS_ROTATION_INTERLEAVED, r.interleaved)));
    return ons_expand_finish(m, r.heads_first ? x : ons_expand_reshape(m, x, shape->rank, shape->dims));
}

static void rotary_embedding_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    rotary r;
    ons_resolved(resolve_rotary(o, &r));
    const double *x = inputs[X];
    double *y = outputs[0];
    int64_t second = r.heads_first ? r.heads : r.positions, third = r.heads_first ? r.positions : r.heads;
    if (r.length == 0 || second == 0 || third == 0) return;
    for (int64_t i = 0, n = ons_elements(&o->inputs[X]); i < n; ++i) {
        int64_t d = i % r.length, half = r.size / 2, batch = i / r.length / third / second;
        int64_t position = r.heads_first ? i / r.length % third : i / r.length / third % second;
        y[i] = x[i];
        if (d >= r.size) continue;
        int64_t pair = r.interleaved ? d / 2 : d % half;
        bool is_first = r.interleaved ? d % 2 == 0 : d < half;
        int64_t partner = r.interleaved ? (d ^ 1) - d : is_first ? half : -half, row = batch * r.positions + position;
        if (r.looks_up)
            row = ons_reference_index(step, row, ((const int64_t *)inputs[PLACES])[row],
                                      o->inputs[COSINES].shape.dims[0]);
        double cosine = row < 0 ? 0 : ((const double *)inputs[COSINES])[row * half + pair];
        double sine = row < 0 ? 0 : ((const double *)inputs[SINES])[row * half + pair];
        y[i] = x[i] * cosine + (is_first ? -sine : sine) * x[i + partner];
    }
}

ONS_DEFINE_EXPANSION(rotary_embedding, "RotaryEmbedding", ONS_ONNX(23, ONS_NEWEST), ONS_ARITY(3, 4, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("interleaved", 0), ONS_INT_ATTRIBUTE("num_heads", 0),
                                    ONS_INT_ATTRIBUTE("rotary_embedding_dim", 0)),
                     rotary_embedding_infer, ons_cost_elementwise,
                     ONS_INPUT_BIT(X) | ONS_INPUT_BIT(COSINES) | ONS_INPUT_BIT(SINES), rotary_embedding_expand,
                     rotary_embedding_reference);

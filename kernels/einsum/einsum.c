/* Einsum: the sum over all indices that the result lacks, of the product of the operands' elements. When shapes are
 * bound it becomes transposes, sums and matrix products (see contract.h), which have their gradients. */
#include "kernels/common/layout/index.h"
#include "kernels/common/math/integers.h"
#include "kernels/common/operator/expand.h"
#include "kernels/einsum/contract.h"

enum { EQUATION };

static ons_status *read_equation(const ons_operands *o, ons_einsum *e) {
    return ons_einsum_read(o, ons_attribute_string(o, EQUATION), e);
}

static ons_status *einsum_infer(ons_operands *o) {
    ons_einsum e;
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (o->inputs[i].dtype != o->inputs[0].dtype)
            return ons_node_error(o, "operands have different element types, %s and %s",
                                  ons_dtype_name(o->inputs[0].dtype), ons_dtype_name(o->inputs[i].dtype));
    ONS_TRY(read_equation(o, &e));
    ons_shape shape = {.rank = e.result.rank};
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = e.sizes[e.result.labels[i]];
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

/* A multiplication for every operand but the first, and an addition where anything is summed, for every combination of
 * all indices: what it would take at once. */
static ons_cost einsum_cost(const ons_operands *o) {
    ons_einsum e;
    ons_resolved(read_equation(o, &e));
    double all = 1, result = (double)ons_elements(&o->outputs[0]);
    for (uint32_t label = 0; label < ONS_EINSUM_LABELS; ++label) all *= e.sizes[label] < 0 ? 1 : (double)e.sizes[label];
    return (ons_cost){all * (e.count - 1 + (all > result ? 1 : 0)), ons_operand_bytes(o)};
}

/* The next combination of the indices in `labels`; false after the last. */
static bool step_on(const ons_einsum *e, ons_labels labels, int64_t *index) {
    for (uint32_t label = ONS_EINSUM_LABELS; label-- > 0;) {
        if ((labels & ONS_LABEL_BIT(label)) == 0) continue;
        if (++index[label] < e->sizes[label]) return true;
        index[label] = 0;
    }
    return false;
}

static int64_t place_of(const ons_term *term, const ons_shape *shape, const int64_t *index) {
    int64_t place = 0;
    for (uint32_t i = 0; i < term->rank; ++i)
        place = place * shape->dims[i] + (shape->dims[i] == 1 ? 0 : index[term->labels[i]]);
    return place;
}

/* The product of the operands' elements, as a double or an integer. */
static void product_at(const ons_operands *o, const ons_einsum *e, const void *const *inputs, const int64_t *index,
                       double *real, int64_t *whole) {
    *real = 1;
    *whole = 1;
    for (uint32_t i = 0; i < e->count; ++i) {
        int64_t at = place_of(&e->operands[i], &o->inputs[i].shape, index);
        if (ons_dtype_is_float(o->inputs[0].dtype))
            *real *= ((const double *)inputs[i])[at];
        else
            *whole = ons_wrapping_multiply(*whole, ((const int64_t *)inputs[i])[at]);
    }
}

static void einsum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    ons_einsum e;
    ons_resolved(read_equation(o, &e));
    ons_labels kept = ons_term_labels(&e.result), summed = 0;
    int64_t index[ONS_EINSUM_LABELS] = {0}, n = ons_elements(&o->outputs[0]);
    bool empty = false;
    for (uint32_t label = 0; label < ONS_EINSUM_LABELS; ++label) {
        if (e.sizes[label] < 0 || (kept & ONS_LABEL_BIT(label)) != 0) continue;
        summed |= ONS_LABEL_BIT(label);
        empty |= e.sizes[label] == 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0, real;
        int64_t total = 0, whole, place[ONS_RANK_MAX];
        ons_unravel(&o->outputs[0].shape, i, place);
        for (uint32_t k = 0; k < e.result.rank; ++k) index[e.result.labels[k]] = place[k];
        for (bool more = !empty; more; more = step_on(&e, summed, index)) {
            product_at(o, &e, inputs, index, &real, &whole);
            sum += real;
            total = ons_wrapping_add(total, whole);
        }
        ons_copy_word(outputs[0], i, ons_dtype_is_float(o->inputs[0].dtype) ? (const void *)&sum : &total, 0);
    }
}

static ons_status *einsum_expand(ons_replacement *m) {
    ons_einsum e;
    ons_factor factors[ONS_EINSUM_OPERANDS];
    ons_resolved(read_equation(m->operands, &e));
    for (uint32_t i = 0; i < e.count; ++i) factors[i] = (ons_factor){m->inputs[i], e.operands[i]};
    return ons_expand_finish(m, ons_einsum_contract(m->builder, e.sizes, factors, e.count, &e.result));
}

ONS_DEFINE_EXPANSION(einsum, "Einsum", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1),
                     ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("equation", ONS_ATTRIBUTE_STRING)), einsum_infer,
                     einsum_cost, ONS_ALL_INPUTS, einsum_expand, einsum_reference);

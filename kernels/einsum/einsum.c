/* Einsum: the sum over all indices that the result lacks, of the product of the operands' elements. When shapes are
 * bound it becomes transposes, sums and matrix products (see contract.h), which have their gradients. */

#include "kernels/common/expand.h"
#include "kernels/common/index.h"
#include "kernels/common/integers.h"
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
    ons_status_free(read_equation(o, &e)); /* has passed inference */
    double all = 1, result = (double)ons_elements(&o->outputs[0]);
    for (uint32_t label = 0; label < ONS_EINSUM_LABELS; ++label) all *= e.sizes[label] < 0 ? 1 : (double)e.sizes[label];
    return (ons_cost){all * (e.count - 1 + (all > result ? 1 : 0)), ons_operand_bytes(o)};
}

/* ----------------------------------------------------------------------------------------------------------- reference
 */

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
    ons_status_free(read_equation(o, &e)); /* has passed inference */
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

/* --------------------------------------------------------------------------------------------------------------- nodes
 */

static ons_status *einsum_expand(ons_mode_change *m) {
    ons_einsum e;
    ons_factor factors[ONS_EINSUM_OPERANDS];
    ONS_TRY(read_equation(m->operands, &e));
    for (uint32_t i = 0; i < e.count; ++i) factors[i] = (ons_factor){m->inputs[i], e.operands[i]};
    return ons_expand_finish(m, ons_einsum_contract(m->builder, e.sizes, factors, e.count, &e.result));
}

#define EQUATION_IS(TEXT) .settings = {ONS_SET_STRING("equation", TEXT)}, .tolerance = 1e-5

static const ons_case einsum_cases[] = {
    {.name = "product", .inputs = {ONS_F32(3, 4), ONS_F32(4, 5)}, EQUATION_IS("ij,jk->ik"), .flops = 120},
    {.name = "product_exchanged", .inputs = {ONS_F32(3, 4), ONS_F32(4, 5)}, EQUATION_IS("ij,jk->ki"), .flops = 120},
    {.name = "product_transposed", .inputs = {ONS_F32(4, 3), ONS_F32(5, 4)}, EQUATION_IS("ji, kj -> ik"), .flops = 120},
    {.name = "implicit", .inputs = {ONS_F32(3, 4), ONS_F32(4, 5)}, EQUATION_IS("zj,jB"), .flops = 120},
    {.name = "transpose", .inputs = {ONS_F32(3, 4, 2)}, EQUATION_IS("ijk->kij"), .flops = 0},
    {.name = "sum", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij->"), .flops = 12},
    {.name = "sum_rows", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij->i"), .flops = 12},
    {.name = "diagonal", .inputs = {ONS_F32(4, 4)}, EQUATION_IS("ii->i"), .flops = 0},
    {.name = "trace", .inputs = {ONS_F32(2, 4, 4)}, EQUATION_IS("bii->b"), .flops = 8},
    {.name = "batch_diagonal", .inputs = {ONS_F32(4, 2, 4)}, EQUATION_IS("i...i->...i"), .flops = 0},
    {.name = "three_alike", .inputs = {ONS_F32(3, 3, 3, 2)}, EQUATION_IS("iiij->ji"), .flops = 0},
    {.name = "outer", .inputs = {ONS_F32(3), ONS_F32(4)}, EQUATION_IS("i,j->ij"), .flops = 12},
    {.name = "inner", .inputs = {ONS_F32(5), ONS_F32(5)}, EQUATION_IS("i,i"), .flops = 10},
    {.name = "elements", .inputs = {ONS_F32(3, 4), ONS_F32(4, 3)}, EQUATION_IS("ij,ji->ij"), .flops = 12},
    {.name = "elements_summed", .inputs = {ONS_F32(3, 4), ONS_F32(3, 4)}, EQUATION_IS("ij,ij->i"), .flops = 24},
    {.name = "scalar", .inputs = {ONS_F32(), ONS_F32(3)}, EQUATION_IS(",i->i"), .flops = 3},
    {.name = "batched", .inputs = {ONS_F32(2, 3, 4), ONS_F32(2, 4, 5)}, EQUATION_IS("bij,bjk->bik"), .flops = 240},
    {.name = "scores",
     .inputs = {ONS_F32(2, 5, 3, 4), ONS_F32(2, 6, 3, 4)},
     EQUATION_IS("bqhd,bkhd->bhqk"),
     .flops = 1440},
    {.name = "values",
     .inputs = {ONS_F32(2, 3, 5, 6), ONS_F32(2, 6, 3, 4)},
     EQUATION_IS("bhqk,bkhd->bqhd"),
     .flops = 1440},
    {.name = "projection", .inputs = {ONS_F32(2, 3, 4), ONS_F32(4, 2, 5)}, EQUATION_IS("btd,dhk->bthk"), .flops = 480},
    {.name = "two_inner", .inputs = {ONS_F32(2, 3, 4), ONS_F32(4, 5, 3)}, EQUATION_IS("aij,jbi->ba"), .flops = 240},
    {.name = "ellipsis",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(3, 5, 2)},
     EQUATION_IS("...ij,...jk->...ik"),
     .flops = 480},
    {.name = "ellipsis_repeats",
     .inputs = {ONS_F32(2, 1, 4, 5), ONS_F32(3, 5, 2)},
     EQUATION_IS("...ij,...jk"),
     .flops = 480},
    {.name = "ellipsis_summed", .inputs = {ONS_F32(2, 3, 4)}, EQUATION_IS("...i->i"), .flops = 24},
    {.name = "letter_repeats", .inputs = {ONS_F32(3, 1), ONS_F32(3, 4)}, EQUATION_IS("ij,ij->ij"), .flops = 12},
    {.name = "three",
     .inputs = {ONS_F32(3, 4), ONS_F32(4, 5), ONS_F32(5, 2)},
     EQUATION_IS("ij,jk,kl->il"),
     .flops = 360},
    {.name = "three_in_turn",
     .inputs = {ONS_F32(3), ONS_F32(3, 4, 5), ONS_F32(5)},
     EQUATION_IS("i,ijk,k->j"),
     .flops = 180},
    {.name = "alone_and_summed", .inputs = {ONS_F32(3, 4), ONS_F32(2)}, EQUATION_IS("ij,k->i"), .flops = 48},
    {.name = "empty", .inputs = {ONS_F32(3, 0), ONS_F32(0, 2)}, EQUATION_IS("ij,jk->ik"), .flops = 0},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 4), ONS_RANDOM(ONS_INT64, -9, 9, 4, 2)},
     EQUATION_IS("ij,jk->ik"),
     .flops = 48},
    {.name = "terms", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij,jk->ik"), .error = "2 terms"},
    {.name = "letters", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ijk->i"), .error = "does not fit"},
    {.name = "sizes", .inputs = {ONS_F32(3, 4), ONS_F32(3, 4)}, EQUATION_IS("ij,jk->ik"), .error = "elements"},
    {.name = "twice", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij->ii"), .error = "twice"},
    {.name = "from_nowhere", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij->ik"), .error = "no operand"},
    {.name = "digits", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("i2->i"), .error = "'2'"},
    {.name = "dots", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("..ij->i"), .error = "dots"},
    {.name = "arrow", .inputs = {ONS_F32(3, 4)}, EQUATION_IS("ij-i"), .error = "'->'"},
    {.name = NULL},
};

ONS_DEFINE_EXPANSION(einsum, "Einsum", ONS_ONNX(12, ONS_NEWEST), ONS_ARITY(1, ONS_VARIADIC, 1, 1),
                     ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("equation", ONS_ATTRIBUTE_STRING)), einsum_infer,
                     einsum_cost, ONS_ALL_INPUTS, einsum_expand, einsum_reference, einsum_cases);

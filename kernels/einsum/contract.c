#include "kernels/einsum/contract.h"

#include <string.h>

#include "kernels/common/layout/axes.h"
#include "kernels/operators.h"

typedef struct contraction {
    ons_builder *builder;
    const int64_t *sizes;
} contraction;

static bool has_label(ons_labels labels, uint8_t label) { return (labels & ONS_LABEL_BIT(label)) != 0; }

static ons_shape shape_of(const contraction *c, const ons_term *term) {
    ons_shape shape = {.rank = term->rank};
    for (uint32_t i = 0; i < term->rank; ++i) shape.dims[i] = c->sizes[term->labels[i]];
    return shape;
}

static bool same_order(const ons_term *a, const ons_term *b) {
    return a->rank == b->rank && memcmp(a->labels, b->labels, a->rank) == 0;
}

/* The labels of `term` that are in `chosen`, in its order, behind what `to` has. */
static void append(ons_term *to, const ons_term *term, ons_labels chosen) {
    for (uint32_t i = 0; i < term->rank && to->rank < ONS_RANK_MAX; ++i)
        if (has_label(chosen, term->labels[i])) to->labels[to->rank++] = term->labels[i];
}

/* Puts a factor's labels, and its axes with them, in another order. */
static void transpose(const contraction *c, ons_factor *factor, const ons_term *order) {
    int64_t perm[ONS_RANK_MAX] = {0};
    if (same_order(&factor->term, order)) return;
    for (uint32_t i = 0; i < order->rank; ++i)
        for (uint32_t k = 0; k < factor->term.rank; ++k)
            if (factor->term.labels[k] == order->labels[i]) perm[i] = k;
    factor->value =
        ons_build(c->builder, &ons_op_transpose, ONS_IN(factor->value), ONS_WITH(ONS_AT_INTS(0, order->rank, perm)));
    factor->term = *order;
}

/* Sums along the labels in `gone`. */
static void sum_out(const contraction *c, ons_factor *factor, ons_labels gone) {
    int64_t axes[ONS_RANK_MAX];
    uint32_t count = 0;
    ons_term left = {0};
    for (uint32_t i = 0; i < factor->term.rank; ++i)
        if (has_label(gone, factor->term.labels[i])) axes[count++] = i;
    append(&left, &factor->term, ~gone);
    factor->term = left;
    if (count == 0) return;
    factor->value =
        ons_build(c->builder, &ons_op_reduce_sum, ONS_IN(factor->value, ons_build_integers(c->builder, axes, count)),
                  ONS_WITH(ONS_AT_INT(0, 0)));
}

/* Axes of one element where the label has more go away: the factor repeats along them. */
static void drop_repeats(const contraction *c, ons_factor *factor) {
    ons_shape shape = ons_builder_type(c->builder, factor->value).shape, left = {0};
    ons_term term = {0};
    if (factor->value == ONS_NONE) return;
    for (uint32_t i = 0; i < factor->term.rank; ++i) {
        if (shape.dims[i] != c->sizes[factor->term.labels[i]]) continue;
        left.dims[left.rank++] = shape.dims[i];
        term.labels[term.rank++] = factor->term.labels[i];
    }
    if (term.rank == factor->term.rank) return;
    factor->value = ons_build_reshape(c->builder, factor->value, &left);
    factor->term = term;
}

/* [.., n, n] → [.., n] of the last two axes: every n+1st element. */
static ons_value_id take_diagonal(const contraction *c, ons_value_id value, ons_shape shape) {
    int64_t n = shape.dims[shape.rank - 1], start = 0, end = n * n, axis = shape.rank - 2, step = n + 1;
    shape.dims[shape.rank - 2] = end;
    --shape.rank;
    value = ons_build_reshape(c->builder, value, &shape);
    if (n < 2) return value;
    return ons_build(c->builder, &ons_op_slice,
                     ONS_IN(value, ons_build_integers(c->builder, &start, 1), ons_build_integers(c->builder, &end, 1),
                            ons_build_integers(c->builder, &axis, 1), ons_build_integers(c->builder, &step, 1)),
                     ONS_DEFAULTS);
}

/* Labels that come more than once in a factor come once afterwards. */
static void take_diagonals(const contraction *c, ons_factor *factor) {
    for (uint32_t first = 0; first < factor->term.rank; ++first) {
        uint32_t second = first + 1, rank = factor->term.rank;
        while (second < rank && factor->term.labels[second] != factor->term.labels[first]) ++second;
        if (second == rank) continue;
        int64_t perm[ONS_RANK_MAX];
        ons_term moved = {0};
        for (uint32_t i = 0; i < rank; ++i)
            if (i != first && i != second) {
                perm[moved.rank] = i;
                moved.labels[moved.rank++] = factor->term.labels[i];
            }
        perm[moved.rank] = first;
        perm[moved.rank + 1] = second;
        moved.labels[moved.rank++] = factor->term.labels[first];
        ons_value_id value =
            ons_build(c->builder, &ons_op_transpose, ONS_IN(factor->value), ONS_WITH(ONS_AT_INTS(0, rank, perm)));
        ons_shape shape = ons_builder_type(c->builder, value).shape;
        if (value == ONS_NONE) return;
        *factor = (ons_factor){take_diagonal(c, value, shape), moved};
        first = (uint32_t)-1; /* again from the start */
    }
}

/* ------------------------------------------------------------------------------------------------------ two factors */

/* The labels of a pair by what becomes of them. */
typedef struct roles {
    ons_labels batch, inner, left, right;
} roles;

/* How a factor becomes matrices: as it is, with its last two groups exchanged, or (neither) after a transpose. */
static bool fits(const ons_factor *factor, const ons_term *batch, const ons_term *rows, const ons_term *columns) {
    ons_term order = *batch;
    append(&order, rows, ~(ons_labels)0);
    append(&order, columns, ~(ons_labels)0);
    return same_order(&factor->term, &order);
}

static ons_term chosen_of(const ons_term *term, ons_labels labels) {
    ons_term chosen = {0};
    append(&chosen, term, labels);
    return chosen;
}

/* Whether the factor needs a transpose for these orders of batch and inner labels. */
static bool needs_transpose(const ons_factor *factor, const ons_term *batch, const ons_term *inner,
                            const ons_term *free) {
    return !fits(factor, batch, free, inner) && !fits(factor, batch, inner, free);
}

static int64_t product_of(const contraction *c, const ons_term *term) {
    int64_t product = 1;
    for (uint32_t i = 0; i < term->rank; ++i) product *= c->sizes[term->labels[i]];
    return product;
}

/* As [batch…, rows, columns], each of the two one axis. What comes with rows and columns exchanged is transposed last
 * and by itself, so that the product can read it as it is (see matmul_transposed). */
static ons_value_id as_matrices(const contraction *c, ons_factor *factor, const ons_term *batch, const ons_term *rows,
                                const ons_term *columns) {
    uint32_t last = factor->term.rank - 1;
    bool exchanged = fits(factor, batch, columns, rows) && !fits(factor, batch, rows, columns);
    if (needs_transpose(factor, batch, rows, columns)) { /* neighbours stay neighbours */
        exchanged = rows->rank > 0 && rows->labels[rows->rank - 1] == factor->term.labels[last];
        ons_term order = *batch;
        append(&order, exchanged ? columns : rows, ~(ons_labels)0);
        append(&order, exchanged ? rows : columns, ~(ons_labels)0);
        transpose(c, factor, &order);
    }
    ons_shape shape = shape_of(c, batch), now = ons_builder_type(c->builder, factor->value).shape;
    shape.dims[shape.rank++] = product_of(c, exchanged ? columns : rows);
    shape.dims[shape.rank++] = product_of(c, exchanged ? rows : columns);
    ons_value_id value = factor->value;
    if (value != ONS_NONE && !ons_shape_equal(&now, &shape)) value = ons_build_reshape(c->builder, value, &shape);
    if (!exchanged) return value;
    int64_t perm[ONS_RANK_MAX];
    for (uint32_t i = 0; i < shape.rank; ++i) perm[i] = i;
    perm[shape.rank - 2] = shape.rank - 1;
    perm[shape.rank - 1] = shape.rank - 2;
    return ons_build(c->builder, &ons_op_transpose, ONS_IN(value), ONS_WITH(ONS_AT_INTS(0, shape.rank, perm)));
}

static ons_factor multiply_matrices(const contraction *c, ons_factor a, ons_factor b, const roles *r) {
    /* Batch and inner labels in a's or b's order: whatever needs fewer transposes. */
    ons_term batch = {0}, inner = {0}, left = chosen_of(&a.term, r->left), right = chosen_of(&b.term, r->right);
    int fewest = 3;
    for (int way = 0; way < 4; ++way) {
        ons_term some_batch = chosen_of(way & 1 ? &b.term : &a.term, r->batch);
        ons_term some_inner = chosen_of(way & 2 ? &b.term : &a.term, r->inner);
        int count = needs_transpose(&a, &some_batch, &some_inner, &left) +
                    needs_transpose(&b, &some_batch, &some_inner, &right);
        if (count >= fewest) continue;
        fewest = count;
        batch = some_batch;
        inner = some_inner;
    }
    ons_value_id x = as_matrices(c, &a, &batch, &left, &inner), y = as_matrices(c, &b, &batch, &inner, &right);
    ons_factor product = {ons_build(c->builder, &ons_op_matmul, ONS_IN(x, y), ONS_DEFAULTS), batch};
    append(&product.term, &left, ~(ons_labels)0);
    append(&product.term, &right, ~(ons_labels)0);
    ons_shape shape = shape_of(c, &product.term), now = ons_builder_type(c->builder, product.value).shape;
    if (product.value != ONS_NONE && !ons_shape_equal(&shape, &now))
        product.value = ons_build_reshape(c->builder, product.value, &shape);
    return product;
}

/* The factor's axes at the places that `order` gives them, 1 where it lacks a label. */
static ons_value_id line_up(const contraction *c, ons_factor factor, const ons_term *order) {
    ons_term own = chosen_of(order, ons_term_labels(&factor.term));
    transpose(c, &factor, &own);
    ons_shape shape = {.rank = order->rank};
    for (uint32_t i = 0; i < order->rank; ++i)
        shape.dims[i] = has_label(ons_term_labels(&own), order->labels[i]) ? c->sizes[order->labels[i]] : 1;
    return own.rank == order->rank ? factor.value : ons_build_reshape(c->builder, factor.value, &shape);
}

/* Element by element; what one of them lacks repeats. */
static ons_factor multiply_elements(const contraction *c, ons_factor a, ons_factor b, const roles *r,
                                    const ons_term *result) {
    ons_labels all = ons_term_labels(&a.term) | ons_term_labels(&b.term);
    ons_term order = chosen_of(result, all);
    append(&order, &a.term, all & ~ons_term_labels(&order));
    append(&order, &b.term, all & ~ons_term_labels(&order));
    ons_factor product = {
        ons_build(c->builder, &ons_op_mul, ONS_IN(line_up(c, a, &order), line_up(c, b, &order)), ONS_DEFAULTS), order};
    sum_out(c, &product, r->inner);
    return product;
}

static uint32_t count_labels(ons_labels labels) {
    uint32_t count = 0;
    for (; labels != 0; labels &= labels - 1) ++count;
    return count;
}

/* a × b, keeping the labels in `needed`. */
static ons_factor multiply(const contraction *c, ons_factor a, ons_factor b, ons_labels needed,
                           const ons_term *result) {
    sum_out(c, &a, ons_term_labels(&a.term) & ~ons_term_labels(&b.term) & ~needed);
    sum_out(c, &b, ons_term_labels(&b.term) & ~ons_term_labels(&a.term) & ~needed);
    ons_labels in_a = ons_term_labels(&a.term), in_b = ons_term_labels(&b.term);
    roles r = {in_a & in_b & needed, in_a & in_b & ~needed, in_a & ~in_b, in_b & ~in_a};
    bool vectors = r.left == 0 && r.right == 0;
    if (count_labels(r.batch | r.left | r.right) > ONS_RANK_MAX || count_labels(r.batch) + 2 > ONS_RANK_MAX) {
        ons_builder_fail(c->builder, ons_status_new(ONS_UNSUPPORTED,
                                                    "a product in between has more than %d axes; "
                                                    "split the Einsum in two",
                                                    ONS_RANK_MAX));
        return (ons_factor){.value = ONS_NONE};
    }
    if ((r.inner == 0 || vectors) && count_labels(in_a | in_b) <= ONS_RANK_MAX)
        return multiply_elements(c, a, b, &r, result);
    /* The factor whose own labels come first in the result stands on the left. */
    for (uint32_t i = 0; i < result->rank; ++i) {
        if (has_label(r.left, result->labels[i])) break;
        if (!has_label(r.right, result->labels[i])) continue;
        roles exchanged = {r.batch, r.inner, r.right, r.left};
        return multiply_matrices(c, b, a, &exchanged);
    }
    return multiply_matrices(c, a, b, &r);
}

ons_value_id ons_einsum_contract(ons_builder *builder, const int64_t *sizes, const ons_factor *factors, uint32_t count,
                                 const ons_term *result) {
    const contraction c = {builder, sizes};
    ons_factor product = {.value = ONS_NONE};
    for (uint32_t i = 0; i < count; ++i) {
        ons_labels needed = ons_term_labels(result);
        for (uint32_t k = i + 1; k < count; ++k) needed |= ons_term_labels(&factors[k].term);
        ons_factor next = factors[i];
        take_diagonals(&c, &next);
        drop_repeats(&c, &next);
        product = i == 0 ? next : multiply(&c, product, next, needed, result);
        sum_out(&c, &product, ons_term_labels(&product.term) & ~needed);
    }
    transpose(&c, &product, result);
    return product.value;
}

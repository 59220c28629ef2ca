/* How a model's own loss adds up over parts of a batch, proven from two graphs of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "graph/passes/loss_parts.h"
#include "kernels/loss_rules.h"
#include "tests/rooms/graph/fixture.h"

enum { ROWS = 3, OTHER_ROWS = 7, FEATURES = 4 };

/* What a test looks at; `build` makes the loss of inputs "x" and "t", [rows, FEATURES] each, and a weight. */
typedef struct model {
    scene *s;
    ons_value_id x, t, w;
    int64_t rows;
} model;
typedef ons_value_id build_loss(const model *m);

typedef struct proof {
    model m, other;
    ons_arena *arena;
    ons_loss_parts parts;
    ons_value_id loss;
} proof;

static model open_model(int64_t rows) {
    scene *s = scene_open();
    model m = {.s = s, .rows = rows};
    m.x = add_input(s, "x", SHAPE(rows, FEATURES));
    m.t = add_input(s, "t", SHAPE(rows, FEATURES));
    m.w = add_parameter(s, "w", SHAPE(FEATURES));
    return m;
}

static proof prove(build_loss *build) {
    proof p = {.m = open_model(ROWS), .other = open_model(OTHER_ROWS), .arena = ons_arena_new()};
    p.loss = build(&p.m);
    add_output(p.other.s, build(&p.other));
    add_output(p.m.s, p.loss);
    must(ons_builder_finish(&p.m.s->builder));
    must(ons_builder_finish(&p.other.s->builder));
    const ons_loss_view view = {.graph = p.m.s->graph,
                                .other = p.other.s->graph,
                                .rows = ROWS,
                                .other_rows = OTHER_ROWS,
                                .registry = p.m.s->registry,
                                .rules = ons_kernels_loss_rules(),
                                .loss = p.loss};
    must(ons_loss_parts_find(&view, p.arena, &p.parts));
    return p;
}

static void close_proof(proof *p) {
    ons_arena_free(p->arena);
    scene_close(p->m.s);
    scene_close(p->other.s);
}

static ons_value_id scalar(const model *m, double value) {
    return ons_build_scalar(&m->s->builder, ONS_FLOAT32, value);
}

static ons_value_id reduce(const model *m, const char *op, ons_value_id value) {
    return ons_build(&m->s->builder, find_operator(m->s, op), ONS_IN(value), ONS_WITH(ONS_AT_INT(0, 0)));
}

static ons_value_id error(const model *m) {
    ons_value_id difference = apply2(m->s, "Sub", apply2(m->s, "Mul", m->x, m->w), m->t);
    return apply2(m->s, "Mul", difference, difference);
}

static ons_value_id sum(const model *m) { return reduce(m, "ReduceSum", error(m)); }
static ons_value_id mean(const model *m) { return reduce(m, "ReduceMean", error(m)); }
static ons_value_id mean_and_sum(const model *m) { return apply2(m->s, "Add", mean(m), sum(m)); }
static ons_value_id sum_by_samples(const model *m) {
    return apply2(m->s, "Div", sum(m), scalar(m, 2 * (double)m->rows));
}
static ons_value_id sum_and_weights(const model *m) {
    return apply2(m->s, "Add", sum(m), reduce(m, "ReduceSumSquare", m->w));
}
static ons_value_id masked_mean(const model *m) {
    ons_value_id masked = apply2(m->s, "Mul", error(m), m->t), count = reduce(m, "ReduceSum", m->t);
    return apply2(m->s, "Div", reduce(m, "ReduceSum", masked), apply2(m->s, "Max", count, scalar(m, 1)));
}
static ons_value_id by_own_sum(const model *m) {
    return apply2(m->s, "Div", sum(m), reduce(m, "ReduceSum", apply2(m->s, "Mul", m->x, m->w)));
}
static ons_value_id root(const model *m) { return apply1(m->s, "Sqrt", mean(m)); }
static ons_value_id pairs(const model *m) {
    ons_value_id turned = apply1(m->s, "Transpose", m->t);
    return reduce(m, "ReduceMean", apply2(m->s, "MatMul", apply2(m->s, "Mul", m->x, m->w), turned));
}
static ons_value_id by_root_of_samples(const model *m) {
    return apply2(m->s, "Div", sum(m), scalar(m, m->rows > ROWS ? 2.5 : 1.7));
}
/* Their differences are no int64: the sanitizer would say so. */
static ons_value_id far_places(const model *m) {
    int64_t places[OTHER_ROWS];
    for (int64_t i = 0; i < m->rows; ++i) places[i] = i % 2 == 0 ? INT64_MIN : INT64_MAX;
    ons_value_id numbers = ons_build(&m->s->builder, find_operator(m->s, "Cast"),
                                     ONS_IN(ons_build_integers(&m->s->builder, places, (uint32_t)m->rows)),
                                     ONS_WITH(ONS_AT_INT(0, ONS_FLOAT32)));
    return reduce(m, "ReduceMean", apply2(m->s, "Mul", apply1(m->s, "Transpose", error(m)), numbers));
}
static ons_value_id off_mean(const model *m) { return reduce(m, "ReduceMean", apply2(m->s, "Mul", error(m), mean(m))); }

static void expect_parts(build_loss *build, int degree, uint32_t shares, uint32_t totals) {
    proof p = prove(build);
    cr_assert_null(p.parts.obstacle.node, "%s: %s", p.parts.obstacle.node, p.parts.obstacle.reason);
    cr_expect_eq(p.parts.degree, degree, "the degree is %d", p.parts.degree);
    cr_expect_eq(p.parts.share_count, shares, "%u operands count with their share", p.parts.share_count);
    cr_expect_eq(p.parts.total_count, totals, "%u totals", p.parts.total_count);
    must(ons_loss_parts_apply(p.m.s->graph, p.m.s->registry, &p.parts, &p.loss));
    must(ons_graph_verify(p.m.s->graph));
    cr_expect_eq(count_nodes(p.m.s->graph, "SampleMean"), shares);
    close_proof(&p);
}

static void expect_obstacle(build_loss *build, const char *operator_name) {
    proof p = prove(build);
    cr_assert_not_null(p.parts.obstacle.node, "it adds up, with degree %d", p.parts.degree);
    cr_expect_str_eq(p.parts.obstacle.operator_name, operator_name);
    close_proof(&p);
}

Test(loss_parts, a_sum_over_samples_adds_up_as_it_is) { expect_parts(sum, 1, 0, 0); }
Test(loss_parts, a_mean_over_samples_counts_with_its_share) { expect_parts(mean, 0, 0, 0); }
Test(loss_parts, a_mean_beside_a_sum_is_weighted) { expect_parts(mean_and_sum, 1, 1, 0); }
Test(loss_parts, a_term_of_the_weights_beside_a_sum_is_weighted) { expect_parts(sum_and_weights, 1, 1, 0); }
Test(loss_parts, a_divisor_that_grows_with_the_samples_makes_a_sum_a_mean) { expect_parts(sum_by_samples, 0, 0, 0); }
Test(loss_parts, a_count_of_the_inputs_becomes_a_total) { expect_parts(masked_mean, 1, 0, 1); }

Test(loss_parts, a_divisor_that_follows_from_weights_is_refused) { expect_obstacle(by_own_sum, "Div"); }
Test(loss_parts, the_root_of_a_mean_is_refused) { expect_obstacle(root, "Sqrt"); }
Test(loss_parts, samples_compared_with_each_other_are_refused) { expect_obstacle(pairs, "MatMul"); }
Test(loss_parts, a_divisor_that_grows_in_another_way_is_refused) { expect_obstacle(by_root_of_samples, "Div"); }
Test(loss_parts, places_of_samples_far_apart_are_refused) { expect_obstacle(far_places, "Cast"); }
Test(loss_parts, a_mean_that_goes_back_to_its_samples_is_refused) { expect_obstacle(off_mean, "Mul"); }

/* The table of ways, and that every way of a node computes the same as the others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "bench/choices_table.h"
#include "graph/registry.h"
#include "kernels/common/onednn/onednn.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"
#include "tests/rooms/kernels/prepared_node.h"
#include "tests/rooms/kernels/ways.h"

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

/* ------------------------------------------------------------------------------------------------------- the table */

static const ons_choice_entry entries[] = {
    {"v3", "2.6.3", 2, true, ONS_PRODUCT_SGEMM, {1, 1024, 512, 256}, 0.9},
    {"v3", "2.6.3", 2, false, ONS_PRODUCT_TURNED, {1, 1000, 512, 256}, 0.9},
    {"v4", "2.6.3", 2, true, ONS_PRODUCT_TURNED, {1, 64, 64, 64}, 0.9},
    {"v3", "3.1.0", 2, true, ONS_PRODUCT_TURNED, {1, 64, 64, 64}, 0.9},
    {"v3", "2.6.3", 1, true, ONS_PRODUCT_TURNED, {1, 2048, 64, 64}, 0.9},
};
static const ons_choice_table table = {.entries = entries, .count = sizeof entries / sizeof entries[0]};

static ons_choice_question product(int threads, int64_t m, int64_t n, int64_t k) {
    return (ons_choice_question){
        .point = ONS_CHOICE_PRODUCT,
        .threads = threads,
        .sizes = {1, m, n, k},
        .possible =
            ONS_WAY_BIT(ONS_PRODUCT_PRIMITIVE) | ONS_WAY_BIT(ONS_PRODUCT_SGEMM) | ONS_WAY_BIT(ONS_PRODUCT_TURNED),
        .rule = ONS_PRODUCT_PRIMITIVE,
    };
}

static ons_way find(ons_choice_question question) { return ons_choice_find(&table, "v3", "2.6.3", &question); }

Test(choices, an_entry_of_exactly_these_sizes_comes_first) {
    cr_expect_eq(find(product(2, 1024, 512, 256)), ONS_PRODUCT_SGEMM);
    cr_expect_eq(find(product(2, 1000, 512, 256)), ONS_PRODUCT_TURNED, "an entry of sizes near these stands before it");
}

Test(choices, an_entry_may_stand_for_sizes_near_its_own) {
    cr_expect_eq(find(product(2, 900, 600, 300)), ONS_PRODUCT_SGEMM);
    cr_expect_eq(find(product(2, 1001, 512, 256)), ONS_PRODUCT_SGEMM,
                 "an entry for its own sizes alone stood for others");
}

Test(choices, what_the_table_lacks_goes_by_the_rule) {
    cr_expect_eq(find(product(2, 2048, 512, 256)), ONS_PRODUCT_PRIMITIVE, "rows twice as many");
    cr_expect_eq(find(product(2, 64, 64, 64)), ONS_PRODUCT_PRIMITIVE, "of another variant or another oneDNN");
    cr_expect_eq(find(product(1, 1024, 512, 256)), ONS_PRODUCT_PRIMITIVE, "with fewer threads");
    cr_expect_eq(find(product(1, 2048, 64, 64)), ONS_PRODUCT_TURNED);
    ons_choice_question transposed = product(2, 1024, 512, 256);
    transposed.sizes[4] = 1;
    cr_expect_eq(find(transposed), ONS_PRODUCT_PRIMITIVE, "transposed");
}

Test(choices, a_way_that_is_not_possible_is_passed_over) {
    ons_choice_question q = product(2, 1000, 512, 256);
    q.possible &= ~ONS_WAY_BIT(ONS_PRODUCT_TURNED);
    cr_expect_eq(find(q), ONS_PRODUCT_SGEMM);
    q.possible = ONS_WAY_BIT(ONS_PRODUCT_PRIMITIVE);
    cr_expect_eq(find(q), ONS_PRODUCT_PRIMITIVE);
}

Test(choices, numbers_are_near_by_ratio) {
    static const struct {
        int64_t number;
        int bucket;
    } all[] = {{0, -1}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 2}, {6, 3}, {724, 9}, {725, 10}, {1448, 10}, {1449, 11}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        cr_expect_eq(ons_choice_bucket(all[i].number), all[i].bucket, "of %lld", (long long)all[i].number);
    cr_expect_eq(ons_choice_bucket(INT64_MAX), 63);
}

Test(choices, a_digest_is_of_what_holds_on_the_machine) {
    char v3[ONS_CHOICE_DIGEST_TEXT], other[ONS_CHOICE_DIGEST_TEXT];
    ons_choice_table_digest(&table, "v3", "2.6.3", v3);
    cr_expect_eq(strlen(v3), 8);
    ons_choice_table_digest(&table, "v3", "9.9.9", other);
    cr_expect_str_eq(other, "none");
    ons_choice_entry changed[sizeof entries / sizeof entries[0]];
    ons_choice_table copy = {.entries = changed, .count = table.count};
    memcpy(changed, entries, sizeof entries);
    changed[2].way = ONS_PRODUCT_SGEMM;
    changed[0].share = 0.8;
    ons_choice_table_digest(&copy, "v3", "2.6.3", other);
    cr_expect_str_eq(other, v3, "what holds elsewhere, or was only measured, counts");
    changed[0].way = ONS_PRODUCT_TURNED;
    ons_choice_table_digest(&copy, "v3", "2.6.3", other);
    cr_expect_str_neq(other, v3, "another way");
    changed[0] = entries[0];
    changed[0].sizes[3] += 1;
    ons_choice_table_digest(&copy, "v3", "2.6.3", other);
    cr_expect_str_neq(other, v3, "another size");
}

Test(choices, the_committed_table_says_nothing_twice) {
    const ons_choice_table *committed = ons_choice_table_committed();
    for (size_t i = 0; i < committed->count; ++i) {
        const ons_choice_entry *a = &committed->entries[i];
        cr_expect(a->share > 0 && a->share < 1, "entry %zu is no gain", i);
        for (size_t k = 0; k < i; ++k) {
            const ons_choice_entry *b = &committed->entries[k];
            cr_expect(ons_ways[a->way].point != ons_ways[b->way].point || a->threads != b->threads ||
                          memcmp(a->sizes, b->sizes, sizeof a->sizes) != 0 || strcmp(a->variant, b->variant) != 0 ||
                          strcmp(a->onednn, b->onednn) != 0,
                      "entries %zu and %zu answer the same question", k, i);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ what is measured */

/* A product whose rule is the primitive, which took a millisecond. */
static ons_choice_result measured(int threads, int64_t m, double sgemm, double turned) {
    ons_choice_result r = {.question = product(threads, m, 512, 256), .seconds = 1e-3};
    r.shares[ONS_PRODUCT_PRIMITIVE] = 1;
    r.shares[ONS_PRODUCT_SGEMM] = sgemm;
    r.shares[ONS_PRODUCT_TURNED] = turned;
    return r;
}

static ons_choice_entries merged_with(const ons_choice_table *old, ons_choice_result *results, size_t count) {
    ons_choice_entries merged = {{NULL, 0, 0}};
    must(ons_choice_table_merge(old, &(ons_choice_results){{results, count, count}}, "v3", "2.6.3", &merged));
    return merged;
}

static const ons_choice_table empty = {.count = 0};

Test(measured, the_fastest_way_wins_where_it_is_ahead_beyond_noise) {
    ons_choice_result clear = measured(2, 1000, 0.9, 0.8), close = measured(2, 1000, 0.96, 1.2);
    cr_expect_eq(ons_choice_winner(&clear), ONS_PRODUCT_TURNED);
    cr_expect_eq(ons_choice_winner(&close), ONS_PRODUCT_PRIMITIVE, "a twenty-fifth is noise");
    clear.question.possible &= ~ONS_WAY_BIT(ONS_PRODUCT_TURNED);
    cr_expect_eq(ons_choice_winner(&clear), ONS_PRODUCT_SGEMM);
    clear.seconds = 5e-5;
    cr_expect_eq(ons_choice_winner(&clear), ONS_PRODUCT_PRIMITIVE, "five microseconds are not worth an entry");
}

Test(measured, where_the_rule_is_right_there_is_no_entry) {
    ons_choice_result r = measured(2, 1000, 1.1, 1.2);
    ons_choice_entries merged = merged_with(&empty, &r, 1);
    cr_expect_eq(merged.all.count, 0);
}

Test(measured, sizes_near_each_other_share_an_entry_that_suits_all) {
    ons_choice_result r[] = {measured(2, 1000, 0.97, 1.2), measured(2, 1100, 0.8, 1.2), measured(2, 1200, 0.7, 0.9)};
    ons_choice_entries merged = merged_with(&empty, r, 3);
    cr_assert_eq(merged.all.count, 1);
    cr_expect(merged.all.items[0].near);
    cr_expect_eq(merged.all.items[0].way, ONS_PRODUCT_SGEMM);
    cr_expect_eq(merged.all.items[0].sizes[1], 1100, "the first that is ahead");
    free(merged.all.items);
}

Test(measured, sizes_that_differ_have_entries_of_their_own) {
    ons_choice_result r[] = {measured(2, 1000, 1.1, 1.2), measured(2, 1100, 0.8, 1.2)};
    ons_choice_entries merged = merged_with(&empty, r, 2);
    cr_assert_eq(merged.all.count, 1);
    cr_expect(!merged.all.items[0].near);
    cr_expect_eq(merged.all.items[0].sizes[1], 1100);
    free(merged.all.items);
}

Test(measured, entries_of_other_machines_and_shapes_stay) {
    ons_choice_result r[] = {measured(2, 1000, 1.1, 1.2)};
    ons_choice_entries merged = merged_with(&table, r, 1);
    cr_assert_eq(merged.all.count, table.count - 2, "all but those of about 1000 rows by two threads of this machine");
    for (size_t i = 0; i < merged.all.count; ++i) {
        const ons_choice_entry *e = &merged.all.items[i];
        cr_expect(e->sizes[1] != 1000 && e->sizes[1] != 1024);
    }
    free(merged.all.items);
}

/* Whoever asks first, rules go by the instructions of the variant that the environment asks for. */
Test(table, rules_go_by_the_variant) {
    cr_assert_eq(setenv("ONSTAGE_CPU", "baseline", 1), 0);
    cr_expect(!ons_onednn_uses(dnnl_cpu_isa_avx2));
    cr_expect_str_eq(ons_cpu_variant(), "baseline");
}

/* -------------------------------------------------------------------------------------------------------- the ways */

/* As `table`'s way and as the reference have it, the same bits again, and the same bits when it is prepared again. */
static void check_way(ons_fixture *fixture, int threads, const ons_choice_table *with, const char *what) {
    ons_choice_table_replace(with);
    ons_status *status = ons_check_fixture(fixture, &ons_target_cpu, threads);
    cr_expect_null(status, "%s: %s", what, ons_status_get_message(status));
    ons_status_free(status);
    ons_prepared_node first, second;
    must(ons_prepared_node_init(&first, fixture, threads, true));
    must(ons_prepared_node_init(&second, fixture, threads, true));
    ons_choice_table_replace(NULL);
    ons_prepared_node_run(&first);
    ons_prepared_node_run(&second);
    cr_expect_str_eq(first.prepare.implementation, second.prepare.implementation);
    for (uint32_t i = 0; i < first.operands.output_count; ++i)
        cr_expect(!ons_has_output(&first.operands, i) ||
                      memcmp(first.outputs[i].data, second.outputs[i].data, first.outputs[i].bytes) == 0,
                  "%s: other bits in another program", what);
    ons_prepared_node_free(&first);
    ons_prepared_node_free(&second);
}

/* In the fixture's arena. */
static const char *implementation_by(ons_fixture *fixture, int threads, const ons_choice_table *with) {
    ons_prepared_node node;
    ons_choice_table_replace(with);
    must(ons_prepared_node_init(&node, fixture, threads, true));
    ons_choice_table_replace(NULL);
    const char *text = ons_arena_copy_text(fixture->arena, node.prepare.implementation);
    ons_prepared_node_free(&node);
    cr_assert_not_null(text);
    return text;
}

static const ons_operator *operator_of(const char *name) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = NULL;
    for (size_t i = 0; i < registry->count; ++i)
        if (strcmp(registry->operators[i]->name, name) == 0) op = registry->operators[i];
    cr_assert_not_null(op);
    return op;
}

/* Every way of every question that the case asks; gives the number of those that are another implementation. */
static int check_case(const char *name, const ons_case *example, int threads) {
    ons_fixture fixture;
    must(ons_fixture_init(&fixture, ons_kernels_registry(), operator_of(name), example, ons_test_seed()));
    must(ons_fixture_reference(&fixture));
    ons_questions questions;
    must(ons_questions_of(&fixture, threads, &questions));
    int others = 0;
    for (uint32_t i = 0; i < questions.count; ++i)
        for (ons_way way = 0; way < ONS_WAY_COUNT; ++way) {
            if ((questions.items[i].possible & ONS_WAY_BIT(way)) == 0) continue;
            ons_choice_table with;
            must(ons_table_with_way(fixture.arena, &questions.items[i], way, &with));
            char what[256];
            snprintf(what, sizeof what, "%s/%s by %s, %d threads", name, example->name, ons_ways[way].name, threads);
            check_way(&fixture, threads, &with, what);
            others +=
                strcmp(implementation_by(&fixture, threads, &with), implementation_by(&fixture, threads, NULL)) != 0;
        }
    ons_fixture_free(&fixture);
    return others;
}

static void expect_ways(const char *name, const ons_case *example, int at_least) {
    for (int threads = 1; threads <= 2; ++threads) {
        int others = check_case(name, example, threads);
        cr_expect_geq(others, at_least, "%s/%s, %d threads: an entry changes nothing", name, example->name, threads);
    }
}

Test(ways, of_a_product) {
    static const ons_case plain = {.name = "plain", .inputs = {ONS_F32(100, 70), ONS_F32(70, 130)}, .tolerance = 1e-4};
    static const ons_case gradient = {.name = "weight_gradient",
                                      .inputs = {ONS_F32(90, 70), ONS_F32(90, 130)},
                                      .settings = {ONS_SET_INT("transA", 1)},
                                      .tolerance = 1e-4};
    static const ons_case long_gradient = {.name = "long_weight_gradient",
                                           .inputs = {ONS_F32(1100, 40), ONS_F32(1100, 33), ONS_F32(33)},
                                           .settings = {ONS_SET_INT("transA", 1)},
                                           .tolerance = 1e-3};
    static const ons_case both = {.name = "both_transposed",
                                  .inputs = {ONS_F32(1100, 40), ONS_F32(33, 1100)},
                                  .settings = {ONS_SET_INT("transA", 1), ONS_SET_INT("transB", 1)},
                                  .tolerance = 1e-3};
    static const ons_case turned = {.name = "turned",
                                    .inputs = {ONS_F32(1, 70), ONS_F32(130, 70)},
                                    .settings = {ONS_SET_INT("transB", 1)},
                                    .tolerance = 1e-4};
    static const ons_case biased = {
        .name = "bias", .inputs = {ONS_F32(257, 30), ONS_F32(30, 129), ONS_F32(129)}, .tolerance = 1e-4};
    static const ons_case long_product = {
        .name = "long_product", .inputs = {ONS_F32(40, 1100), ONS_F32(1100, 33), ONS_F32(33)}, .tolerance = 1e-3};
    expect_ways("Gemm", &plain, 3);
    static const ons_case wide_product = {
        .name = "rows_of_nearly_a_page", .inputs = {ONS_F32(33, 300), ONS_F32(300, 1008)}, .tolerance = 1e-3};
    expect_ways("Gemm", &long_product, 3);
    expect_ways("Gemm", &wide_product, 3);
    expect_ways("Gemm", &gradient, 3);
    expect_ways("Gemm", &long_gradient, 3);
    expect_ways("Gemm", &both, 3);
    expect_ways("Gemm", &turned, 2);
    expect_ways("Gemm", &biased, 3);
}

Test(ways, of_a_batch_of_products) {
    static const ons_case plain = {
        .name = "plain", .inputs = {ONS_F32(3, 4, 17, 31), ONS_F32(3, 4, 31, 20)}, .tolerance = 1e-4};
    static const ons_case keys = {.name = "keys",
                                  .inputs = {ONS_F32(3, 70, 31), ONS_F32(3, 65, 31)},
                                  .settings = {ONS_SET_INT("transpose_b", 1)},
                                  .tolerance = 1e-4};
    expect_ways("MatMul", &plain, 1);
    expect_ways("MatMulTransposed", &keys, 1);
}

/* Which kernels oneDNN has here depends on the machine. */
Test(ways, of_a_convolution) {
    const ons_case deep = {.name = "few_positions",
                           .inputs = {ONS_F32(2, 64, 4, 4), ONS_F32(32, 64, 3, 3)},
                           .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
                           .tolerance = 1e-4};
    const ons_case shallow = {.name = "few_channels",
                              .inputs = {ONS_F32(2, 16, 12, 12), ONS_F32(32, 16, 3, 3)},
                              .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
                              .tolerance = 1e-4};
    expect_ways("Conv", &deep, 0);
    expect_ways("Conv", &shallow, 0);
}

/* Odd numbers of everything, uneven padding, more tiles than a block has. */
static const ons_case taps_forward = {.name = "taps_forward",
                                      .inputs = {ONS_F32(17, 37, 11, 9), ONS_F32(41, 37, 3, 3), ONS_F32(41)},
                                      .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0)},
                                      .tolerance = 1e-4};
static const ons_case taps_input = {
    .name = "taps_input",
    .inputs = {ONS_F32(17, 41, 11, 8), ONS_F32(41, 37, 3, 3)},
    .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("input_shape", 17, 37, 11, 9)},
    .tolerance = 1e-4};
static const ons_case taps_filter = {.name = "taps_filter",
                                     .inputs = {ONS_F32(17, 37, 11, 9), ONS_F32(17, 41, 11, 8)},
                                     .settings = {ONS_SET_INTS("pads", 0, 1, 2, 0), ONS_SET_INTS("kernel_shape", 3, 3)},
                                     .outputs = 2,
                                     .tolerance = 1e-4};
static const ons_case taps_transposed = {.name = "taps_transposed",
                                         .inputs = {ONS_F32(2, 41, 5, 6), ONS_F32(41, 37, 3, 3), ONS_F32(37)},
                                         .settings = {ONS_SET_INTS("pads", 2, 1, 1, 2)},
                                         .tolerance = 1e-4};

static const struct {
    const char *name;
    const ons_case *example;
} taps[] = {{"Conv", &taps_forward},
            {"ConvInputGradient", &taps_input},
            {"ConvWeightGradient", &taps_filter},
            {"ConvTranspose", &taps_transposed}};

Test(ways, of_three_by_three_taps) {
    for (size_t i = 0; i < sizeof taps / sizeof taps[0]; ++i) expect_ways(taps[i].name, taps[i].example, 2);
}

Test(ways, of_taps_in_wide_padding_and_narrow_maps) {
    const ons_case wide = {.name = "wide_padding",
                           .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(5, 3, 3, 3)},
                           .settings = {ONS_SET_INTS("pads", 3, 4, 3, 0)},
                           .tolerance = 1e-4};
    const ons_case back = {.name = "back_through_wide_padding",
                           .inputs = {ONS_F32(2, 5, 8, 7), ONS_F32(5, 3, 3, 3)},
                           .settings = {ONS_SET_INTS("pads", 3, 4, 3, 0), ONS_SET_INTS("input_shape", 2, 3, 4, 5)},
                           .tolerance = 1e-4};
    const ons_case row = {.name = "a_row",
                          .inputs = {ONS_F32(2, 17, 1, 9), ONS_F32(5, 17, 3, 3)},
                          .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
                          .tolerance = 1e-4};
    expect_ways("Conv", &wide, 2);
    expect_ways("ConvInputGradient", &back, 2);
    expect_ways("Conv", &row, 2);
}

/* Taps that lie in the padding at some positions, at all of them, and at none. */
Test(ways, of_few_positions) {
    const ons_case forward = {
        .name = "strided",
        .inputs = {ONS_F32(3, 19, 5, 3), ONS_F32(23, 19, 4, 3), ONS_F32(23)},
        .settings = {ONS_SET_INTS("pads", 2, 3, 1, 1), ONS_SET_INTS("strides", 3, 2), ONS_SET_INTS("dilations", 1, 2)},
        .tolerance = 1e-4};
    const ons_case input = {.name = "strided_input",
                            .inputs = {ONS_F32(3, 23, 2, 2), ONS_F32(23, 19, 4, 3)},
                            .settings = {ONS_SET_INTS("pads", 2, 3, 1, 1), ONS_SET_INTS("strides", 3, 2),
                                         ONS_SET_INTS("dilations", 1, 2), ONS_SET_INTS("input_shape", 3, 19, 5, 3)},
                            .tolerance = 1e-4};
    const ons_case filter = {.name = "strided_filter",
                             .inputs = {ONS_F32(3, 19, 5, 3), ONS_F32(3, 23, 2, 2)},
                             .settings = {ONS_SET_INTS("pads", 2, 3, 1, 1), ONS_SET_INTS("strides", 3, 2),
                                          ONS_SET_INTS("dilations", 1, 2), ONS_SET_INTS("kernel_shape", 4, 3)},
                             .outputs = 2,
                             .tolerance = 1e-4};
    const ons_case one = {.name = "one_position",
                          .inputs = {ONS_F32(3, 19, 1, 1), ONS_F32(3, 23, 1, 1)},
                          .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1), ONS_SET_INTS("kernel_shape", 3, 3)},
                          .tolerance = 1e-4};
    expect_ways("Conv", &forward, 1);
    expect_ways("ConvInputGradient", &input, 1);
    expect_ways("ConvWeightGradient", &filter, 1);
    expect_ways("ConvWeightGradient", &one, 2);
}

static const ons_choice_question *find_question(const ons_questions *questions, ons_choice_point point) {
    for (uint32_t i = 0; i < questions->count; ++i)
        if (questions->items[i].point == point) return &questions->items[i];
    cr_assert_fail("the node does not ask this question");
    return NULL;
}

/* How tiles are divided among threads decides nothing but the time. */
Test(ways, winograd_has_one_result_for_all_threads) {
    for (size_t i = 0; i < sizeof taps / sizeof taps[0]; ++i) {
        ons_fixture fixture;
        must(ons_fixture_init(&fixture, ons_kernels_registry(), operator_of(taps[i].name), taps[i].example,
                              ons_test_seed()));
        ons_questions questions;
        must(ons_questions_of(&fixture, 1, &questions));
        ons_choice_table with;
        must(ons_table_with_way(fixture.arena, find_question(&questions, ONS_CHOICE_FILTER), ONS_FILTER_WINOGRAD,
                                &with));
        ons_prepared_node nodes[3];
        ons_choice_table_replace(&with);
        for (int n = 0; n < 3; ++n) must(ons_prepared_node_init(&nodes[n], &fixture, n == 2 ? 5 : n + 1, true));
        ons_choice_table_replace(NULL);
        for (int n = 0; n < 3; ++n) {
            ons_prepared_node_run(&nodes[n]);
            cr_expect_str_eq(nodes[n].prepare.implementation, "winograd");
            for (uint32_t k = 0; k < nodes[n].operands.output_count; ++k)
                cr_expect_eq(memcmp(nodes[n].outputs[k].data, nodes[0].outputs[k].data, nodes[0].outputs[k].bytes), 0,
                             "%s, output %u", taps[i].name, k);
        }
        for (int n = 0; n < 3; ++n) ons_prepared_node_free(&nodes[n]);
        ons_fixture_free(&fixture);
    }
}

Test(ways, of_a_recurrent_layer) {
    static const ons_case lstm = {.name = "two_threads",
                                  .inputs = {ONS_F32(6, 17, 20), ONS_F32_IN(-0.2, 0.2, 1, 280, 20),
                                             ONS_F32_IN(-0.1, 0.1, 1, 280, 70), ONS_F32(1, 560)},
                                  .outputs = 3,
                                  .tolerance = 1e-4};
    check_case("LSTM", &lstm, 1);
    cr_expect_geq(check_case("LSTM", &lstm, 2), 1, "an entry changes nothing");
}

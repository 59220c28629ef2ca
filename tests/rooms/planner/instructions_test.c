#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/philox.h"
#include "planner/cost/instructions.h"

static const ons_instruction_set *set(const char *name) {
    const ons_instruction_set *found = ons_instruction_set_find(name);
    cr_assert_not_null(found, "%s", name);
    return found;
}

Test(instructions, sets_are_found_by_name) {
    cr_expect_str_eq(set("v3")->name, "v3");
    cr_expect_gt(set("v4")->matrix_flops, set("v3")->matrix_flops, "twice as wide registers");
    cr_expect_null(ons_instruction_set_find("baseline"), "was not surveyed");
    cr_expect_null(ons_instruction_set_find(NULL));
}

static double uniform(uint64_t seed, uint32_t index, uint32_t draw) {
    return (double)ons_uniform_float(ons_philox_draw(seed, index, draw).words[0]);
}

/* Whatever is asked for: surveyed or not, larger and smaller than any problem of the survey. */
Test(instructions, factors_are_numbers_and_there_and_back_is_1) {
    static const char *const operators[] = {"Conv", "ConvWeightGradient", "MatMulTransposed", "Relu", "not surveyed"};
    uint64_t seed = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint32_t i = 0; i < 400; ++i) {
        const char *name = operators[i % 5];
        const ons_node_amount amount = {.flops = i % 3 == 0 ? 0 : pow(10, 12 * uniform(seed, i, 0)),
                                        .bytes = pow(10, 10 * uniform(seed, i, 1)),
                                        .written = i % 4 == 0 ? 0 : pow(10, 10 * uniform(seed, i, 2)),
                                        .matrix = i % 2 == 0};
        double there = ons_instructions_factor(set("v3"), set("v4"), name, &amount);
        double back = ons_instructions_factor(set("v4"), set("v3"), name, &amount);
        cr_expect(there > 0.01 && there < 10, "seed %llu, %u, %s: %g", (unsigned long long)seed, i, name, there);
        cr_expect_float_eq(there * back, 1, 1e-9, "seed %llu, %u, %s", (unsigned long long)seed, i, name);
        cr_expect_float_eq(ons_instructions_factor(set("v4"), set("v4"), name, &amount), 1, 1e-12);
    }
}

/* Products reach a similar share of either peak, sums in memory do not gain from wide registers, and a convolution
 * whose weights outweigh its activations gains more than its arithmetic. */
Test(instructions, kinds_of_nodes_are_told_apart) {
    const ons_node_amount product = {2.0 * 512 * 512 * 512, 3 * 4.0 * 512 * 512, 4.0 * 512 * 512, .matrix = true};
    const ons_node_amount update = {.flops = 1e6, .bytes = 2e7, .written = 8e6};
    const ons_node_amount weights = {2e7, 8e6, 6e4, .matrix = true};
    double peaks = set("v3")->matrix_flops / set("v4")->matrix_flops;
    double of_product = ons_instructions_factor(set("v3"), set("v4"), "MatMulTransposed", &product);
    double of_update = ons_instructions_factor(set("v3"), set("v4"), "Sgd", &update);
    double of_weights = ons_instructions_factor(set("v3"), set("v4"), "ConvInputGradient", &weights);
    cr_expect(of_product > 0.7 * peaks && of_product < 1.4 * peaks, "%g, the peaks %g", of_product, peaks);
    cr_expect(of_update > 0.8 && of_update < 1.25, "%g", of_update);
    cr_expect_lt(of_weights, 0.7 * peaks);
}

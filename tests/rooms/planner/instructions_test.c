#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/philox.h"
#include "planner/cost/instructions.h"

/* Of the survey of a machine whose large products gain a factor near `gain`. */
static ons_instruction_change change_of(const char *from, const char *to, double gain) {
    ons_instruction_change change;
    cr_assert(ons_instruction_change_find(from, to, gain, &change), "%s, %s", from, to);
    return change;
}

static double peaks_gain(const ons_instruction_change *change) {
    return change->to->matrix_flops / change->from->matrix_flops;
}

Test(instructions, sets_are_found_by_name) {
    ons_instruction_change change = change_of("v3", "v4", 2);
    cr_expect_str_eq(change.from->name, "v3");
    cr_expect_str_eq(change.to->name, "v4");
    cr_expect_not(ons_instruction_change_find("v3", "baseline", 1, &change), "was not surveyed");
    cr_expect_not(ons_instruction_change_find(NULL, "v4", 1, &change));
}

/* Registers of 512 bits that are worked on in halves gain next to nothing for products, others nearly twice. */
Test(instructions, the_survey_of_the_machine_that_gains_alike_is_taken) {
    ons_instruction_change halves = change_of("v3", "v4", 1), whole = change_of("v3", "v4", 2);
    cr_expect_neq(halves.survey, whole.survey);
    cr_expect_lt(peaks_gain(&halves), peaks_gain(&whole));
    double middle = sqrt(peaks_gain(&halves) * peaks_gain(&whole));
    cr_expect_eq(change_of("v3", "v4", 0.99 * middle).survey, halves.survey);
    cr_expect_eq(change_of("v4", "v3", 1 / (1.01 * middle)).survey, whole.survey);
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
        double gain = i % 7 < 3 ? 1 : 2;
        ons_instruction_change forth = change_of("v3", "v4", gain), homewards = change_of("v4", "v3", 1 / gain);
        ons_instruction_change none = change_of("v4", "v4", 1);
        double there = ons_instruction_change_factor(&forth, name, &amount);
        double back = ons_instruction_change_factor(&homewards, name, &amount);
        cr_expect(there > 0.01 && there < 10, "seed %llu, %u, %s: %g", (unsigned long long)seed, i, name, there);
        cr_expect_float_eq(there * back, 1, 1e-9, "seed %llu, %u, %s", (unsigned long long)seed, i, name);
        cr_expect_float_eq(ons_instruction_change_factor(&none, name, &amount), 1, 1e-12);
    }
}

/* Products reach a similar share of either peak, sums in memory do not gain from wide registers, and a convolution
 * whose weights outweigh its activations gains more than its arithmetic. */
Test(instructions, kinds_of_nodes_are_told_apart) {
    const ons_node_amount product = {2.0 * 512 * 512 * 512, 3 * 4.0 * 512 * 512, 4.0 * 512 * 512, .matrix = true};
    const ons_node_amount update = {.flops = 1e6, .bytes = 2e7, .written = 8e6};
    const ons_node_amount weights = {2e7, 8e6, 6e4, .matrix = true};
    ons_instruction_change change = change_of("v3", "v4", 2);
    double peaks = 1 / peaks_gain(&change);
    double of_product = ons_instruction_change_factor(&change, "MatMulTransposed", &product);
    double of_update = ons_instruction_change_factor(&change, "Sgd", &update);
    double of_weights = ons_instruction_change_factor(&change, "ConvInputGradient", &weights);
    cr_expect(of_product > 0.7 * peaks && of_product < 1.4 * peaks, "%g, the peaks %g", of_product, peaks);
    cr_expect(of_update > 0.8 && of_update < 1.25, "%g", of_update);
    cr_expect_lt(of_weights, 0.7 * peaks);
}

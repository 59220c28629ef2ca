#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/philox.h"
#include "planner/cost/fit.h"

static const ons_device_profile truth = {
    .name = "truth",
    .matrix_flops = 1e11,
    .vector_flops = 1e11,
    .memory_bandwidth = 2e10,
    .launch_seconds = 2e-6,
    .matrix = {0.7, 3e6},
    .vector = {0.1, 1e5},
    .memory = {0.6, 2e5},
};

static double uniform(uint64_t seed, uint32_t index, uint32_t draw) {
    return (double)ons_uniform_float(ons_philox_draw(seed, index, draw).words[0]);
}

/* Operators of all sizes on the true device, their times off by up to `noise`. */
static void make_samples(uint64_t seed, double noise, ons_fit_sample *samples, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        bool matrix = i % 3 == 0;
        double bytes = pow(10, 3 + 5 * uniform(seed, i, 0));
        double flops = matrix ? pow(10, 4 + 6 * uniform(seed, i, 1)) : bytes * 3 * uniform(seed, i, 1);
        double seconds = ons_device_profile_seconds(&truth, flops, bytes, matrix);
        double error = 1 + noise * (2 * uniform(seed, i, 2) - 1);
        samples[i] = (ons_fit_sample){flops, bytes, seconds * error, matrix, i % 2 == 1};
    }
}

static ons_device_profile start_of_fit(void) {
    ons_device_profile p = truth;
    p.launch_seconds = 1e-6;
    p.matrix = p.vector = p.memory = (ons_efficiency){0.8, 1e6};
    return p;
}

static void expect_success(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

Test(fit, finds_the_curve_that_made_the_times) {
    uint64_t seed = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    ons_arena *arena = ons_arena_new();
    ons_fit_sample samples[160];
    make_samples(seed, 0.05, samples, 160);
    ons_device_profile p = start_of_fit();
    ons_fit_error before, after;
    expect_success(ons_fit_error_find(&p, samples, 160, true, arena, &before));
    expect_success(ons_device_profile_fit(&p, samples, 160, arena));
    expect_success(ons_fit_error_find(&p, samples, 160, true, arena, &after));
    cr_expect_eq(after.count, 80);
    cr_expect_eq(p.fit_error, after.median);
    cr_expect(after.median < 0.08, "seed %llu: error %g on samples that it has not seen, %g before",
              (unsigned long long)seed, after.median, before.median);
    cr_expect(after.median < before.median);
    cr_expect(fabs(after.total - 1) < 0.15, "seed %llu: the sum is off by %g", (unsigned long long)seed, after.total);
    ons_arena_free(arena);
}

/* Most operators that are no products of matrices wait for memory: what the others compute at is found all the same. */
Test(fit, finds_a_curve_that_few_samples_lie_on) {
    static const uint64_t seeds[] = {1795650409, 1795650393, 1795650339}; /* where it once was not */
    ons_arena *arena = ons_arena_new();
    for (int i = 0; i < 3; ++i) {
        ons_fit_sample samples[160];
        make_samples(seeds[i], 0.05, samples, 160);
        ons_device_profile p = start_of_fit();
        ons_fit_error after;
        expect_success(ons_device_profile_fit(&p, samples, 160, arena));
        expect_success(ons_fit_error_find(&p, samples, 160, true, arena, &after));
        cr_expect(fabs(after.total - 1) < 0.1, "seed %llu: the sum is off by %g", (unsigned long long)seeds[i],
                  after.total);
    }
    ons_arena_free(arena);
}

Test(fit, is_the_same_every_time_and_does_not_look_at_what_is_held_out) {
    ons_arena *arena = ons_arena_new();
    ons_fit_sample samples[60];
    make_samples(7, 0.2, samples, 60);
    ons_device_profile a = start_of_fit(), b = start_of_fit();
    expect_success(ons_device_profile_fit(&a, samples, 60, arena));
    for (int i = 1; i < 60; i += 2) samples[i].seconds *= 3;
    expect_success(ons_device_profile_fit(&b, samples, 60, arena));
    cr_expect_eq(a.launch_seconds, b.launch_seconds);
    cr_expect_eq(a.matrix.share, b.matrix.share);
    cr_expect_eq(a.memory.half, b.memory.half);
    cr_expect_neq(a.fit_error, b.fit_error);
    ons_arena_free(arena);
}

Test(fit, keeps_the_curve_of_a_kind_that_was_not_measured) {
    ons_arena *arena = ons_arena_new();
    ons_fit_sample samples[60];
    make_samples(3, 0, samples, 60);
    for (int i = 0; i < 60; ++i) samples[i].matrix = false;
    ons_device_profile p = start_of_fit();
    expect_success(ons_device_profile_fit(&p, samples, 60, arena));
    cr_expect_eq(p.matrix.share, 0.8);
    cr_expect_eq(p.matrix.half, 1e6);
    ons_arena_free(arena);
}

Test(fit, refuses_too_few) {
    ons_arena *arena = ons_arena_new();
    ons_fit_sample samples[10];
    make_samples(1, 0, samples, 10);
    ons_device_profile p = start_of_fit();
    ons_status *status = ons_device_profile_fit(&p, samples, 10, arena); /* five of them are held out */
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA);
    ons_status_free(status);
    ons_arena_free(arena);
}

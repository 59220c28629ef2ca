/* A gradient's square sum: the same bits in whatever order its elements lie, and infinity and NaN as they are. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

enum { ELEMENTS = 50021 };

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

static double sum_of(const float *x, int64_t count) {
    ons_type type = ons_type_make(ONS_FLOAT32, (ons_shape){1, {count}}), result = {0};
    ons_tensor unknown = {type, NULL};
    ons_operands o = {&ons_op_square_sum, "norm", NULL, &type, &unknown, &result, 1, 1};
    ons_arena *arena = ons_arena_new();
    cr_assert_not_null(arena);
    must(o.op->infer(&o));
    ons_prepare p = {.operands = &o, .threads = 2, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    must(ons_backend_prepare(ons_backend_find("cpu"), &p, &kernel));
    void *scratch = malloc((size_t)p.scratch_bytes);
    cr_assert_not_null(scratch);
    double sum = NAN;
    kernel->run(&(ons_launch){
        .inputs = (const void *const[]){x}, .outputs = (void *const[]){&sum}, .state = p.state, .scratch = scratch});
    free(scratch);
    ons_arena_free(arena);
    return sum;
}

/* Of all magnitudes, so that an order that left a trace would show. */
static float *draw(uint64_t seed) {
    float *x = malloc(ELEMENTS * sizeof *x);
    cr_assert_not_null(x);
    for (int64_t i = 0; i < ELEMENTS; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = ldexpf((float)(int32_t)(seed >> 32), (int)(seed >> 27) % 24 - 40);
    }
    return x;
}

static void shuffle(float *x, uint64_t seed) {
    for (int64_t i = ELEMENTS - 1; i > 0; --i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int64_t other = (int64_t)(seed >> 33) % (i + 1);
        float element = x[i];
        x[i] = x[other];
        x[other] = element;
    }
}

Test(square_sum, the_order_of_elements_leaves_no_trace) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        float *x = draw(seed);
        double sum = sum_of(x, ELEMENTS);
        cr_expect(isfinite(sum) && sum > 0);
        shuffle(x, seed);
        cr_expect_eq(sum_of(x, ELEMENTS), sum, "seed %llu: %.17g and %.17g", (unsigned long long)seed, sum,
                     sum_of(x, ELEMENTS));
        free(x);
    }
}

static int by_size(const void *a, const void *b) {
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x > y) - (x < y);
}

/* Each block far larger than all before it, or far smaller, and stretches of zeros. */
Test(square_sum, orders_by_size_leave_no_trace) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        float *x = draw(seed), *reversed = malloc(ELEMENTS * sizeof *x);
        cr_assert_not_null(reversed);
        for (int64_t i = 0; i < ELEMENTS; ++i)
            x[i] = i % 3 == 0 ? 0 : ldexpf(x[i], (int)(i * seed % 200) - 110); /* squares from 1e-72 to 1e63 */
        qsort(x, ELEMENTS, sizeof *x, by_size);
        for (int64_t i = 0; i < ELEMENTS; ++i) reversed[i] = x[ELEMENTS - 1 - i];
        double sum = sum_of(x, ELEMENTS);
        cr_expect(isfinite(sum) && sum > 0);
        cr_expect_eq(sum_of(reversed, ELEMENTS), sum, "seed %llu: reversed", (unsigned long long)seed);
        shuffle(x, seed);
        cr_expect_eq(sum_of(x, ELEMENTS), sum, "seed %llu: shuffled", (unsigned long long)seed);
        free(reversed);
        free(x);
    }
}

/* A few are far larger than all before them let expect, and not so large that the others do not count. */
Test(square_sum, outliers_leave_no_trace) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        float *x = draw(seed);
        for (int64_t i = 0; i < ELEMENTS; ++i) {
            int exponent;
            x[i] = ldexpf(frexpf(x[i], &exponent), i % 1777 == 1000 ? 12 + (int)(i / 1777) % 3 : 0);
        }
        double sum = sum_of(x, ELEMENTS);
        for (uint64_t order = 1; order <= 4; ++order) {
            shuffle(x, seed + 100 * order);
            cr_expect_eq(sum_of(x, ELEMENTS), sum, "seed %llu", (unsigned long long)seed);
        }
        free(x);
    }
}

/* Also within a block of the loop for many elements, behind others. */
Test(square_sum, what_is_no_number_shows_far_behind) {
    float *x = draw(1);
    x[ELEMENTS / 2] = -INFINITY;
    cr_expect_eq(sum_of(x, ELEMENTS), INFINITY);
    x[ELEMENTS / 2 - 70] = NAN;
    cr_expect(isnan(sum_of(x, ELEMENTS)));
    free(x);
}

Test(square_sum, what_is_no_number_shows) {
    for (int64_t at = 0; at < 40; ++at) {
        float x[40] = {1, 2, 3};
        x[at] = -INFINITY;
        cr_expect_eq(sum_of(x, 40), INFINITY, "infinity at %lld", (long long)at);
        x[at] = NAN;
        cr_expect(isnan(sum_of(x, 40)), "NaN at %lld", (long long)at);
    }
    cr_expect_eq(sum_of(NULL, 0), 0);
}

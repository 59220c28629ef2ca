#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/order.h"

static void expect_permutation(uint64_t count, uint64_t seed, uint64_t epoch) {
    ons_order order = {count, seed, true};
    uint64_t *rows = malloc(count * sizeof *rows);
    uint8_t *seen = calloc(count, 1);
    ons_order_rows(&order, epoch, 0, count, rows);
    for (uint64_t i = 0; i < count; ++i) {
        cr_assert_lt(rows[i], count);
        cr_assert_not(seen[rows[i]], "%llu of %llu comes twice", (unsigned long long)rows[i],
                      (unsigned long long)count);
        seen[rows[i]] = 1;
    }
    free(seen);
    free(rows);
}

Test(order, every_sample_once) {
    for (uint64_t count = 1; count <= 300; ++count) expect_permutation(count, count * 7, 3);
    static const uint64_t counts[] = {1023, 1024, 1025, 60000, 65535, 65536, 65537, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) expect_permutation(counts[i], 42, i);
}

Test(order, any_position_by_itself) {
    ons_order order = {9000, 7, true};
    static uint64_t all[9000];
    ons_order_rows(&order, 5, 0, 9000, all);
    for (uint64_t i = 0; i < 9000; i += 37) {
        uint64_t row;
        ons_order_rows(&order, 5, i, 1, &row);
        cr_assert_eq(row, all[i]);
    }
}

Test(order, known_values) { /* a resumed run may be another build: the order is part of the format */
    static const uint64_t expected[] = {457, 915, 878, 488, 283, 83};
    ons_order order = {1000, 1, true};
    uint64_t rows[6];
    ons_order_rows(&order, 0, 0, 6, rows);
    cr_expect_arr_eq(rows, expected, sizeof rows, "%llu %llu %llu %llu %llu %llu", (unsigned long long)rows[0],
                     (unsigned long long)rows[1], (unsigned long long)rows[2], (unsigned long long)rows[3],
                     (unsigned long long)rows[4], (unsigned long long)rows[5]);
}

Test(order, unshuffled) {
    ons_order order = {10, 1, false};
    uint64_t rows[4];
    ons_order_rows(&order, 9, 6, 4, rows);
    cr_expect_arr_eq(rows, ((const uint64_t[]){6, 7, 8, 9}), sizeof rows);
}

Test(order, epochs_and_seeds_differ) {
    ons_order one = {1000, 1, true}, two = {1000, 2, true};
    uint64_t a[1000], b[1000], c[1000];
    ons_order_rows(&one, 0, 0, 1000, a);
    ons_order_rows(&one, 1, 0, 1000, b);
    ons_order_rows(&two, 0, 0, 1000, c);
    int same_epoch = 0, same_seed = 0, fixed = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        same_epoch += a[i] == b[i];
        same_seed += a[i] == c[i];
        fixed += a[i] == i;
    }
    /* One is expected by chance, more than 12 once in 10^10 times. */
    cr_expect_leq(same_epoch, 12);
    cr_expect_leq(same_seed, 12);
    cr_expect_leq(fixed, 12);
}

/* Each sample comes as often at each position. The statistic's mean is (n-1)², its variance about 2(n-1)². */
static void expect_uniform(uint64_t n) {
    enum { EPOCHS = 20000 };
    ons_order order = {n, 11, true};
    static uint32_t counts[16][16];
    memset(counts, 0, sizeof counts);
    for (uint64_t epoch = 0; epoch < EPOCHS; ++epoch) {
        uint64_t rows[16];
        ons_order_rows(&order, epoch, 0, n, rows);
        for (uint64_t i = 0; i < n; ++i) ++counts[i][rows[i]];
    }
    double expected = (double)EPOCHS / (double)n, statistic = 0;
    for (uint64_t i = 0; i < n; ++i)
        for (uint64_t j = 0; j < n; ++j) statistic += (counts[i][j] - expected) * (counts[i][j] - expected) / expected;
    double mean = (double)((n - 1) * (n - 1));
    cr_expect_lt(statistic, mean + 6 * 1.5 * (double)(n - 1) + 20, "n = %llu: %g against %g", (unsigned long long)n,
                 statistic, mean);
}

Test(order, uniform) {
    for (uint64_t n = 2; n <= 16; ++n) expect_uniform(n);
}

Test(order, neighbours_are_parted) { /* how often do samples that follow each other stay together? */
    static uint64_t rows[60000];
    ons_order order = {60000, 3, true};
    ons_order_rows(&order, 0, 0, 60000, rows);
    int together = 0;
    for (size_t i = 1; i < 60000; ++i) together += rows[i] == rows[i - 1] + 1;
    cr_expect_leq(together, 15);
}

Test(order, huge) {
    ons_order order = {UINT64_C(1) << 62, 3, true};
    uint64_t rows[100];
    ons_order_rows(&order, 0, (UINT64_C(1) << 62) - 100, 100, rows);
    order.count -= 12345;
    ons_order_rows(&order, 0, 0, 100, rows);
    for (size_t i = 0; i < 100; ++i) cr_expect_lt(rows[i], order.count);
}

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/log/trace.h"
#include "runtime/measure/device_speed.h"
#include "tests/rooms/runtime/scratch.h"

enum { EDGE = 192, RUNS = 5 };

/* A product as anybody writes it first, on one thread: what every library is faster than. */
static double plain_flops(void) {
    float *a = malloc(3 * EDGE * EDGE * sizeof *a), *b = a + EDGE * EDGE, *c = b + EDGE * EDGE;
    double best = 0;
    for (int i = 0; i < 2 * EDGE * EDGE; ++i) a[i] = (float)(i % 7) - 3;
    for (int run = 0; run < RUNS; ++run) {
        int64_t start = ons_trace_now();
        for (int row = 0; row < EDGE; ++row)
            for (int column = 0; column < EDGE; ++column) {
                float sum = 0;
                for (int k = 0; k < EDGE; ++k) sum += a[row * EDGE + k] * b[k * EDGE + column];
                c[row * EDGE + column] = sum;
            }
        best = fmax(best, 2.0 * EDGE * EDGE * EDGE / ((double)(ons_trace_now() - start) * 1e-9));
    }
    cr_expect(isfinite(c[EDGE]));
    free(a);
    return best;
}

static void expect_positive(const char *what, double value) {
    cr_expect(isfinite(value) && value > 0, "%s is %g", what, value);
}

static void measure(int threads, ons_device_speed *speed) {
    ons_device *device;
    expect_success(ons_cpu_device_new(0, false, &device));
    expect_success(ons_device_speed_measure(device, threads, speed));
    cr_expect_eq(device->used_bytes, 0, "all memory is given back");
    device->free(device);
}

Test(device_speed, is_measured_of_every_type_and_way, .timeout = 300) {
    ons_device_speed speed;
    for (int threads = 1; threads <= 2; ++threads) {
        measure(threads, &speed);
        for (int i = 0; i < ONS_MEASURED_TYPES; ++i) expect_positive("a product's rate", speed.gemm_flops[i]);
        expect_positive("the memory's bandwidth", speed.memory_bandwidth);
        expect_positive("the link's bandwidth", speed.link_bandwidth);
        expect_positive("the link's latency", speed.link_latency);
        expect_positive("the host's bandwidth", speed.host_bandwidth);
        expect_positive("the host's latency", speed.host_latency);
        expect_positive("an array's size", speed.array_bytes);
    }
}

Test(device_speed, is_at_least_that_of_a_plain_product, .timeout = 300) {
    ons_device_speed speed;
    measure(1, &speed);
    double plain = plain_flops();
    cr_expect_geq(speed.gemm_flops[ONS_MEASURED_FP32], plain, "%g FLOP/s, a plain product has %g",
                  speed.gemm_flops[ONS_MEASURED_FP32], plain);
}

Test(device_speed, needs_no_more_than_the_device_may_take) {
    ons_device *device;
    ons_device_speed speed;
    expect_success(ons_cpu_device_new(1, false, &device));
    expect_failure(ons_device_speed_measure(device, 1, &speed), ONS_OUT_OF_MEMORY, "the cap is 1");
    cr_expect_eq(device->used_bytes, 0);
    device->free(device);
}

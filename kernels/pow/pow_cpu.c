/* Pow on the CPU. */
#include "kernels/pow/pow.h"

#include <math.h>

#include "kernels/common/elementwise/binary.h"

ONS_BINARY_SPAN(power, float, float, float, powf(a, b))
ONS_BINARY_SPAN(int64_power, int64_t, int64_t, int64_t, ons_integer_power(a, b))
/* Powers known beforehand: `b` is not read. */

ONS_BINARY_SPAN(power_0, float, float, float, ((void)a, (void)b, 1.0f))

ONS_BINARY_SPAN(power_1, float, float, float, ((void)b, a))

ONS_BINARY_SPAN(power_2, float, float, float, ((void)b, a *a))

ONS_BINARY_SPAN(power_3, float, float, float, ((void)b, a *a *a))

ONS_BINARY_SPAN(power_half, float, float, float, ((void)b, __builtin_sqrtf(a)))

ONS_BINARY_SPAN(power_minus_1, float, float, float, ((void)b, 1.0f / a))

ONS_BINARY_SPAN(power_minus_half, float, float, float, ((void)b, 1.0f / __builtin_sqrtf(a)))

static const struct {
    double exponent;
    ons_span_function *function;
} fixed_powers[] = {
    {0, power_0},
    {1, power_1},
    {2, power_2},
    {3, power_3},
    {0.5, power_half},
    {-1, power_minus_1},
    {-0.5, power_minus_half},
};

static ons_status *pow_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_broadcast *state;
    double exponent;
    if (o->inputs[0].dtype == ONS_INT64 && o->inputs[1].dtype == ONS_INT64)
        return ons_broadcast_prepare(p, int64_power, &state);
    if (o->inputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[0].dtype);
    for (size_t i = 0; constant_exponent(o, &exponent) && i < sizeof fixed_powers / sizeof fixed_powers[0]; ++i)
        if (fixed_powers[i].exponent == exponent) return ons_broadcast_prepare(p, fixed_powers[i].function, &state);
    if (o->inputs[1].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[1].dtype);
    return ons_broadcast_prepare(p, power, &state);
}

ONS_KERNELS(cpu, pow, ONS_KERNEL(pow_prepare, ons_broadcast_run))

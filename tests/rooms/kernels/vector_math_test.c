/* kernels/common/math/vector_math.h against libm in double: the worst error in units of the last place over a sample of
 * all floats, and the values at the ends. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/common/math/simd.h"
#include "kernels/common/math/vector_math.h"
#include "kernels/trigonometry/trigonometry.h"

enum { SAMPLE_STRIDE = 4099, BLOCK = 1024 };

/* One function under test: a loop over floats, its double twin, its error bound and the arguments that it promises. */
typedef struct subject {
    const char *name;
    void (*run)(const float *x, float *y, int count);
    double (*reference)(double x);
    double bound; /* in units of the last place; of max(1, |result|) where `scaled` */
    float farthest;
    float largest;
    bool scaled;
} subject;

#define LOOP(NAME, EXPRESSION)                                                                                         \
    static void NAME(const float *in, float *out, int count) {                                                         \
        for (int i = 0; i < count; ++i) {                                                                              \
            float x = in[i];                                                                                           \
            out[i] = (EXPRESSION);                                                                                     \
        }                                                                                                              \
    }
LOOP(run_exp, ons_exp(x))
LOOP(run_exp_minus_one, ons_exp_minus_one(x))
LOOP(run_log, ons_log(x))
LOOP(run_tanh, ons_tanh(x))
LOOP(run_erf, ons_erf(x))
LOOP(run_sigmoid, ons_sigmoid(x))
LOOP(run_softplus, ons_softplus(x))
LOOP(run_sine, ons_sine(x, 0))
LOOP(run_cosine, ons_sine(x, 1))
LOOP(run_atan, ons_atan(x))
LOOP(run_asin, ons_asin(x))
LOOP(run_acos, ons_acos(x))
LOOP(run_sinh, ons_sinh(x))
LOOP(run_cosh, ons_cosh(x))
LOOP(run_asinh, ons_asinh(x))
LOOP(run_acosh, ons_acosh(x))
LOOP(run_atanh, ons_atanh(x))

/* Of as many lanes as the tests are compiled for. */
#define LOOP_OF_LANES(NAME, FUNCTION)                                                                                  \
    static void NAME(const float *in, float *out, int count) {                                                         \
        for (int i = 0; i < count; i += ONS_SIMD_FLOATS) {                                                             \
            int here = count - i < ONS_SIMD_FLOATS ? count - i : ONS_SIMD_FLOATS;                                      \
            ons_simd_store_first(out + i, FUNCTION(ons_simd_load_first(in + i, here)), here);                          \
        }                                                                                                              \
    }
LOOP_OF_LANES(run_simd_tanh, ons_simd_tanh)
LOOP_OF_LANES(run_simd_sigmoid, ons_simd_sigmoid)
LOOP_OF_LANES(run_simd_exp2, ons_simd_exp2)
LOOP_OF_LANES(run_simd_log, ons_simd_log)
static ons_simd_float normal_of_lanes(ons_simd_float x) { return ons_simd_normal(x, &(ons_simd_float){0}); }
LOOP_OF_LANES(run_lanes_normal, normal_of_lanes)

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }
static double normal(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

static double last_place(double reference) {
    float rounded = fabsf((float)reference);
    return rounded < 0x1p-126f ? 0x1p-149 : ldexp(1, ilogbf(rounded) - 23);
}

/* The error of one result in the subject's unit; 0 where both are the same infinity or NaN. */
static double error_of(const subject *s, double reference, float result) {
    if (isnan(reference) || isinf((float)reference))
        return (isnan(reference) && isnan(result)) || (float)reference == result ? 0 : INFINITY;
    if (isnan(result) || isinf(result)) return INFINITY;
    return fabs(result - reference) / (s->scaled ? fmax(1, fabs(reference)) : last_place(reference));
}

static void check(const subject *s) {
    float x[BLOCK], y[BLOCK], worst_at = 0;
    double worst = 0;
    int count = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += SAMPLE_STRIDE) {
        float value = ons_float_from_bits((uint32_t)bits);
        if (!(fabsf(value) > s->farthest) && !(value > s->largest)) x[count++] = value;
        if (count < BLOCK && bits + SAMPLE_STRIDE <= UINT32_MAX) continue;
        s->run(x, y, count);
        for (int i = 0; i < count; ++i) {
            double error = error_of(s, s->reference(x[i]), y[i]);
            if (error > worst) {
                worst = error;
                worst_at = x[i];
            }
        }
        count = 0;
    }
    cr_expect(worst <= s->bound, "%s: error %g at %g, at most %g is promised", s->name, worst, (double)worst_at,
              s->bound);
}

Test(vector_math, errors_are_bounded) {
    const subject subjects[] = {
        {"exp", run_exp, exp, 1.1, INFINITY, INFINITY, false},
        {"exp_minus_one", run_exp_minus_one, expm1, 1.6, INFINITY, 88, false},
        {"log", run_log, log, 0.9, INFINITY, INFINITY, false},
        {"tanh", run_tanh, tanh, 1.4, INFINITY, INFINITY, false},
        {"erf", run_erf, erf, 1.4, INFINITY, INFINITY, false},
        {"sigmoid", run_sigmoid, sigmoid, 2.6, INFINITY, INFINITY, false},
        {"softplus", run_softplus, softplus, 2.8, INFINITY, INFINITY, false},
        {"sine", run_sine, sin, 0.51, ONS_SINE_RANGE, INFINITY, false},
        {"cosine", run_cosine, cos, 0.51, ONS_SINE_RANGE, INFINITY, false},
        {"atan", run_atan, atan, 2, INFINITY, INFINITY, false},
        {"asin", run_asin, asin, 3, INFINITY, INFINITY, false},
        {"acos", run_acos, acos, 3, INFINITY, INFINITY, false},
        {"sinh", run_sinh, sinh, 4, INFINITY, INFINITY, false},
        {"cosh", run_cosh, cosh, 4, INFINITY, INFINITY, false},
        {"asinh", run_asinh, asinh, 4, INFINITY, INFINITY, false},
        {"acosh", run_acosh, acosh, 4, INFINITY, INFINITY, false},
        {"atanh", run_atanh, atanh, 4, INFINITY, INFINITY, false},
        {"tanh of lanes", run_simd_tanh, tanh, 1.4, INFINITY, INFINITY, false},
        {"sigmoid of lanes", run_simd_sigmoid, sigmoid, 2.6, 87, INFINITY, false},
        {"exp2 of lanes", run_simd_exp2, exp2, 1.4, 126, INFINITY, false},
        {"log of lanes", run_simd_log, log, 0.9, INFINITY, INFINITY, false},
        {"normal of lanes", run_lanes_normal, normal, 2.5e-7, INFINITY, INFINITY, true},
    };
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; ++i) check(&subjects[i]);
}

Test(vector_math, ends_come_out_as_in_libm) {
    cr_expect(ons_exp(INFINITY) == INFINITY && ons_exp(-INFINITY) == 0 && isnan(ons_exp(NAN)));
    cr_expect(ons_log(0) == -INFINITY && ons_log(INFINITY) == INFINITY && isnan(ons_log(-1)) && isnan(ons_log(NAN)));
    cr_expect(ons_tanh(INFINITY) == 1 && ons_tanh(-INFINITY) == -1 && isnan(ons_tanh(NAN)));
    cr_expect(ons_erf(INFINITY) == 1 && ons_erf(-INFINITY) == -1 && isnan(ons_erf(NAN)));
    cr_expect(ons_sigmoid(INFINITY) == 1 && ons_sigmoid(-INFINITY) == 0 && isnan(ons_sigmoid(NAN)));
    cr_expect(signbit(ons_tanh(-0.0f)) && signbit(ons_erf(-0.0f)));
}

Test(vector_math, ends_of_registers) {
    const float in[] = {INFINITY, -INFINITY, NAN, -0.0f, 1e30f, -1e30f, 88.5f, -88.5f, 87.4f, -87.4f};
    float tanhs[10], sigmoids[10], powers[4], logs[4];
    run_simd_tanh(in, tanhs, 10);
    run_simd_sigmoid(in, sigmoids, 10);
    run_simd_exp2((const float[]){-INFINITY, -126.5f, NAN, 0}, powers, 4);
    run_simd_log((const float[]){INFINITY, 0, NAN, -1}, logs, 4);
    cr_expect(tanhs[0] == 1 && tanhs[1] == -1 && isnan(tanhs[2]) && tanhs[3] == 0 && signbit(tanhs[3]));
    cr_expect(sigmoids[0] == 1 && sigmoids[1] == 0 && isnan(sigmoids[2]) && sigmoids[3] == 0.5f);
    for (int i = 4; i < 10; i += 2) {
        cr_expect(tanhs[i] == 1 && tanhs[i + 1] == -1);
        cr_expect(sigmoids[i] == 1 && sigmoids[i + 1] == 0);
    }
    cr_expect(powers[0] == 0 && powers[1] == 0 && isnan(powers[2]) && powers[3] == 1);
    cr_expect(logs[0] == INFINITY && logs[1] == -INFINITY && isnan(logs[2]) && isnan(logs[3]));
}

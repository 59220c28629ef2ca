/* A form is put together from four choices: where x - mean is computed (once, twice from one mean, or twice
 * altogether), how it is squared, how it is divided by the deviation, and what scale and bias follow. */
#include "kernels/layer_normalization/patterns.h"

#include "graph/passes/fuse.h"
#include "kernels/normalization/layer_norm.h"

extern const ons_operator ons_op_layer_normalization;

static ons_value_id replace_by_layer_norm(ons_match *match) {
    static const char *const means[] = {"m", "v", "w"};
    ons_type x = ons_match_type(match, "x");
    uint32_t axis = 0;
    if (!ons_dtype_is_float(x.dtype)) return ONS_NONE;
    for (int i = 0; i < 3; ++i) {
        uint32_t found;
        ons_type mean = ons_match_type(match, means[i]);
        if (ons_match_value(match, means[i]) == ONS_NONE) continue;
        if (!ons_layer_norm_reduced(&x.shape, &mean.shape, &found) || (i > 0 && found != axis)) return ONS_NONE;
        axis = found;
    }
    ons_value_id scale = ons_match_value(match, "scale"), bias = ons_match_value(match, "bias");
    ons_type scale_type = ons_match_type(match, "scale"), bias_type = ons_match_type(match, "bias");
    if ((scale != ONS_NONE && !ons_layer_norm_fits(&x.shape, axis, &scale_type)) ||
        (bias != ONS_NONE && !ons_layer_norm_fits(&x.shape, axis, &bias_type)))
        return ONS_NONE;
    ons_builder *builder = ons_match_builder(match);
    if (scale == ONS_NONE) scale = ons_layer_norm_ones(builder, &x, axis);
    return ons_build(
        builder, &ons_op_layer_normalization, ONS_IN(ons_match_value(match, "x"), scale, bias),
        ONS_WITH(ONS_AT_INT(0, (int64_t)axis - x.shape.rank), ONS_AT_FLOAT(1, ons_match_scalar(match, "epsilon"))));
}

/* The divisions. SUM is variance + epsilon. */
#define ROOT_DIVIDES(DIFFERENCE, SUM)       "Div(" DIFFERENCE ", Sqrt(" SUM "))"
#define POWER_DIVIDES(DIFFERENCE, SUM)      "Div(" DIFFERENCE ", Pow(" SUM ", 0.5))"
#define RECIPROCAL_OF_ROOT(DIFFERENCE, SUM) "Mul(" DIFFERENCE ", Reciprocal(Sqrt(" SUM ")))"
#define ONE_OVER_ROOT(DIFFERENCE, SUM)      "Mul(" DIFFERENCE ", Div(1, Sqrt(" SUM ")))"
#define NEGATIVE_POWER(DIFFERENCE, SUM)     "Mul(" DIFFERENCE ", Pow(" SUM ", -0.5))"

#define AFFINE(NORMALIZED)                                                                                             \
    {"Add(Mul(" NORMALIZED ", scale), bias)", replace_by_layer_norm},                                                  \
        {"Mul(" NORMALIZED ", scale)", replace_by_layer_norm}, {NORMALIZED, replace_by_layer_norm},

/* SQUARE in terms of what DIFFERENCE has bound. */
#define DIVISIONS(DIFFERENCE, SQUARE)                                                                                  \
    AFFINE(ROOT_DIVIDES(DIFFERENCE, "Add(v=ReduceMean(" SQUARE "), ?epsilon)"))                                        \
    AFFINE(POWER_DIVIDES(DIFFERENCE, "Add(v=ReduceMean(" SQUARE "), ?epsilon)"))                                       \
    AFFINE(RECIPROCAL_OF_ROOT(DIFFERENCE, "Add(v=ReduceMean(" SQUARE "), ?epsilon)"))                                  \
    AFFINE(ONE_OVER_ROOT(DIFFERENCE, "Add(v=ReduceMean(" SQUARE "), ?epsilon)"))                                       \
    AFFINE(NEGATIVE_POWER(DIFFERENCE, "Add(v=ReduceMean(" SQUARE "), ?epsilon)"))

/* clang-format off */
const ons_pattern ons_layer_norm_patterns[] = {
    DIVISIONS("d=Sub(x, m=ReduceMean(x))", "Pow(d, 2)")
    DIVISIONS("d=Sub(x, m=ReduceMean(x))", "Mul(d, d)")
    DIVISIONS("Sub(x, m=ReduceMean(x))", "Pow(Sub(x, m), 2)")
    DIVISIONS("Sub(x, m=ReduceMean(x))", "Mul(e=Sub(x, m), e)")
    DIVISIONS("Sub(x, m=ReduceMean(x))", "Pow(Sub(x, w=ReduceMean(x)), 2)")
    DIVISIONS("Sub(x, m=ReduceMean(x))", "Mul(e=Sub(x, w=ReduceMean(x)), e)")
    {.form = NULL},
};
/* clang-format on */

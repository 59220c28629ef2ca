/* A form is put together from four choices: whether x is first cast to float32 (half precision), how it is squared, how
 * it is divided by the root, and whether a scale follows, before or after the cast back. */
#include "kernels/rms_normalization/patterns.h"

#include "graph/passes/fuse.h"
#include "kernels/normalization/layer_norm.h"
#include "kernels/operators.h"

static ons_value_id replace_by_rms_norm(ons_match *match) {
    ons_type x = ons_match_type(match, "x"), mean = ons_match_type(match, "mean"), y = ons_match_type(match, "result");
    ons_value_id scale = ons_match_value(match, "scale");
    ons_type scale_type = ons_match_type(match, "scale");
    uint32_t axis;
    if (!ons_dtype_is_float(x.dtype) || !ons_type_equal(&x, &y) ||
        !ons_layer_norm_reduced(&x.shape, &mean.shape, &axis))
        return ONS_NONE;
    if (scale != ONS_NONE && (scale_type.dtype != x.dtype || !ons_layer_norm_fits(&x.shape, axis, &scale_type)))
        return ONS_NONE;
    ons_builder *builder = ons_match_builder(match);
    if (scale == ONS_NONE) scale = ons_layer_norm_ones(builder, &x, axis);
    return ons_build(
        builder, &ons_op_rms_normalization, ONS_IN(ons_match_value(match, "x"), scale),
        ONS_WITH(ONS_AT_INT(0, (int64_t)axis - x.shape.rank), ONS_AT_FLOAT(1, ons_match_scalar(match, "epsilon"))));
}

#define FORM(TEXT) {TEXT, replace_by_rms_norm},
#define PLAIN(NORMALIZED)                                                                                              \
    FORM("Mul(" NORMALIZED ", scale)")                                                                                 \
    FORM(NORMALIZED)
#define CAST(NORMALIZED)                                                                                               \
    FORM("Mul(Cast(" NORMALIZED "), scale)")                                                                           \
    FORM("Cast(" NORMALIZED ")")

/* SUM is mean + epsilon; FIRST introduces x, which later is called X. */
#define DIVISIONS(AFFINE, FIRST, X, SUM)                                                                               \
    AFFINE("Mul(" FIRST ", Reciprocal(Sqrt(" SUM ")))")                                                                \
    AFFINE("Mul(" FIRST ", Div(1, Sqrt(" SUM ")))")                                                                    \
    AFFINE("Mul(" FIRST ", Pow(" SUM ", -0.5))")                                                                       \
    AFFINE("Div(" FIRST ", Sqrt(" SUM "))")                                                                            \
    AFFINE("Div(" FIRST ", Pow(" SUM ", 0.5))")
#define SQUARES(AFFINE, FIRST, X)                                                                                      \
    DIVISIONS(AFFINE, FIRST, X, "Add(mean=ReduceMean(Pow(" X ", 2)), ?epsilon)")                                       \
    DIVISIONS(AFFINE, FIRST, X, "Add(mean=ReduceMean(Mul(" X ", " X ")), ?epsilon)")

/* clang-format off */
const ons_pattern ons_rms_norm_patterns[] = {
    SQUARES(PLAIN, "x", "x")
    SQUARES(CAST, "wide=Cast(x)", "wide")
    {.form = NULL},
};
/* clang-format on */

/* ReduceMax: the largest element; a NaN wins. */
#include <math.h>

#include "kernels/common/math/integers.h"
#include "kernels/reduction/reduction.h"

ONS_REDUCTION_REFERENCE(reduce_max, -INFINITY, ONS_LARGER_OF(a, x), a, ons_least_of(o->inputs[0].dtype),
                        ons_word_less(o->inputs[0].dtype, a, x) ? x : a, a)

ONS_DEFINE_OPERATOR(reduce_max, "ReduceMax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 1), ONS_REDUCTION_ATTRIBUTES,
                    ONS_INFER(ons_reduction_infer), ONS_COST(ons_reduction_cost),
                    ONS_GRADIENT_RULE(ons_reduction_min_max_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0), ONS_INPUT_BIT(0)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_reduction_choose), ONS_REDUCTION_FORMS, ONS_REFERENCE(reduce_max_reference));

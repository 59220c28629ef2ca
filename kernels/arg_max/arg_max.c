/* ArgMax: the index of the largest element along an axis; of several the first, or the last. */
#include "kernels/argminmax/argminmax.h"

ONS_ARGMINMAX_REFERENCE(arg_max, true)

ONS_DEFINE_OPERATOR(arg_max, "ArgMax", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_ARGMINMAX_ATTRIBUTES,
                    ONS_INFER(ons_argminmax_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("an index does not change gradually"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(arg_max_reference));

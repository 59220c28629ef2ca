/* Round: the nearest integer, halves to the even one. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_REFERENCE(round, rint(x))

ONS_DEFINE_UNARY(round, "Round", ONS_ONNX(11, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(round_reference));

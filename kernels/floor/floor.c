/* Floor: the largest integer that is not greater. */
#include <math.h>

#include "kernels/common/elementwise/unary.h"

ONS_UNARY_FLOAT_REFERENCE(floor, floor(x))

ONS_DEFINE_UNARY(floor, "Floor", ONS_ONNX(1, ONS_NEWEST), ONS_NO_ATTRIBUTES, ONS_INFER(ons_infer_float_unary),
                 ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                 ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_ONE_FORM,
                 ONS_REFERENCE(floor_reference));

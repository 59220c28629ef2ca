/* The activation functions that com.microsoft's fused operators name by an attribute. */
#ifndef ONSTAGE_KERNELS_MICROSOFT_ACTIVATION_H
#define ONSTAGE_KERNELS_MICROSOFT_ACTIVATION_H

#include "kernels/common/operator/expand.h"

enum { ONS_ACTIVATION_PARAMETERS = 2 };

typedef struct ons_activation {
    const char *name; /* "" or NULL: none */
    uint32_t parameter_count;
    double parameters[ONS_ACTIVATION_PARAMETERS]; /* those that are not given have ONNX's defaults */
} ons_activation;

/* Fails with the node's name where the function is not known; fills in the defaults. */
ons_status *ons_activation_resolve(const ons_operands *o, ons_activation *activation);

ons_value_id ons_activation_expand(ons_replacement *m, const ons_activation *activation, ons_value_id x);
double ons_activation_reference(const ons_activation *activation, double x);

#endif

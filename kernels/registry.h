/* The table of all operators, made from operators.inc. */
#ifndef ONSTAGE_KERNELS_REGISTRY_H
#define ONSTAGE_KERNELS_REGISTRY_H

#include "graph/registry.h"

const ons_registry *ons_kernels_registry(void);

#endif

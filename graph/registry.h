/* All operators that a program knows. Rooms that need operators are handed one of these; kernels/registry.c makes it.
 */
#ifndef ONSTAGE_GRAPH_REGISTRY_H
#define ONSTAGE_GRAPH_REGISTRY_H

#include "graph/operator.h"

/* Operators that exporters write and that onstage does not have: why, and the way out. A name that ends in '*' stands
 * for all that begin so. */
typedef struct ons_unsupported {
    const char *domain;
    const char *name;
    const char *reason;
    const char *remedy;
} ons_unsupported;

typedef struct ons_registry {
    const ons_operator *const *operators;
    size_t count;
    const ons_unsupported *unsupported; /* the first that fits holds */
    size_t unsupported_count;
    /* Bytes of a type in a layout other than ONNX's; only kernels/ knows. */
    int64_t (*layout_bytes)(const ons_type *type);
    const char *(*layout_name)(ons_layout layout);
    /* Whether a kernel can broadcast an operand of shape `part`, in ONNX's order, to a whole in that layout. */
    bool (*layout_broadcasts)(const ons_shape *whole, ons_layout layout, const ons_shape *part);
    /* Copies a value's contents into another layout; both lie in the host's memory. */
    ons_status *(*relayout)(const ons_type *from, ons_layout to, const void *source, void *target);
} ons_registry;

/* NULL where no operator of that domain and name takes this opset. "ai.onnx" is the domain "". */
const ons_operator *ons_registry_find(const ons_registry *registry, const char *domain, const char *name,
                                      int64_t opset);

/* Whether the name exists at all, at any opset. */
const ons_operator *ons_registry_find_name(const ons_registry *registry, const char *domain, const char *name);

/* NULL where nothing is known about it. */
const ons_unsupported *ons_registry_find_unsupported(const ons_registry *registry, const char *domain,
                                                     const char *name);

/* NULL where no operator has this role. */
const ons_operator *ons_registry_role(const ons_registry *registry, ons_role role);

/* Bytes that a value of this type takes in memory, in its layout. */
int64_t ons_registry_type_bytes(const ons_registry *registry, const ons_type *type);

#endif

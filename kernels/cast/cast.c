/* Cast: to another element type. */
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/cast/conversion.h"

enum { TO };

static ons_status *cast_infer(ons_operands *o) { return ons_cast_infer(o, (ons_dtype)ons_attribute_int(o, TO)); }

/* Before opset 6 the type was a name. */
static ons_status *cast_upgrade(ons_upgrade *u) {
    static const struct {
        const char *name;
        ons_dtype dtype;
    } types[] = {
        {"FLOAT", ONS_FLOAT32}, {"DOUBLE", ONS_FLOAT64}, {"FLOAT16", ONS_FLOAT16}, {"INT8", ONS_INT8},
        {"INT16", ONS_INT16},   {"INT32", ONS_INT32},    {"INT64", ONS_INT64},     {"UINT8", ONS_UINT8},
        {"UINT16", ONS_UINT16}, {"UINT32", ONS_UINT32},  {"UINT64", ONS_UINT64},   {"BOOL", ONS_BOOL},
    };
    const ons_attribute *to = ons_upgrade_find(u, "to");
    if (to == NULL || to->kind != ONS_ATTRIBUTE_STRING) return NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(types[i].name, to->s) == 0)
            return ons_upgrade_set(u, "to", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = types[i].dtype});
    return ons_status_new(ONS_UNSUPPORTED, "node '%s' (Cast): no conversion to '%s'", u->node_name, to->s);
}

/* `saturate` and `round_mode` concern floats of 8 bits and fewer. */
ONS_DEFINE_OPERATOR(cast, "Cast", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("to", ONS_ATTRIBUTE_INT), ONS_INT_ATTRIBUTE("saturate", 1),
                                   ONS_STRING_ATTRIBUTE("round_mode", "up")),
                    ONS_INFER(cast_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(ons_cast_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_CAST, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_FORMS(cast_upgrade, ONS_NO_PATTERNS, ons_cast_decompose),
                    ONS_REFERENCE(ons_cast_reference));

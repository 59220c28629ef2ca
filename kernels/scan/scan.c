/* Scan: a body that runs once for every index of its inputs along an axis. It is unrolled when shapes are bound. In
 * opset 8 all operands had samples along axis 0, and the lengths of their sequences came first. */
#include "graph/upgrade.h"
#include "kernels/common/operator/kernel.h"

static ons_status *scan_infer(ons_operands *o) {
    return ons_node_error(o, "a scan is unrolled when shapes are bound, and cannot stand by itself");
}

static ons_status *scan_upgrade(ons_upgrade *u) {
    if (u->opset >= 9) return NULL;
    const ons_attribute *directions = ons_upgrade_find(u, "directions");
    if (directions != NULL) {
        ONS_TRY(ons_upgrade_set(u, "scan_input_directions", *directions));
        ons_upgrade_remove(u, "directions");
    }
    return ons_upgrade_set(u, "onstage_batched", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1});
}

ONS_DEFINE_OPERATOR(scan, "Scan", ONS_ONNX(8, ONS_NEWEST), ONS_ARITY(0, ONS_VARIADIC, 1, ONS_VARIADIC),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("body", ONS_ATTRIBUTE_GRAPH),
                                   ONS_REQUIRED_ATTRIBUTE("num_scan_inputs", ONS_ATTRIBUTE_INT),
                                   ONS_OPTIONAL_ATTRIBUTE("scan_input_axes", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("scan_input_directions", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("scan_output_axes", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("scan_output_directions", ONS_ATTRIBUTE_INTS),
                                   ONS_INT_ATTRIBUTE("onstage_batched", 0)),
                    ONS_INFER(scan_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("its steps take its place when shapes are bound"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_SCAN, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(scan_upgrade, ONS_NO_PATTERNS, NULL), NULL);

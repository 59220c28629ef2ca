#include "tests/rooms/onnx_import/test_operators.h"

#include "graph/upgrade.h"

static ons_status *no_gradient(ons_gradient *g) {
    (void)g;
    return NULL;
}

static ons_status *upgrade_unsqueeze(ons_upgrade *u) {
    return u->opset < 13 ? ons_upgrade_attribute_to_input(u, "axes", 1, ONS_INT64) : NULL;
}

#define PLAIN .gradient = {.build = no_gradient, .differentiable = ONS_ALL_INPUTS}

static const ons_operator operators[] = {
    {.name = "Add", .opset = ONS_ONNX(7, 22), .arity = ONS_ARITY(2, 2, 1, 1), .attributes = ONS_NO_ATTRIBUTES, PLAIN},
    {.name = "Relu", .opset = ONS_ONNX(1, 22), .arity = ONS_ARITY(1, 1, 1, 1), .attributes = ONS_NO_ATTRIBUTES, PLAIN},
    {.name = "Expand",
     .opset = ONS_ONNX(8, 22),
     .arity = ONS_ARITY(2, 2, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .roles = {.role = ONS_ROLE_EXPAND, .traits = ONS_TRAIT_MOVES},
     PLAIN},
    {.name = "Transpose",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(1, 1, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .roles = {.role = ONS_ROLE_TRANSPOSE, .traits = ONS_TRAIT_MOVES},
     PLAIN},
    {.name = "Identity",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(1, 1, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .roles = {.traits = ONS_TRAIT_IDENTITY},
     PLAIN},
    {.name = "Constant",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(0, 0, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .roles = {.traits = ONS_TRAIT_CONSTANT}},
    {.name = "If",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(1, 1, 1, ONS_VARIADIC),
     .attributes = (const ons_attribute_declaration[]){ONS_REQUIRED_ATTRIBUTE("then_branch", ONS_ATTRIBUTE_GRAPH),
                                                       ONS_REQUIRED_ATTRIBUTE("else_branch", ONS_ATTRIBUTE_GRAPH),
                                                       {.name = NULL}},
     .roles = {.traits = ONS_TRAIT_CONTROL_FLOW}},
    {.name = "BatchNormalization",
     .opset = ONS_ONNX(7, 22),
     .arity = ONS_ARITY(5, 5, 1, 5),
     .attributes = (const ons_attribute_declaration[]){ONS_INT_ATTRIBUTE("training_mode", 0), {.name = NULL}},
     .forms = {.inference = ONS_IN_INFERENCE("training_mode", ONS_VARIADIC, 1)},
     .roles = {.traits = ONS_TRAIT_STATISTICS, .statistics = 1 << 3 | 1 << 4},
     .gradient = {.build = no_gradient, .differentiable = 7}},
    {.name = "Dropout",
     .opset = ONS_ONNX(7, 22),
     .arity = ONS_ARITY(1, 3, 1, 2),
     .attributes = ONS_NO_ATTRIBUTES,
     .forms = {.inference = ONS_IN_INFERENCE(NULL, 2, ONS_VARIADIC)},
     .roles = {.traits = ONS_TRAIT_RANDOM},
     .gradient = {.build = no_gradient, .differentiable = 1}},
    {.name = "Scale",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(1, 1, 1, 1),
     .attributes = (const ons_attribute_declaration[]){ONS_FLOAT_ATTRIBUTE("alpha", 2),
                                                       ONS_REQUIRED_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT),
                                                       {.name = NULL}},
     PLAIN},
    {.name = "Old", .opset = ONS_ONNX(1, 8), .arity = ONS_ARITY(1, 1, 1, 1), .attributes = ONS_NO_ATTRIBUTES, PLAIN},
    {.name = "Resize",
     .opset = ONS_ONNX(10, 22),
     .arity = ONS_ARITY(2, 2, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .gradient = {.build = no_gradient, .differentiable = 1}},
    {.name = "Unsqueeze",
     .opset = ONS_ONNX(1, 22),
     .arity = ONS_ARITY(2, 2, 1, 1),
     .attributes = ONS_NO_ATTRIBUTES,
     .forms = {.upgrade = upgrade_unsqueeze},
     .gradient = {.build = no_gradient, .differentiable = 1}},
};

const ons_registry *test_registry(void) {
    enum { COUNT = sizeof operators / sizeof operators[0] };
    static const ons_operator *list[COUNT];
    static const ons_unsupported unsupported[] = {{"vendor", "Old*", "it is of yesterday", "export it anew"},
                                                  {"vendor", "*", "it is the vendor's own", "export without it"}};
    static const ons_registry registry = {
        .operators = list, .count = COUNT, .unsupported = unsupported, .unsupported_count = 2};
    for (size_t i = 0; i < COUNT; ++i) list[i] = &operators[i];
    return &registry;
}

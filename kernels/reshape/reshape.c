/* Reshape: the same elements under the shape of input 1, in which 0 keeps the input's dimension (unless allowzero) and
 * one -1 takes what is left. */
#include "graph/upgrade.h"
#include "kernels/common/layout/axes.h"

enum { ALLOWZERO };

/* The one -1: as many as make the number of elements come out even. */
static ons_status *fill_in(const ons_operands *o, ons_shape *shape, uint32_t open) {
    int64_t known = 1, elements = ons_elements(&o->inputs[0]);
    for (uint32_t i = 0; i < shape->rank; ++i)
        if (i != open && __builtin_mul_overflow(known, shape->dims[i], &known))
            return ons_node_error(o, "the new shape has too many elements");
    if (known == 0 || elements % known != 0)
        return ons_node_error(o, "%lld elements do not divide by the %lld of the given dimensions", (long long)elements,
                              (long long)known);
    shape->dims[open] = elements / known;
    return NULL;
}

static ons_status *reshape_infer(ons_operands *o) {
    int64_t wanted[ONS_INTEGERS_MAX];
    uint32_t rank, open = ONS_RANK_MAX;
    const ons_shape *input = &o->inputs[0].shape;
    ONS_TRY(ons_constant_integers(o, 1, wanted, &rank));
    if (rank > ONS_RANK_MAX)
        return ons_node_error(o, "the new shape has rank %u, at most %d is possible", rank, ONS_RANK_MAX);
    ons_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; ++i) {
        bool keeps = wanted[i] == 0 && ons_attribute_int(o, ALLOWZERO) == 0;
        if (wanted[i] < -1 || (wanted[i] == -1 && open < ONS_RANK_MAX) || (keeps && i >= input->rank))
            return ons_node_error(o, "%lld cannot stand at position %u of the new shape", (long long)wanted[i], i);
        if (wanted[i] == -1) open = i;
        shape.dims[i] = keeps ? input->dims[i] : wanted[i];
    }
    if (open < ONS_RANK_MAX) ONS_TRY(fill_in(o, &shape, open));
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s' (Reshape)", o->name);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (ons_elements(&o->inputs[0]) != ons_elements(&o->outputs[0]))
        return ons_node_error(o, "%s cannot become %s", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->outputs[0], right));
    return NULL;
}

/* Before opset 5 the shape was an attribute. */
static ons_status *reshape_upgrade(ons_upgrade *u) {
    return u->opset < 5 ? ons_upgrade_attribute_to_input(u, "shape", 1, ONS_INT64) : NULL;
}

ONS_DEFINE_OPERATOR(reshape, "Reshape", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("allowzero", 0)), ONS_INFER(reshape_infer),
                    ONS_COST(ons_cost_free), ONS_GRADIENT_RULE(ons_view_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_RESHAPE, ONS_TRAIT_ANY_PRECISION, 0), ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(reshape_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_view_reference));

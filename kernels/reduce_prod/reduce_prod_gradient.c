/* The gradient of ReduceProd: each element's is the cotangent times the product of the others, right also where an
 * element is 0. Inputs: the operator's two, and the cotangent. */
#include "kernels/reduce_prod/reduce_prod_gradient.h"

#include "kernels/reduction/reduction.h"

static void reduce_prod_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    const double *x = inputs[X], *cotangent = inputs[COTANGENT];
    bool reduced[ONS_RANK_MAX];
    ons_resolved(ons_reduction_axes(o, reduced));
    int64_t n = ons_elements(&o->inputs[X]);
    for (int64_t i = 0; i < n; ++i) {
        product p = {1, 0};
        int64_t target = ons_reduction_target(o, reduced, i);
        for (int64_t k = 0; k < n; ++k)
            if (ons_reduction_target(o, reduced, k) == target) note_element(&p, x[k]);
        ((double *)outputs[0])[i] = gradient_of(x[i], cotangent[target], &p);
    }
}

static ons_status *reduce_prod_gradient_infer(ons_operands *o) {
    bool reduced[ONS_RANK_MAX];
    if (!ons_has_input(o, COTANGENT)) /* the axes before it may be left out */
        return ons_node_error(o, "no cotangent");
    ONS_TRY(ons_reduction_axes(o, reduced));
    int64_t count = ons_reduction_count(o), elements = ons_elements(&o->inputs[X]);
    if (count > 0 && elements / count != ons_elements(&o->inputs[COTANGENT]))
        return ons_node_error(o, "the cotangent does not have the shape of the result");
    o->outputs[0] = o->inputs[X];
    return NULL;
}

ONS_DEFINE_OPERATOR(reduce_prod_gradient, "ReduceProdGradient", ONS_INTERNAL, ONS_ARITY(1, 3, 1, 1),
                    ONS_REDUCTION_ATTRIBUTES, ONS_INFER(reduce_prod_gradient_infer), ONS_COST(ons_reduction_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(reduce_prod_gradient_reference));

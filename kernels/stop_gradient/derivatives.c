#include "kernels/stop_gradient/derivatives.h"

#include <math.h>

#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "kernels/operators.h"

static ons_value_id one(ons_builder *b, const ons_operator *op, ons_value_id x) {
    return ons_build(b, op, ONS_IN(x), ONS_DEFAULTS);
}
static ons_value_id two(ons_builder *b, const ons_operator *op, ons_value_id x, ons_value_id y) {
    return ons_build(b, op, ONS_IN(x, y), ONS_DEFAULTS);
}
/* A select passes no gradient to what it does not take: not even 0 · ∞. */
static ons_value_id choose(ons_builder *b, ons_value_id condition, ons_value_id x, ons_value_id y) {
    return ons_build(b, &ons_op_where, ONS_IN(condition, x, y), ONS_DEFAULTS);
}
static ons_value_id number(ons_builder *b, ons_value_id like, double value) {
    return ons_build_scalar(b, ons_builder_type(b, like).dtype, value);
}

static bool is_float(const ons_match *match, const char *word) {
    return ons_dtype_is_float(ons_match_type(match, word).dtype);
}

/* ---- what made a value */

static const ons_node *maker(const ons_graph *graph, ons_value_id id) {
    ons_node_id node = id == ONS_NONE ? ONS_NONE : ons_graph_value(graph, id)->producer;
    return node == ONS_NONE ? NULL : ons_graph_node(graph, node);
}

static bool is_constant(const ons_graph *graph, ons_value_id id) {
    return id != ONS_NONE && ons_graph_value(graph, id)->kind == ONS_CONSTANT;
}

/* The value of which this one has the same elements, some of them several times. */
static ons_value_id skip_shapes(const ons_graph *graph, ons_value_id id) {
    for (const ons_node *node = maker(graph, id); node != NULL; node = maker(graph, id)) {
        const ons_operator *op = node->op;
        if (op != &ons_op_reshape && op != &ons_op_expand && op != &ons_op_squeeze && op != &ons_op_unsqueeze) break;
        id = node->inputs[0];
    }
    return id;
}

/* The same, but for factors that are known. */
static ons_value_id skip_factors(const ons_graph *graph, ons_value_id id) {
    for (;;) {
        id = skip_shapes(graph, id);
        const ons_node *node = maker(graph, id);
        if (node == NULL || (node->op != &ons_op_mul && node->op != &ons_op_div)) return id;
        if (is_constant(graph, node->inputs[1]))
            id = node->inputs[0];
        else if (node->op == &ons_op_mul && is_constant(graph, node->inputs[0]))
            id = node->inputs[1];
        else
            return id;
    }
}

/* Whether the value is something less its mean. */
static bool is_centred(const ons_graph *graph, ons_value_id id) {
    const ons_node *node = maker(graph, id);
    if (node == NULL || node->op != &ons_op_sub) return false;
    const ons_node *mean = maker(graph, skip_shapes(graph, node->inputs[1]));
    return mean != NULL && mean->op == &ons_op_reduce_mean && mean->inputs[0] == node->inputs[0];
}

static bool scalar_of(const ons_graph *graph, ons_value_id id, double *value) {
    const ons_tensor *tensor = id == ONS_NONE ? NULL : ons_graph_constant(graph, id);
    if (tensor == NULL || tensor->data == NULL || ons_shape_elements(&tensor->type.shape) != 1) return false;
    union {
        double real;
        int64_t whole;
    } word;
    ons_widen(tensor->type.dtype, tensor->data, 1, &word);
    *value = ons_dtype_is_float(tensor->type.dtype) ? word.real : (double)word.whole;
    return true;
}

static bool is_two(const ons_graph *graph, ons_value_id id) {
    double value;
    return scalar_of(graph, id, &value) && value == 2;
}

/* A sum or mean of squares of what is centred. */
static bool is_variance(const ons_graph *graph, ons_value_id id) {
    const ons_node *sum = maker(graph, skip_factors(graph, id));
    if (sum == NULL || (sum->op != &ons_op_reduce_mean && sum->op != &ons_op_reduce_sum)) return false;
    const ons_node *square = maker(graph, sum->inputs[0]);
    if (square == NULL) return false;
    bool squares = (square->op == &ons_op_mul && square->inputs[0] == square->inputs[1]) ||
                   (square->op == &ons_op_pow && is_two(graph, square->inputs[1]));
    return squares && is_centred(graph, square->inputs[0]);
}

/* ---- roots */

/* f(x), which is 0 at 0, with a derivative of 0 there: f is given 1 in the place of 0, and its result is not taken. */
typedef struct flat {
    ons_value_id is_zero, x; /* for f */
} flat;

static flat flatten(ons_builder *b, ons_value_id x) {
    ons_value_id is_zero = two(b, &ons_op_equal, x, number(b, x, 0));
    return (flat){is_zero, choose(b, is_zero, number(b, x, 1), x)};
}

static ons_value_id flattened(ons_builder *b, const flat *f, ons_value_id result) {
    return choose(b, f->is_zero, number(b, result, 0), result);
}

ons_value_id ons_derivative_of_deviation(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id variance = ons_match_value(match, "v");
    if (!is_variance(b->graph, variance)) return ONS_NONE;
    flat f = flatten(b, variance);
    return flattened(b, &f, one(b, &ons_op_sqrt, f.x));
}

/* Below p = 1 a single 0 has an infinite derivative, too. */
static ons_value_id sum_flat_powers(ons_builder *b, const ons_node *sum, const ons_node *power) {
    flat f = flatten(b, power->inputs[0]);
    ons_value_id powers = flattened(b, &f, two(b, &ons_op_pow, f.x, power->inputs[1]));
    ons_value_id result = ONS_NONE, axes = sum->input_count > 1 ? sum->inputs[1] : ONS_NONE;
    ons_inputs inputs = axes == ONS_NONE ? ONS_IN(powers) : ONS_IN(powers, axes);
    ons_build_node_like(b, sum->op, inputs, sum->attributes, 1, NULL, &result);
    return result;
}

ons_value_id ons_derivative_of_norm(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id s = ons_match_value(match, "s");
    double root = ons_match_scalar(match, "root"), exponent;
    const ons_node *sum = maker(b->graph, s), *power = sum == NULL ? NULL : maker(b->graph, sum->inputs[0]);
    if (sum == NULL || sum->op != &ons_op_reduce_sum || power == NULL || power->op != &ons_op_pow ||
        !scalar_of(b->graph, power->inputs[1], &exponent) || fabs(root * exponent - 1) > 1e-4)
        return ONS_NONE;
    const ons_node sum_node = *sum, power_node = *power; /* copies: building moves the array */
    if (exponent < 1) s = sum_flat_powers(b, &sum_node, &power_node);
    flat f = flatten(b, s);
    ons_value_id exponent_of_root = number(b, s, root);
    return flattened(b, &f, two(b, &ons_op_pow, f.x, exponent_of_root));
}

/* ---- quotients */

ons_value_id ons_derivative_of_sinc(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id x = ons_match_value(match, "x");
    if (!is_float(match, "x")) return ONS_NONE;
    flat f = flatten(b, x);
    ons_value_id z = two(b, &ons_op_mul, f.x, number(b, x, ons_match_scalar(match, "factor")));
    return choose(b, f.is_zero, number(b, x, 1), two(b, &ons_op_div, one(b, &ons_op_sin, z), z));
}

/* The arc is taken of the smaller by the larger: no quotient is infinite. Where both are 0, so is the result, and its
 * gradient. */
ons_value_id ons_derivative_of_atan2(ons_match *match) {
    const double pi = 3.14159265358979323846;
    ons_builder *b = ons_match_builder(match);
    ons_value_id y = ons_match_value(match, "y"), x = ons_match_value(match, "x");
    ons_type types[2] = {ons_builder_type(b, y), ons_builder_type(b, x)};
    if (types[0].dtype != types[1].dtype) return ONS_NONE;
    ons_value_id zero = number(b, x, 0),
                 none = two(b, &ons_op_and, two(b, &ons_op_equal, x, zero), two(b, &ons_op_equal, y, zero));
    ons_value_id steep = two(b, &ons_op_greater, one(b, &ons_op_abs, y), one(b, &ons_op_abs, x));
    ons_value_id above = two(b, &ons_op_greater_or_equal, y, zero), behind = two(b, &ons_op_less, x, zero);
    ons_value_id over = choose(b, none, zero, choose(b, steep, x, y));
    ons_value_id under = choose(b, none, number(b, x, 1), choose(b, steep, y, x));
    ons_value_id arc = one(b, &ons_op_atan, two(b, &ons_op_div, over, under));
    ons_value_id turned = two(b, &ons_op_add, arc, choose(b, above, number(b, x, pi), number(b, x, -pi)));
    ons_value_id upright = two(b, &ons_op_sub, choose(b, above, number(b, x, pi / 2), number(b, x, -pi / 2)), arc);
    return choose(b, steep, upright, choose(b, behind, turned, arc));
}

/* ---- logarithms */

/* Where x is 0 and the logarithm is none, it is log(1). */
ons_value_id ons_derivative_of_xlogy(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id x = ons_match_value(match, "x"), y = ons_match_value(match, "y");
    ons_value_id positive = two(b, &ons_op_greater, y, number(b, y, 0));
    ons_value_id hidden = two(b, &ons_op_and, two(b, &ons_op_equal, x, number(b, x, 0)), one(b, &ons_op_not, positive));
    return two(b, &ons_op_mul, x, one(b, &ons_op_log, choose(b, hidden, number(b, y, 1), y)));
}

/* Adds 0, whose derivative by x is `derivative`. */
static ons_value_id add_derivative(ons_builder *b, ons_value_id value, ons_value_id x, ons_value_id derivative) {
    ons_value_id product = two(b, &ons_op_mul, x, one(b, &ons_op_stop_gradient, derivative));
    return two(b, &ons_op_add, value, two(b, &ons_op_sub, product, one(b, &ons_op_stop_gradient, product)));
}

ons_value_id ons_derivative_of_cross_entropy(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id t = ons_match_value(match, "t"), p = ons_match_value(match, "p");
    ons_type types[2] = {ons_builder_type(b, t), ons_builder_type(b, p)};
    if (!ons_type_equal(&types[0], &types[1])) return ONS_NONE;
    ons_value_id minus_near = one(b, &ons_op_neg, ons_match_value(match, "near"));
    ons_value_id loss = one(b, &ons_op_stop_gradient, two(b, &ons_op_add, ons_match_value(match, "far"), minus_near));
    ons_value_id spread = two(b, &ons_op_mul, two(b, &ons_op_sub, number(b, p, 1), p), p);
    ons_value_id slope =
        two(b, &ons_op_div, two(b, &ons_op_sub, p, t), two(b, &ons_op_max, spread, number(b, p, 1e-12)));
    loss = add_derivative(b, loss, p, slope);
    if (maker(b->graph, t) == NULL) return loss; /* data */
    return add_derivative(b, loss, t, two(b, &ons_op_sub, ons_match_value(match, "out"), ons_match_value(match, "in")));
}

ons_value_id ons_derivative_of_log_sigmoid(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id opposite = one(b, &ons_op_neg, ons_match_value(match, "x"));
    return one(b, &ons_op_neg, one(b, &ons_op_softplus, opposite));
}

ons_value_id ons_derivative_of_logaddexp(ons_match *match) {
    ons_builder *b = ons_match_builder(match);
    ons_value_id x = ons_match_value(match, "x"), y = ons_match_value(match, "y");
    ons_value_id above = one(b, &ons_op_softplus, two(b, &ons_op_sub, x, y));
    return two(b, &ons_op_add, y, above);
}

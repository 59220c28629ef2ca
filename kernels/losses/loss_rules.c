#include "kernels/loss_rules.h"

#include <string.h>

#include "kernels/losses/model_loss.h"
#include "kernels/operators.h"

static bool has_weights(const ons_node *node) {
    uint32_t weights = node->op->arity.inputs_max - 1;
    return weights < node->input_count && node->inputs[weights] != ONS_NONE;
}

static ons_class_reduction reduce(const ons_graph *graph, const ons_node *node) {
    const char *reduction = node->attributes[ONS_MODEL_LOSS_REDUCTION].s;
    bool counts = node->attributes[ONS_MODEL_LOSS_IGNORE].kind != ONS_ATTRIBUTE_ABSENT || has_weights(node);
    (void)graph;
    if (strcmp(reduction, "none") == 0) return ONS_CLASSES_EACH;
    if (strcmp(reduction, "sum") == 0) return ONS_CLASSES_SUM;
    return counts ? ONS_CLASSES_COUNTED : ONS_CLASSES_MEAN;
}

/* What the labels count, in all: the weights of those that are not ignored. */
static ons_value_id build_count(ons_builder *b, const ons_node *node) {
    ons_value_id labels = node->inputs[ONS_MODEL_LOSS_LABELS], count = ONS_NONE, ignored = ONS_NONE;
    ons_dtype dtype = ons_builder_type(b, node->inputs[ONS_MODEL_LOSS_SCORES]).dtype;
    ons_dtype integer = ons_builder_type(b, labels).dtype;
    if (node->attributes[ONS_MODEL_LOSS_IGNORE].kind != ONS_ATTRIBUTE_ABSENT) {
        ons_value_id index = ons_build_scalar(b, integer, (double)node->attributes[ONS_MODEL_LOSS_IGNORE].i);
        ignored = ons_build(b, &ons_op_equal, ONS_IN(labels, index), ONS_DEFAULTS);
        count = ons_build(b, &ons_op_not, ONS_IN(ignored), ONS_DEFAULTS);
        count = ons_build(b, &ons_op_cast, ONS_IN(count), ONS_WITH(ONS_AT_INT(0, dtype)));
        labels = ons_build(b, &ons_op_where, ONS_IN(ignored, ons_build_scalar(b, integer, 0), labels), ONS_DEFAULTS);
    }
    if (has_weights(node)) {
        ons_value_id weights = node->inputs[node->op->arity.inputs_max - 1];
        weights = ons_build(b, &ons_op_gather, ONS_IN(weights, labels), ONS_DEFAULTS);
        count = count == ONS_NONE ? weights : ons_build(b, &ons_op_mul, ONS_IN(weights, count), ONS_DEFAULTS);
    }
    return ons_build(b, &ons_op_reduce_sum, ONS_IN(count), ONS_WITH(ONS_AT_INT(0, 0)));
}

static ons_value_id open(ons_builder *b, const ons_node *node) {
    uint32_t declared = ons_operator_attributes(node->op);
    ons_attribute *attributes = ons_arena_allocate(b->graph->arena, declared + 1, sizeof *attributes);
    ons_value_id sum = ONS_NONE;
    if (attributes == NULL) {
        ons_builder_fail(b, ons_status_out_of_memory());
        return ONS_NONE;
    }
    memcpy(attributes, node->attributes, declared * sizeof *attributes);
    attributes[ONS_MODEL_LOSS_REDUCTION].s = "sum";
    ons_build_node_like(b, node->op, (ons_inputs){node->inputs, node->input_count}, attributes, 1, NULL, &sum);
    return ons_build(b, &ons_op_div, ONS_IN(sum, build_count(b, node)), ONS_DEFAULTS);
}

const ons_loss_rules *ons_kernels_loss_rules(void) {
    static const ons_loss_rule items[] = {
        {&ons_op_sub, ONS_LOSS_TERMS},
        {&ons_op_mean, ONS_LOSS_TERMS},
        {&ons_op_neg, ONS_LOSS_LINEAR},
        {&ons_op_gather, ONS_LOSS_LINEAR},
        {&ons_op_gather_elements, ONS_LOSS_LINEAR},
        {&ons_op_gather_nd, ONS_LOSS_LINEAR},
        {&ons_op_mul, ONS_LOSS_PRODUCT},
        {&ons_op_div, ONS_LOSS_QUOTIENT},
        {&ons_op_matmul, ONS_LOSS_CONTRACTION},
        {&ons_op_reduce_sum, ONS_LOSS_SUM_OVER},
        {&ons_op_reduce_mean, ONS_LOSS_MEAN_OVER},
        {&ons_op_reduce_l1, ONS_LOSS_SUM_OF_EACH},
        {&ons_op_reduce_sum_square, ONS_LOSS_SUM_OF_EACH},
        {&ons_op_slice, ONS_LOSS_SLICE},
        {&ons_op_cum_sum, ONS_LOSS_ALONG_INPUT},
        {&ons_op_cum_prod, ONS_LOSS_ALONG_INPUT},
        {&ons_op_conv, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_conv_transpose, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_deform_conv, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_average_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_max_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_lp_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_global_average_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_global_max_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_global_lp_pool, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_batch_normalization_training, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_instance_normalization, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_group_normalization, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_lrn, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_grid_sample, ONS_LOSS_SAMPLES_FIRST},
        {&ons_op_softmax_cross_entropy_loss, ONS_LOSS_OF_CLASSES},
        {&ons_op_negative_log_likelihood_loss, ONS_LOSS_OF_CLASSES},
    };
    static const ons_loss_rules rules = {items, sizeof items / sizeof *items, reduce, open};
    return &rules;
}

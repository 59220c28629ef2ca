#include "kernels/common/operator/kernel.h"

#include <stdarg.h>
#include <stdio.h>

ons_status *ons_node_error(const ons_operands *o, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ons_status_new(ONS_INVALID_MODEL, "node '%s' (%s): %s", o->name, o->op->name, text);
}

ons_status *ons_infer_like_first(ons_operands *o) {
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = o->inputs[0];
    return NULL;
}

ons_status *ons_infer_broadcast(ons_operands *o) {
    ons_type result = o->inputs[0];
    for (uint32_t i = 1; i < o->input_count; ++i) {
        const ons_type *next = &o->inputs[i];
        char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
        if (next->dtype != result.dtype)
            return ons_node_error(o, "operands have different element types, %s and %s", ons_type_print(&result, left),
                                  ons_type_print(next, right));
        ons_shape joined;
        if (!ons_shape_broadcast(&result.shape, &next->shape, &joined))
            return ons_node_error(o, "shapes do not broadcast: %s and %s", ons_type_print(&result, left),
                                  ons_type_print(next, right));
        result.shape = joined;
    }
    o->outputs[0] = result;
    return NULL;
}

ons_status *ons_infer_broadcast_compare(ons_operands *o) {
    ONS_TRY(ons_infer_broadcast(o));
    o->outputs[0].dtype = ONS_BOOL;
    return NULL;
}

double ons_operand_bytes(const ons_operands *o) {
    double bytes = 0;
    for (uint32_t i = 0; i < o->input_count; ++i)
        bytes += o->inputs[i].dtype == ONS_NO_DTYPE ? 0 : (double)ons_type_dense_bytes(&o->inputs[i]);
    for (uint32_t i = 0; i < o->output_count; ++i)
        bytes += o->outputs[i].dtype == ONS_NO_DTYPE ? 0 : (double)ons_type_dense_bytes(&o->outputs[i]);
    return bytes;
}

ons_cost ons_cost_free(const ons_operands *o) { return (ons_cost){0, 0}; }

ons_cost ons_cost_copy(const ons_operands *o) {
    double bytes = 0;
    for (uint32_t i = 0; i < o->output_count; ++i)
        bytes += o->outputs[i].dtype == ONS_NO_DTYPE ? 0 : 2 * (double)ons_type_dense_bytes(&o->outputs[i]);
    return (ons_cost){0, bytes};
}

ons_cost ons_cost_elementwise(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

ons_cost ons_cost_each_input(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

void ons_take_float_attributes(const ons_operands *o, float *parameters, uint32_t count) {
    for (uint32_t i = 0, taken = 0; taken < count && o->op->attributes[i].name != NULL; ++i)
        if (o->op->attributes[i].kind == ONS_ATTRIBUTE_FLOAT) parameters[taken++] = (float)ons_attribute_float(o, i);
}

ons_status *ons_node_axis(const ons_operands *o, int64_t axis, uint32_t rank, uint32_t *resolved) {
    if (!ons_axis_resolve(axis, rank, resolved))
        return ons_node_error(o, "axis %lld lies outside a tensor of rank %u", (long long)axis, rank);
    return NULL;
}

ons_status *ons_node_shard(const ons_operands *o, int64_t first, int64_t length, int64_t whole) {
    if (first < 0 || length > whole || first > whole - length)
        return ons_node_error(o, "a shard of %lld entries from %lld on is none of %lld", (long long)length,
                              (long long)first, (long long)whole);
    return NULL;
}

ons_status *ons_require_float32(const ons_operands *o) { return ons_require_float32_of(o, &o->inputs[0]); }

ons_status *ons_require_float32_of(const ons_operands *o, const ons_type *operand) {
    if (operand->dtype == ONS_FLOAT32) return NULL;
    return ons_node_error(o, "no CPU kernel for %s; convert the model to float32", ons_dtype_name(operand->dtype));
}

ons_status *ons_require_scratch(const ons_prepare *p, int64_t bytes) {
    if (bytes <= p->scratch_limit) return NULL;
    return ons_node_error(p->operands, "needs %lld bytes of scratch, more than the %lld that the plan grants",
                          (long long)bytes, (long long)p->scratch_limit);
}

ons_type ons_loss_type(const ons_type *prediction) {
    return ons_type_make(prediction->dtype == ONS_FLOAT64 ? ONS_FLOAT64 : ONS_FLOAT32, (ons_shape){0});
}

ons_status *ons_refuse_cotangents(const ons_gradient *g, uint32_t first) {
    const ons_operands *o = g->operands;
    for (uint32_t i = first; i < ons_graph_node(g->builder->graph, g->node)->output_count; ++i)
        ONS_CHECK(g->cotangents[i] == ONS_NONE, ONS_UNSUPPORTED,
                  "node '%s' (%s): no gradient through output %u; compute it by nodes of its own", o->name, o->op->name,
                  i);
    return NULL;
}

int ons_team_size(const ons_prepare *p) {
    /* One core of today, at what it reaches in short work; threads meet, and part, in some microseconds. */
    const double flops_per_nanosecond = 48, bytes_per_nanosecond = 16, worth_meeting = 16000;
    ons_cost cost = p->operands->op->cost(p->operands);
    double nanoseconds = cost.flops / flops_per_nanosecond + cost.bytes / bytes_per_nanosecond;
    return nanoseconds < worth_meeting ? 1 : p->threads;
}

ons_status *ons_prepare_nothing(ons_prepare *p) { return NULL; }

#include "kernels/common/layout/upwards.h"

#include <string.h>

#include "graph/evaluate.h"

const ons_node *ons_made_by(const ons_graph *graph, ons_value_id value, const char *op) {
    if (value == ONS_NONE) return NULL;
    ons_node_id id = ons_graph_value(graph, value)->producer;
    if (id == ONS_NONE || strcmp(ons_graph_node(graph, id)->op->name, op) != 0) return NULL;
    return ons_graph_node(graph, id);
}

bool ons_same_type(const ons_graph *graph, ons_value_id a, ons_value_id b) {
    return ons_type_equal(&ons_graph_value(graph, a)->type, &ons_graph_value(graph, b)->type);
}

const ons_tensor *ons_known(const ons_graph *graph, ons_value_id value) {
    const ons_tensor *tensor = value == ONS_NONE ? NULL : ons_graph_constant(graph, value);
    return tensor == NULL || tensor->data == NULL ? NULL : tensor;
}

double ons_element_of(const ons_tensor *tensor, int64_t index) {
    switch (tensor->type.dtype) {
    case ONS_FLOAT32: return ((const float *)tensor->data)[index];
    case ONS_FLOAT64: return ((const double *)tensor->data)[index];
    case ONS_INT64: return (double)((const int64_t *)tensor->data)[index];
    case ONS_INT32: return ((const int32_t *)tensor->data)[index];
    case ONS_BOOL: return ((const uint8_t *)tensor->data)[index] != 0;
    default: break;
    }
    double word;
    int64_t integer;
    ons_widen(tensor->type.dtype, (const char *)tensor->data + index * (int64_t)ons_dtype_size(tensor->type.dtype), 1,
              &word);
    if (ons_dtype_is_float(tensor->type.dtype)) return word;
    memcpy(&integer, &word, sizeof integer);
    return (double)integer;
}

bool ons_is_number(const ons_graph *graph, ons_value_id value, double *number) {
    const ons_tensor *tensor = ons_known(graph, value);
    int64_t count = tensor == NULL ? 0 : ons_shape_elements(&tensor->type.shape);
    if (count == 0) return false;
    double first = ons_element_of(tensor, 0);
    for (int64_t i = 1; i < count; ++i)
        if (ons_element_of(tensor, i) != first) return false;
    *number = first;
    return true;
}

bool ons_step_over_scale(const ons_graph *graph, ons_value_id *value, double *scale) {
    const ons_node *product = ons_made_by(graph, *value, "Mul"), *quotient = ons_made_by(graph, *value, "Div");
    double number;
    for (int i = 0; product != NULL && i < 2; ++i)
        if (ons_is_number(graph, product->inputs[i], &number) && ons_same_type(graph, product->inputs[1 - i], *value)) {
            *scale *= number;
            *value = product->inputs[1 - i];
            return true;
        }
    if (quotient == NULL || !ons_is_number(graph, quotient->inputs[1], &number) ||
        !ons_same_type(graph, quotient->inputs[0], *value))
        return false;
    *scale /= number;
    *value = quotient->inputs[0];
    return true;
}

#include "graph/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "graph/small_types.h"

/* A line for each dtype whose elements are words of their own: an element in memory, its word, the word of `element`
 * and the element of it. */
#define EACH_DTYPE(CASE)                                                                                               \
    CASE(ONS_FLOAT32, float, double, element, (float)element)                                                          \
    CASE(ONS_FLOAT64, double, double, element, element)                                                                \
    CASE(ONS_FLOAT16, uint16_t, double, ons_half_to_float(element), ons_float_to_half((float)element))                 \
    CASE(ONS_BFLOAT16, uint16_t, double, ons_bfloat16_to_float(element), ons_float_to_bfloat16((float)element))        \
    CASE(ONS_UINT8, uint8_t, int64_t, element, (uint8_t)element)                                                       \
    CASE(ONS_INT8, int8_t, int64_t, element, (int8_t)element)                                                          \
    CASE(ONS_UINT16, uint16_t, int64_t, element, (uint16_t)element)                                                    \
    CASE(ONS_INT16, int16_t, int64_t, element, (int16_t)element)                                                       \
    CASE(ONS_INT32, int32_t, int64_t, element, (int32_t)element)                                                       \
    CASE(ONS_INT64, int64_t, int64_t, element, element)                                                                \
    CASE(ONS_UINT32, uint32_t, int64_t, element, (uint32_t)element)                                                    \
    CASE(ONS_UINT64, uint64_t, int64_t, (int64_t)element, (uint64_t)element)                                           \
    CASE(ONS_BOOL, uint8_t, int64_t, element != 0, element != 0)

/* An element to its word, and back: element `i` of both. */
typedef void copy_element(const void *from, void *to, int64_t i);

#define DEFINE_ELEMENT(DTYPE, TYPE, WORD, WIDE, NARROW)                                                                \
    static inline void widen_##DTYPE(const void *data, void *words, int64_t i) {                                       \
        TYPE element; /* tensors of a mapped file lie anywhere */                                                      \
        memcpy(&element, (const char *)data + (size_t)i * sizeof element, sizeof element);                             \
        ((WORD *)words)[i] = (WIDE);                                                                                   \
    }                                                                                                                  \
    static inline void narrow_##DTYPE(const void *words, void *data, int64_t i) {                                      \
        WORD element = ((const WORD *)words)[i];                                                                       \
        ((TYPE *)data)[i] = (NARROW);                                                                                  \
    }
EACH_DTYPE(DEFINE_ELEMENT)

/* Compiled for each dtype. */
__attribute__((always_inline)) static inline void copy_elements(const void *from, void *to, int64_t count,
                                                                copy_element *copy) {
    for (int64_t i = 0; i < count; ++i) copy(from, to, i);
}

#define WIDEN_CASE(DTYPE, TYPE, WORD, WIDE, NARROW)                                                                    \
    case DTYPE:                                                                                                        \
        copy_elements(data, words, count, widen_##DTYPE);                                                              \
        break;
#define NARROW_CASE(DTYPE, TYPE, WORD, WIDE, NARROW)                                                                   \
    case DTYPE: copy_elements(words, data, count, narrow_##DTYPE); break;

static void widen_small(ons_dtype dtype, const uint8_t *data, int64_t count, void *words) {
    bool is_signed = dtype == ONS_INT4 || dtype == ONS_INT2;
    for (int64_t i = 0; i < count; ++i) {
        if (ons_is_small_float(dtype))
            ((double *)words)[i] = ons_small_float_decode(dtype, data[i]);
        else
            ((int64_t *)words)[i] = is_signed ? (int8_t)data[i] : data[i];
    }
}

static void narrow_small(ons_dtype dtype, const void *words, int64_t count, uint8_t *data) {
    for (int64_t i = 0; i < count; ++i)
        data[i] = ons_is_small_float(dtype) ? ons_small_float_encode(dtype, ((const double *)words)[i])
                                            : (uint8_t)ons_small_integer_wrap(dtype, ((const int64_t *)words)[i]);
}

void ons_widen(ons_dtype dtype, const void *data, int64_t count, void *words) {
    if (ons_is_small_float(dtype) || ons_is_small_integer(dtype)) {
        widen_small(dtype, data, count, words);
        return;
    }
    switch (dtype) {
        EACH_DTYPE(WIDEN_CASE)
    case ONS_NO_DTYPE:
    case ONS_STRING: break;
    }
}

void ons_narrow(ons_dtype dtype, const void *words, int64_t count, void *data) {
    if (ons_is_small_float(dtype) || ons_is_small_integer(dtype)) {
        narrow_small(dtype, words, count, data);
        return;
    }
    switch (dtype) {
        EACH_DTYPE(NARROW_CASE)
    case ONS_NO_DTYPE:
    case ONS_STRING: break;
    }
}

bool ons_can_fold(const ons_operands *o) {
    if (o->op->reference == NULL) return false;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && o->constants[i].data == NULL) return false;
    return true;
}

/* What helps where a target is no class. */
static const char *class_remedy(long long value, long long classes) {
    if (value < 0 || value == UINT8_MAX || value == UINT16_MAX) return "--ignore-index leaves such a target out";
    return value == classes ? "classes count from 0; --new-head OUTPUT=N gives the model others"
                            : "--new-head OUTPUT=N gives the model others";
}

const char *ons_fault_print(const ons_fault *fault, char text[ONS_FAULT_TEXT]) {
    long long index = fault->index, value = fault->value, classes = fault->classes;
    int length = snprintf(text, ONS_FAULT_TEXT, "%s (element %lld is %lld", fault->problem, index, value);
    if (length < 0 || length >= ONS_FAULT_TEXT) return text;
    if (classes > 0)
        snprintf(text + length, ONS_FAULT_TEXT - (size_t)length, ", the %lld classes are 0 to %lld); %s", classes,
                 classes - 1, class_remedy(value, classes));
    else
        snprintf(text + length, ONS_FAULT_TEXT - (size_t)length, ")");
    return text;
}

ons_status *ons_fault_status(const char *node, const ons_fault *fault) {
    if (fault->problem == NULL) return NULL;
    char text[ONS_FAULT_TEXT];
    return ons_status_new(ONS_INVALID_DATA, "node '%s': %s", node, ons_fault_print(fault, text));
}

static ons_status *allocate_words(const ons_type *type, void **words) {
    *words = calloc((size_t)ons_shape_elements(&type->shape) + 1, 8);
    return *words == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *load_values(const ons_graph *graph, void **words) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (words[id] != NULL) continue;
        ONS_TRY(allocate_words(&value->type, &words[id]));
        const ons_tensor *tensor = ons_store_get(graph->store, value->data);
        if (tensor != NULL && tensor->data != NULL)
            ons_widen(tensor->type.dtype, tensor->data, ons_shape_elements(&value->type.shape), words[id]);
    }
    return NULL;
}

static ons_status *run_node(const ons_graph *graph, ons_node_id id, const ons_step *step, ons_arena *arena,
                            void **words) {
    const ons_node *node = ons_graph_node(graph, id);
    ONS_CHECK(node->op->reference != NULL, ONS_DEFECT, "node '%s': operator %s has no reference", node->name,
              node->op->name);
    ons_operands operands;
    ONS_TRY(ons_operands_of(graph, id, arena, &operands));
    const void **inputs;
    void **outputs;
    ONS_NEW(inputs, arena, operands.input_count + 1);
    ONS_NEW(outputs, arena, operands.output_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i)
        inputs[i] = node->inputs[i] == ONS_NONE ? NULL : words[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; ++i)
        outputs[i] = node->outputs[i] == ONS_NONE ? NULL : words[node->outputs[i]];
    /* References may write every output: give those that nobody reads a place of their own. */
    ons_operands all = operands;
    ONS_NEW(all.outputs, arena, operands.output_count + 1);
    ONS_TRY(ons_operands_infer(&all));
    for (uint32_t i = 0; i < all.output_count; ++i) {
        if (outputs[i] != NULL || all.outputs[i].dtype == ONS_NO_DTYPE) continue;
        uint64_t *unread;
        ONS_NEW(unread, arena, (size_t)ons_shape_elements(&all.outputs[i].shape) + 1);
        outputs[i] = unread;
    }
    ons_step own_step = *step;
    own_step.node_key = ons_graph_node_key(graph, id);
    ons_fault fault = {0};
    own_step.fault = &fault;
    node->op->reference(&all, &own_step, inputs, outputs);
    return ons_fault_status(node->name, &fault);
}

ons_status *ons_evaluate(const ons_graph *graph, const ons_step *step, void **words) {
    ONS_TRY(load_values(graph, words));
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = run_node(graph, id, step, arena, words);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

/* Unique: the different elements, or the different slices along an axis, sorted or in the order of their first places;
 * with those places, which of them each element is, and how often each comes. How many there are decides the shape, so
 * the contents must be known when shapes are bound. NaNs are equal to each other and come last. */
#include <stdlib.h>

#include "graph/evaluate.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

enum { AXIS, SORTED };

enum { VALUES, FIRSTS, INVERSE, COUNTS };

/* outer × length × inner words; a slice is one position along the length. */
typedef struct slices {
    const void *words;
    ons_dtype dtype;
    int64_t outer, length, inner;
    int64_t *order;  /* slices sorted by contents, then by place */
    int64_t *groups; /* of each slice: the number of its value, as they are given out */
    int64_t *firsts; /* of each value: its first place */
    int64_t count;   /* of values */
} slices;

static ons_status *find_slices(const ons_operands *o, slices *s) {
    const ons_shape *shape = &o->inputs[0].shape;
    *s = (slices){.dtype = o->inputs[0].dtype, .outer = 1, .length = ons_shape_elements(shape), .inner = 1};
    if (!ons_has_attribute(o, AXIS)) return NULL;
    uint32_t axis;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape->rank, &axis));
    s->outer = ons_shape_span(shape, 0, axis);
    s->length = shape->dims[axis];
    s->inner = ons_shape_span(shape, axis + 1, shape->rank);
    return NULL;
}

static int compare_words(const slices *s, int64_t a, int64_t b) {
    if (ons_dtype_is_float(s->dtype)) {
        double x = ((const double *)s->words)[a], y = ((const double *)s->words)[b];
        if (x != x || y != y) return (x != x) - (y != y);
        return (x > y) - (x < y);
    }
    int64_t x = ((const int64_t *)s->words)[a], y = ((const int64_t *)s->words)[b];
    if (s->dtype == ONS_UINT64) return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    return (x > y) - (x < y);
}

static int compare_slices(const slices *s, int64_t a, int64_t b) {
    int difference = 0;
    for (int64_t outer = 0; difference == 0 && outer < s->outer; ++outer)
        for (int64_t k = 0; difference == 0 && k < s->inner; ++k)
            difference =
                compare_words(s, (outer * s->length + a) * s->inner + k, (outer * s->length + b) * s->inner + k);
    return difference;
}

static int compare_places(const void *a, const void *b, void *of) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    int difference = compare_slices(of, x, y);
    return difference != 0 ? difference : (x > y) - (x < y);
}

/* Values come out in the order in which they are numbered: of contents, or of first places. */
static void number_values(slices *s, bool sorted) {
    s->count = 0;
    for (int64_t i = 0; i < s->length; ++i) {
        bool first = i == 0 || compare_slices(s, s->order[i - 1], s->order[i]) != 0;
        if (first) s->firsts[s->count++] = s->order[i];
        s->groups[s->order[i]] = s->count - 1;
    }
    if (sorted) return;
    /* renumber: `order` is free now and takes the new number of each old one */
    for (int64_t i = 0, next = 0; i < s->length; ++i) {
        int64_t old = s->groups[i];
        bool first = s->firsts[old] == i;
        if (first) s->order[old] = next++;
        s->groups[i] = s->order[old];
    }
    for (int64_t i = 0, next = 0; i < s->length; ++i)
        if (s->groups[i] == next) s->firsts[next++] = i;
}

static bool find_values(const ons_operands *o, const void *words, slices *s) {
    s->words = words;
    s->order = calloc((size_t)s->length * 3 + 1, sizeof *s->order);
    if (s->order == NULL) return false;
    s->groups = s->order + s->length;
    s->firsts = s->groups + s->length;
    for (int64_t i = 0; i < s->length; ++i) s->order[i] = i;
    qsort_r(s->order, (size_t)s->length, sizeof *s->order, compare_places, s);
    number_values(s, ons_attribute_int(o, SORTED) != 0);
    return true;
}

static ons_status *unique_infer(ons_operands *o) {
    const ons_tensor *known = &o->constants[0];
    slices s;
    ONS_TRY(find_slices(o, &s));
    if (known->data == NULL)
        return ons_node_error(o, "its result's shape depends on data; export the model with static shapes");
    int64_t elements = ons_elements(&known->type);
    uint64_t *words = calloc((size_t)elements + 1, sizeof *words);
    bool found = words != NULL;
    if (found) ons_widen(known->type.dtype, known->data, elements, words);
    found = found && find_values(o, words, &s);
    free(words);
    free(s.order);
    if (!found) return ons_status_out_of_memory();
    ons_shape values = {1, {s.count}}, each = {1, {s.length}};
    ons_shape shape = values;
    if (ons_has_attribute(o, AXIS)) {
        uint32_t axis = 0;
        ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[0].shape.rank, &axis);
        shape = o->inputs[0].shape;
        shape.dims[axis] = s.count;
    }
    o->outputs[VALUES] = ons_type_make(o->inputs[0].dtype, shape);
    for (uint32_t i = FIRSTS; i < o->output_count; ++i)
        o->outputs[i] = ons_type_make(ONS_INT64, i == INVERSE ? each : values);
    return NULL;
}

static void unique_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    slices s;
    ons_resolved(find_slices(o, &s));
    if (!find_values(o, inputs[0], &s)) return;
    for (int64_t outer = 0; outer < s.outer; ++outer)
        for (int64_t i = 0; i < s.count; ++i)
            for (int64_t k = 0; k < s.inner; ++k)
                ons_copy_word(outputs[VALUES], (outer * s.count + i) * s.inner + k, inputs[0],
                              (outer * s.length + s.firsts[i]) * s.inner + k);
    for (int64_t i = 0; ons_has_output(o, FIRSTS) && i < s.count; ++i) ((int64_t *)outputs[FIRSTS])[i] = s.firsts[i];
    for (int64_t i = 0; ons_has_output(o, INVERSE) && i < s.length; ++i) ((int64_t *)outputs[INVERSE])[i] = s.groups[i];
    if (ons_has_output(o, COUNTS)) {
        int64_t *counts = outputs[COUNTS];
        for (int64_t i = 0; i < s.count; ++i) counts[i] = 0;
        for (int64_t i = 0; i < s.length; ++i) ++counts[s.groups[i]];
    }
    free(s.order);
}

ONS_DEFINE_OPERATOR(unique, "Unique", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(1, 1, 1, 4),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT), ONS_INT_ATTRIBUTE("sorted", 1)),
                    ONS_INFER(unique_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("how many elements differ, and with it the shape, jumps with the data"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(unique_reference));

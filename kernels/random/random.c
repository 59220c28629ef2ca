#include "kernels/random/random.h"

#include <math.h>

static uint32_t word_at(const ons_random_key *key, int64_t element) {
    ons_philox draw = ons_philox_draw(key->key, key->counter_high, (uint64_t)element / ONS_RANDOM_DRAW);
    return draw.words[element % ONS_RANDOM_DRAW];
}

double ons_random_unit_at(const ons_random_key *key, int64_t element) {
    return (double)ons_random_unit(word_at(key, element));
}

static int64_t find_number(const ons_operands *o, const char *attribute) {
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i)
        if (strcmp(o->op->attributes[i].name, attribute) == 0) return ons_has_attribute(o, i) ? o->attributes[i].i : 0;
    return 0;
}

int64_t ons_random_first_element(const ons_operands *o) { return find_number(o, ONS_FIRST_ELEMENT); }

int64_t ons_random_unit_elements(const ons_operands *o) { return find_number(o, ONS_UNIT_ELEMENTS); }

ons_status *ons_random_check_numbers(const ons_operands *o) {
    int64_t first = ons_random_first_element(o), unit = ons_random_unit_elements(o);
    if (first < 0 || first > ONS_RANDOM_ELEMENTS_MAX)
        return ons_node_error(o, "%s is %lld", ONS_FIRST_ELEMENT, (long long)first);
    if (unit < 0 || unit > ONS_RANDOM_ELEMENTS_MAX)
        return ons_node_error(o, "%s is %lld", ONS_UNIT_ELEMENTS, (long long)unit);
    return NULL;
}

static ons_status *set_output(ons_operands *o, ons_dtype otherwise, ons_shape shape) {
    ons_dtype dtype =
        ons_has_attribute(o, ONS_RANDOM_DTYPE) ? (ons_dtype)ons_attribute_int(o, ONS_RANDOM_DTYPE) : otherwise;
    if (!ons_dtype_is_float(dtype))
        return ons_node_error(o, "numbers of element type %lld cannot be drawn; a float type is needed",
                              (long long)dtype);
    o->outputs[0] = ons_type_make(dtype, shape);
    return NULL;
}

ons_status *ons_random_infer(ons_operands *o) {
    const ons_attribute *dims = &o->attributes[ONS_RANDOM_SHAPE];
    if (dims->count > ONS_RANK_MAX) return ons_node_error(o, "a shape of rank %u", dims->count);
    for (uint32_t i = 0; i < dims->count; ++i)
        if (dims->ints[i] < 0) return ons_node_error(o, "dimension %u is %lld", i, (long long)dims->ints[i]);
    return set_output(o, ONS_FLOAT32, ons_shape_make(dims->count, dims->ints));
}

ons_status *ons_random_like_infer(ons_operands *o) {
    ONS_TRY(ons_random_check_numbers(o));
    return set_output(o, o->inputs[0].dtype, o->inputs[0].shape);
}

/* About so many operations make a number. */
ons_cost ons_random_cost(const ons_operands *o) {
    return (ons_cost){20 * (double)ons_elements(&o->outputs[0]), (double)ons_type_dense_bytes(&o->outputs[0])};
}

void ons_random_uniform_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    double low = ons_attribute_float(o, ONS_RANDOM_FIRST), high = ons_attribute_float(o, ONS_RANDOM_SECOND);
    int64_t first = ons_random_first_element(o);
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(step, ons_elements(&o->outputs[0]), ons_random_unit_elements(o), &unit)) {
        ons_random_key key = ons_random_key_of(&unit.step, step->node_key, &o->attributes[ONS_RANDOM_SEED]);
        for (int64_t i = 0; i < unit.count; ++i)
            ((double *)outputs[0])[unit.begin + i] = low + (high - low) * ons_random_unit_at(&key, first + i);
    }
}

/* Box and Muller: two uniform numbers make two normal ones. */
static double normal_at(const ons_random_key *key, int64_t element) {
    double radius = sqrt(-2 * log(ons_random_unit_at(key, element & ~INT64_C(1)) + 0x1p-24));
    double angle = 2 * M_PI * ons_random_unit_at(key, element | 1);
    return radius * ((element & 1) == 0 ? cos(angle) : sin(angle));
}

void ons_random_normal_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    double mean = ons_attribute_float(o, ONS_RANDOM_FIRST), scale = ons_attribute_float(o, ONS_RANDOM_SECOND);
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(step, ons_elements(&o->outputs[0]), ons_random_unit_elements(o), &unit)) {
        ons_random_key key = ons_random_key_of(&unit.step, step->node_key, &o->attributes[ONS_RANDOM_SEED]);
        for (int64_t i = 0; i < unit.count; ++i)
            ((double *)outputs[0])[unit.begin + i] = mean + scale * normal_at(&key, ons_random_first_element(o) + i);
    }
}

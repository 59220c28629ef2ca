#include <math.h>

#include "graph/evaluate.h"
#include "tests/rooms/kernels/harness.h"

static double largest(ons_dtype dtype) { return dtype == ONS_FLOAT16 ? 65504 : 0x1.fep127; }

/* Half the distance from 1 to the next number. */
static double roundoff(ons_dtype dtype) { return dtype == ONS_FLOAT16 ? 0x1p-11 : 0x1p-8; }

/* An input that stays float32 whatever the others are: graph/passes/precision.h. */
static bool stays(const ons_operator *op, uint32_t input) {
    return ((op->roles.statistics | op->roles.full) >> input & 1) != 0;
}

/* Bounds and masks: what the type cannot hold becomes its largest number, as where a graph's precision is lowered. */
static void limit_constant(ons_case_input *input, ons_dtype dtype) {
    for (uint32_t i = 0; i < input->value_count; ++i)
        if (isfinite(input->values[i]) && fabs(input->values[i]) > largest(dtype))
            input->values[i] = copysign(largest(dtype), input->values[i]);
}

/* Which of a case's float32 operands change their type. */
typedef enum change {
    ALL,
    BUT_CONSTANTS, /* scales of a Resize, say */
} change;

/* False: none does. */
static bool change_types(const ons_operator *op, ons_dtype dtype, change which, ons_case *example) {
    bool any = false;
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i) {
        ons_case_input *input = &example->inputs[i];
        if (input->dtype != ONS_FLOAT32 || stays(op, i) || (which == BUT_CONSTANTS && input->constant)) continue;
        input->dtype = dtype;
        if (input->constant) limit_constant(input, dtype);
        any = true;
    }
    return any;
}

/* The tolerance of the case, or the type's own where that is more: one roundoff for each operand of the type, two at
 * least, and one for each result on the way that the case counts. The result is rounded, and one of several operands (a
 * product with its bias, a sum of many, attention) is made in steps that may each be rounded to the type, when they may
 * be larger than the result. Sums over elements are made in float32, whatever the type: how many elements there are
 * does not enter here. What is exact in float32, moves and the like, is exact in all types. */
static double half_tolerance(const ons_case *typed, ons_dtype dtype) {
    int roundings = typed->roundings;
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i) roundings += typed->inputs[i].dtype == dtype;
    return typed->tolerance == 0 ? 0 : fmax(typed->tolerance, fmax(2, roundings) * roundoff(dtype));
}

/* Whether the operator takes its operands in the type; `fixture` is the case then. */
static ons_status *lower(ons_fixture *fixture, const ons_registry *registry, const ons_operator *op,
                         const ons_case *example, ons_dtype dtype, uint64_t seed, ons_case *typed) {
    ons_status *why_not = NULL;
    for (change which = ALL; which <= BUT_CONSTANTS; ++which) {
        *typed = *example;
        if (!change_types(op, dtype, which, typed)) break;
        typed->tolerance = half_tolerance(typed, dtype);
        ons_status_free(why_not);
        why_not = ons_fixture_init(fixture, registry, op, typed, seed);
        if (why_not == NULL) return NULL;
        ons_fixture_free(fixture);
    }
    return why_not;
}

/* Whether the case has operands that would change, and no other floats: those are not what training computes in. */
static bool is_meant(const ons_operator *op, const ons_case *example) {
    ons_case copy = *example;
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i)
        if (ons_dtype_is_float(example->inputs[i].dtype) && example->inputs[i].dtype != ONS_FLOAT32) return false;
    return change_types(op, ONS_BFLOAT16, ALL, &copy);
}

/* Whether finite numbers of an operand are none in its type. */
static bool input_overflows(const ons_fixture *f, uint32_t input) {
    const ons_case_input *given = &f->example->inputs[input];
    if (given->dtype != ONS_FLOAT16 && given->dtype != ONS_BFLOAT16) return false;
    for (uint32_t i = 0; i < given->value_count; ++i)
        if (!isfinite(given->values[i])) return false; /* the case is about those */
    for (int64_t i = 0; i < ons_shape_elements(&given->shape); ++i)
        if (!isfinite(((const double *)f->input_words[input])[i])) return true;
    return false;
}

/* Whether finite results of the reference are none in their type. */
static bool output_overflows(const ons_fixture *f, uint32_t output) {
    const ons_type *type = &f->operands.outputs[output];
    if (type->dtype != ONS_FLOAT16 && type->dtype != ONS_BFLOAT16) return false;
    const double *words = f->reference_words[output];
    for (int64_t i = 0; i < ons_shape_elements(&type->shape); ++i)
        if (isfinite(words[i]) && fabs(words[i]) > largest(type->dtype)) return true;
    return false;
}

static bool overflows(const ons_fixture *f) {
    bool any = false;
    for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i) any |= input_overflows(f, i);
    for (uint32_t i = 0; i < f->operands.output_count; ++i) any |= output_overflows(f, i);
    return any;
}

static ons_status *check(ons_fixture *fixture, const ons_target *target, ons_half *outcome) {
    ONS_TRY(ons_fixture_reference(fixture));
    if (overflows(fixture)) {
        *outcome = ONS_HALF_OVERFLOWS;
        return NULL;
    }
    *outcome = ONS_HALF_CHECKED;
    return ons_check_fixture(fixture, target, 1);
}

ons_status *ons_check_half(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                           const ons_target *target, ons_dtype dtype, uint64_t seed, ons_half *outcome) {
    *outcome = ONS_HALF_NOT_MEANT;
    if (ons_roles_precision(&op->roles) == ONS_PRECISION_FULL || !is_meant(op, example) || example->error != NULL ||
        ons_is_view(op) || !ons_target_runs(target, op) || op->reference == NULL)
        return NULL;
    ons_fixture fixture;
    ons_case typed;
    ons_status *status = lower(&fixture, registry, op, example, dtype, seed, &typed);
    if (status != NULL) { /* as the pass does, which leaves the node in float32 then */
        bool is_reason = ons_status_get_code(status) != ONS_DEFECT;
        *outcome = ONS_HALF_REFUSED;
        if (is_reason) ons_status_free(status);
        return is_reason ? NULL : ons_status_at(status, "%s in %s", example->name, ons_dtype_name(dtype));
    }
    ons_target strict = *target;
    strict.may_refuse = false; /* a graph of this precision has the node so */
    status = check(&fixture, &strict, outcome);
    ons_fixture_free(&fixture);
    return status == NULL
               ? NULL
               : ons_status_at(status, "%s in %s, %s kernel", example->name, ons_dtype_name(dtype), target->name);
}

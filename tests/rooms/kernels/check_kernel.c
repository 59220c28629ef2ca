#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "tests/rooms/kernels/harness.h"

/* One kernel on one case: the operands in the layouts that the kernel sees, and plain bytes converted to them. */
typedef struct trial {
    const ons_fixture *fixture;
    const ons_target *target;
    int threads;
    ons_arena *arena;
    ons_operands operands;
    void **input_bytes;  /* in the layout of operands.inputs */
    void **output_bytes; /* of the first run */
    ons_buffer *inputs, *outputs;
    ons_buffer scratch;
    const void **input_pointers;
    void **output_pointers;
    ons_prepare prepare;
    ons_run_function *run;
    bool again; /* the target's other way of launching, where it has one */
} trial;

static ons_status *compare_element(const ons_type *type, int64_t index, double got, double wanted, double tolerance) {
    char text[ONS_TYPE_TEXT];
    if (isnan(got) && isnan(wanted)) return NULL;
    double rounded = wanted; /* what an exact kernel gives */
    unsigned char narrow[8];
    ons_narrow(type->dtype, &wanted, 1, narrow);
    ons_widen(type->dtype, narrow, 1, &rounded);
    /* False for every comparison with NaN. An infinite reference would allow any difference. */
    if (got == rounded || (isfinite(wanted) && fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted)))) return NULL;
    return ons_status_new(ONS_DEFECT, "element %lld of %s is %.9g, the reference says %.9g (tolerance %g)",
                          (long long)index, ons_type_print(type, text), got, wanted, tolerance);
}

ons_status *ons_compare(const ons_type *type, const void *got, const void *words, double tolerance) {
    char text[ONS_TYPE_TEXT];
    int64_t count = ons_shape_elements(&type->shape);
    uint64_t *wide = calloc((size_t)count + 1, 8);
    if (wide == NULL) return ons_status_out_of_memory();
    ons_widen(type->dtype, got, count, wide);
    ons_status *status = NULL;
    for (int64_t i = 0; i < count && status == NULL; ++i) {
        if (ons_dtype_is_float(type->dtype))
            status = compare_element(type, i, ((double *)wide)[i], ((const double *)words)[i], tolerance);
        else if (((int64_t *)wide)[i] != ((const int64_t *)words)[i])
            status = ons_status_new(ONS_DEFECT, "element %lld of %s is %lld, the reference says %lld", (long long)i,
                                    ons_type_print(type, text), (long long)((int64_t *)wide)[i],
                                    (long long)((const int64_t *)words)[i]);
        else if (type->dtype == ONS_BOOL && ((const unsigned char *)got)[i] > 1)
            status = ons_status_new(ONS_DEFECT, "element %lld of a boolean is neither 0 nor 1", (long long)i);
    }
    free(wide);
    return status;
}

/* From one layout to another by the operator made for it. */
static ons_status *reorder(const trial *t, const ons_type *from, const ons_type *to, const void *data, void *result) {
    if (from->layout == to->layout) {
        memcpy(result, data, ons_bytes_of(t->fixture->registry, to));
        return NULL;
    }
    const ons_operator *op = ons_registry_role(t->fixture->registry, ONS_ROLE_REORDER);
    ONS_CHECK(op != NULL, ONS_DEFECT, "no operator changes the layout");
    ons_attribute attributes[8] = {0};
    for (uint32_t i = 0; i < 8 && op->attributes[i].name != NULL; ++i) attributes[i] = op->attributes[i].default_value;
    attributes[0] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = to->layout};
    ons_type output = *to;
    ons_tensor unknown = {*from, NULL};
    ons_operands operands = {op, "reorder", attributes, from, &unknown, &output, 1, 1};
    return ons_run_once(t->fixture->registry, t->target, &operands, &t->fixture->step, t->threads, &data, &result);
}

static ons_status *new_bytes(const trial *t, const ons_type *type, void **bytes) {
    *bytes = ons_arena_allocate(t->arena, ons_bytes_of(t->fixture->registry, type) + 64, 1);
    return *bytes == NULL ? ons_status_out_of_memory() : NULL;
}

static bool is_state_of(const ons_operator *op, ons_alias_kind kind, uint32_t output, uint32_t *input) {
    for (const ons_alias *alias = op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == kind && alias->output == output) {
            *input = alias->input;
            return true;
        }
    return false;
}

/* Inputs in their layouts, and guarded memory for everything. */
static ons_status *set_up(trial *t) {
    const ons_operands *o = &t->operands;
    const ons_registry *registry = t->fixture->registry;
    ONS_NEW(t->input_bytes, t->arena, o->input_count + 1);
    ONS_NEW(t->output_bytes, t->arena, o->output_count + 1);
    ONS_NEW(t->inputs, t->arena, o->input_count + 1);
    ONS_NEW(t->outputs, t->arena, o->output_count + 1);
    ONS_NEW(t->input_pointers, t->arena, o->input_count + 1);
    ONS_NEW(t->output_pointers, t->arena, o->output_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i)) continue;
        ons_type plain = o->inputs[i];
        plain.layout = ONS_LAYOUT_ONNX;
        void *bytes = NULL;
        ONS_TRY(new_bytes(t, &plain, &bytes));
        ONS_TRY(new_bytes(t, &o->inputs[i], &t->input_bytes[i]));
        ons_narrow(plain.dtype, t->fixture->input_words[i], ons_shape_elements(&plain.shape), bytes);
        ONS_TRY_AT(reorder(t, &plain, &o->inputs[i], bytes, t->input_bytes[i]), "input %u", i);
        ONS_TRY(ons_buffer_init(&t->inputs[i], t->target, ons_bytes_of(registry, &o->inputs[i])));
        t->input_pointers[i] = t->inputs[i].data;
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (!ons_has_output(o, i)) continue;
        ONS_TRY(new_bytes(t, &o->outputs[i], &t->output_bytes[i]));
        ONS_TRY(ons_buffer_init(&t->outputs[i], t->target, ons_bytes_of(registry, &o->outputs[i])));
    }
    return ons_buffer_init(&t->scratch, t->target, (size_t)t->prepare.scratch_bytes);
}

/* Runs with outputs of their own but for those that take an input's place: output `placed` input `place` (both
 * ONS_NONE: none), and states. */
static ons_status *run(trial *t, unsigned char poison, uint32_t placed, uint32_t place) {
    const ons_operands *o = &t->operands;
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i)) ons_buffer_write(&t->inputs[i], t->input_bytes[i]);
    for (uint32_t i = 0; i < o->output_count; ++i) {
        uint32_t input;
        if (!ons_has_output(o, i)) continue;
        ons_buffer_fill(&t->outputs[i], poison);
        t->output_pointers[i] = t->outputs[i].data;
        if (is_state_of(o->op, ONS_ALIAS_STATE, i, &input) && ons_has_input(o, input))
            t->output_pointers[i] = t->inputs[input].data;
        if (i == placed) t->output_pointers[i] = t->inputs[place].data;
    }
    ons_buffer_fill(&t->scratch, poison);
    ons_fault fault = {0};
    omp_set_num_threads(t->threads);
    bool other = t->again && t->target->launch_again != NULL;
    (other ? t->target->launch_again : t->target->launch)(t->run, &(ons_launch){.inputs = t->input_pointers,
                                                                                .outputs = t->output_pointers,
                                                                                .scratch = t->scratch.data,
                                                                                .state = t->prepare.state,
                                                                                .step = &t->fixture->step,
                                                                                .fault = &fault});
    ONS_TRY(t->target->finish());
    ONS_TRY(ons_fixture_check_fault(t->fixture, "the kernel", &fault));
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i)) ONS_TRY(ons_buffer_check(&t->inputs[i], "input", i));
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i)) ONS_TRY(ons_buffer_check(&t->outputs[i], "output", i));
    return ons_buffer_check(&t->scratch, "scratch", 0);
}

static ons_status *check_inputs_unchanged(trial *t) {
    const ons_operands *o = &t->operands;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        bool may_change = false;
        for (uint32_t k = 0; k < o->output_count; ++k)
            may_change |= ons_has_output(o, k) && t->output_pointers[k] == t->inputs[i].data;
        if (!ons_has_input(o, i) || may_change) continue;
        void *now = NULL;
        ONS_TRY(new_bytes(t, &o->inputs[i], &now));
        ons_buffer_read(&t->inputs[i], now);
        ONS_CHECK(memcmp(now, t->input_bytes[i], t->inputs[i].bytes) == 0, ONS_DEFECT, "the kernel changed input %u",
                  i);
    }
    return NULL;
}

static ons_status *check_against_reference(trial *t) {
    const ons_operands *o = &t->operands;
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (!ons_has_output(o, i)) continue;
        t->target->copy_out(t->output_bytes[i], t->output_pointers[i], t->outputs[i].bytes);
        ons_type plain = o->outputs[i];
        plain.layout = ONS_LAYOUT_ONNX;
        void *bytes = NULL;
        ONS_TRY(new_bytes(t, &plain, &bytes));
        ONS_TRY_AT(reorder(t, &o->outputs[i], &plain, t->output_bytes[i], bytes), "output %u", i);
        ONS_TRY_AT(ons_compare(&plain, bytes, t->fixture->reference_words[i], t->fixture->example->tolerance),
                   "output %u", i);
    }
    return NULL;
}

static ons_status *check_same_bits(trial *t, const char *what) {
    const ons_operands *o = &t->operands;
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (!ons_has_output(o, i)) continue;
        void *again = NULL;
        ONS_TRY(new_bytes(t, &o->outputs[i], &again));
        t->target->copy_out(again, t->output_pointers[i], t->outputs[i].bytes);
        ONS_CHECK(memcmp(again, t->output_bytes[i], t->outputs[i].bytes) == 0, ONS_DEFECT,
                  "output %u has other bits %s", i, what);
    }
    return NULL;
}

static ons_status *check_in_place(trial *t) {
    const ons_operands *o = &t->operands;
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias) {
        if (alias->kind != ONS_ALIAS_MAY || !ons_has_output(o, alias->output) || !ons_has_input(o, alias->input) ||
            t->outputs[alias->output].bytes != t->inputs[alias->input].bytes)
            continue;
        ONS_TRY_AT(run(t, 0xFF, alias->output, alias->input), "in place of input %u", alias->input);
        ONS_TRY_AT(check_same_bits(t, "when computed in an input's place"), "in place of input %u", alias->input);
        ONS_TRY_AT(check_inputs_unchanged(t), "in place of input %u", alias->input);
    }
    return NULL;
}

static ons_status *check_runs(trial *t) {
    ONS_CHECK(t->prepare.scratch_bytes >= 0 && t->prepare.scratch_bytes % 64 == 0, ONS_DEFECT,
              "prepare books %lld bytes of scratch, which is not a multiple of 64",
              (long long)t->prepare.scratch_bytes);
    ONS_TRY(set_up(t));
    ONS_TRY(run(t, 0xFF, ONS_NONE, ONS_NONE)); /* a NaN in every float */
    ONS_TRY(check_inputs_unchanged(t));
    if (t->fixture->example->fault != NULL) return NULL; /* nobody uses the results */
    ONS_TRY(check_against_reference(t));
    t->again = true;
    ONS_TRY(run(t, 0xA5, ONS_NONE, ONS_NONE));
    ONS_TRY(check_same_bits(t, "in a second run (poisoned with other bytes)"));
    t->again = false;
    return check_in_place(t);
}

/* Whether the target need not have a kernel for these dtypes. */
static bool is_refusal(const trial *t) {
    const ons_operands *o = &t->operands;
    bool has_float32 = false;
    for (uint32_t i = 0; i < o->input_count; ++i)
        has_float32 |= ons_has_input(o, i) && o->inputs[i].dtype == ONS_FLOAT32 && o->constants[i].data == NULL;
    ons_dtype result = o->output_count > 0 ? o->outputs[0].dtype : ONS_NO_DTYPE;
    bool usual = result == ONS_FLOAT32 || result == ONS_BOOL || result == ONS_INT32 || result == ONS_INT64;
    bool foreign = o->output_count > 0 && o->outputs[0].layout > 1; /* formats of oneDNN's, for the CPU's kernels */
    return t->target->may_refuse && (!has_float32 || !usual || foreign);
}

static ons_status *check_trial(trial *t) {
    t->arena = ons_arena_new();
    if (t->arena == NULL) return ons_status_out_of_memory();
    t->prepare = (ons_prepare){.operands = &t->operands,
                               .threads = t->threads,
                               .scratch_limit = INT64_MAX,
                               .arena = t->arena,
                               .node_key = t->fixture->step.node_key};
    omp_set_num_threads(t->threads);
    const ons_kernel *kernel = NULL;
    ons_status *status = ons_backend_prepare(t->target->backend(), &t->prepare, &kernel);
    t->run = kernel == NULL ? NULL : kernel->run;
    if (status != NULL && is_refusal(t)) {
        ons_status_free(status);
        status = NULL;
    } else {
        status = status != NULL ? ons_status_at(status, "the kernel refuses") : check_runs(t);
    }
    for (uint32_t i = 0; t->inputs != NULL && i < t->operands.input_count; ++i) ons_buffer_free(&t->inputs[i]);
    for (uint32_t i = 0; t->outputs != NULL && i < t->operands.output_count; ++i) ons_buffer_free(&t->outputs[i]);
    ons_buffer_free(&t->scratch);
    if (t->prepare.destroy != NULL) t->prepare.destroy(t->prepare.state);
    ons_arena_free(t->arena);
    return status;
}

/* The CPU's layouts are not chosen then: graph/passes/layout.c. */
static bool has_halves(const ons_operands *o) {
    bool any = false;
    for (uint32_t i = 0; i < o->input_count; ++i)
        any |= o->inputs[i].dtype == ONS_FLOAT16 || o->inputs[i].dtype == ONS_BFLOAT16;
    return any;
}

static ons_layout offered_layout(ons_offer offered, uint32_t input) {
    return offered == ONS_OFFER_CHANNELS_LAST || (offered == ONS_OFFER_MIXED && input != 1) ? 1 : ONS_LAYOUT_ONNX;
}

/* `o` as the pass shows it: inputs in the offered layouts and, for CUDA's kernels, floats as half types. */
static ons_status *offer(ons_fixture *f, bool for_cuda, ons_offer offered, ons_operands *asked) {
    ons_type *inputs, *outputs;
    ONS_NEW(inputs, f->arena, f->operands.input_count + 1);
    ONS_NEW(outputs, f->arena, f->operands.output_count + 1);
    *asked = f->operands;
    for (uint32_t i = 0; i < asked->input_count; ++i) {
        inputs[i] = asked->inputs[i];
        if (inputs[i].shape.rank >= 3 && inputs[i].shape.rank <= 5) inputs[i].layout = offered_layout(offered, i);
        if (for_cuda && ons_dtype_is_float(inputs[i].dtype)) inputs[i].dtype = ONS_BFLOAT16;
    }
    for (uint32_t i = 0; i < asked->output_count; ++i) {
        outputs[i] = asked->outputs[i];
        if (for_cuda && ons_dtype_is_float(outputs[i].dtype)) outputs[i].dtype = ONS_BFLOAT16;
    }
    asked->inputs = inputs;
    asked->outputs = outputs;
    return NULL;
}

/* All operands of the first output's shape in the offered layout, as the pass does where the others broadcast to it. */
static void follow(const ons_registry *registry, const ons_operands *asked, ons_layout offered, ons_layout *inputs,
                   ons_layout *outputs) {
    const ons_shape *shape = &asked->outputs[0].shape;
    bool can = ons_has_output(asked, 0) && shape->rank >= 3 && shape->rank <= 5;
    for (uint32_t i = 0; i < asked->input_count; ++i)
        can = can && (!ons_has_input(asked, i) || ons_shape_equal(&asked->inputs[i].shape, shape) ||
                      registry->layout_broadcasts(shape, offered, &asked->inputs[i].shape));
    for (uint32_t i = 0; can && i < asked->input_count; ++i)
        if (ons_has_input(asked, i) && ons_shape_equal(&asked->inputs[i].shape, shape)) inputs[i] = offered;
    for (uint32_t i = 0; can && i < asked->output_count; ++i)
        if (ons_has_output(asked, i) && ons_shape_equal(&asked->outputs[i].shape, shape)) outputs[i] = offered;
}

/* The output in the offered layout, as a node behind it may want it. */
static void make_asked(const ons_registry *registry, const ons_operands *asked, ons_layout offered,
                       ons_layout *outputs) {
    const ons_shape *shape = &asked->outputs[0].shape;
    if (shape->rank >= 3 && shape->rank <= 5 && registry->layout_broadcasts(shape, offered, &asked->inputs[0].shape))
        outputs[0] = offered;
}

ons_status *ons_choose_case_layouts(ons_fixture *f, bool for_cuda, ons_offer offered, ons_operands *operands,
                                    bool *differs) {
    *operands = f->operands;
    *differs = false;
    ons_layout_policy policy = f->op->layout.policy;
    bool follows = policy == ONS_LAYOUT_FOLLOWS && (f->op->roles.traits & ONS_TRAIT_RANDOM) == 0;
    if (policy != ONS_LAYOUT_CHOOSES && policy != ONS_LAYOUT_ASKED && !follows) return NULL;
    if (!for_cuda && has_halves(operands)) return NULL;
    ons_layout *inputs, *outputs;
    ons_type *input_types, *output_types;
    ONS_NEW(inputs, f->arena, operands->input_count + 1);
    ONS_NEW(outputs, f->arena, operands->output_count + 1);
    ONS_NEW(input_types, f->arena, operands->input_count + 1);
    ONS_NEW(output_types, f->arena, operands->output_count + 1);
    ons_operands asked;
    ONS_TRY(offer(f, for_cuda, offered, &asked));
    if (policy == ONS_LAYOUT_ASKED)
        make_asked(f->registry, &asked, offered_layout(offered, 0), outputs);
    else if (follows)
        follow(f->registry, &asked, offered_layout(offered, 0), inputs, outputs);
    else
        ONS_TRY(f->op->layout.choose(&asked, inputs, outputs));
    for (uint32_t i = 0; i < operands->input_count; ++i) {
        input_types[i] = f->operands.inputs[i];
        input_types[i].layout = inputs[i];
        *differs |= inputs[i] != ONS_LAYOUT_ONNX;
    }
    for (uint32_t i = 0; i < operands->output_count; ++i) {
        output_types[i] = f->operands.outputs[i];
        output_types[i].layout = outputs[i];
        *differs |= outputs[i] != ONS_LAYOUT_ONNX;
    }
    operands->inputs = input_types;
    operands->outputs = output_types;
    return NULL;
}

ons_status *ons_check_fixture(ons_fixture *fixture, const ons_target *target, int threads) {
    trial plain = {.fixture = fixture, .target = target, .threads = threads, .operands = fixture->operands};
    ONS_TRY(check_trial(&plain));
    bool for_cuda = strcmp(target->backend()->name, "cuda") == 0, differs = false;
    trial chosen = {.fixture = fixture, .target = target, .threads = threads};
    for (ons_offer offered = 0; offered < ONS_OFFERS && !target->plain; ++offered) {
        ONS_TRY(ons_choose_case_layouts(fixture, for_cuda, offered, &chosen.operands, &differs));
        if (differs) ONS_TRY_AT(check_trial(&chosen), "in the layouts that it chooses, offer %d", (int)offered);
    }
    return NULL;
}

ons_status *ons_check_kernel(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                             const ons_target *target, int threads, uint64_t seed) {
    if (example->error != NULL || ons_is_view(op) || !ons_target_runs(target, op) || op->reference == NULL) return NULL;
    ons_fixture fixture;
    ons_status *status = ons_fixture_init(&fixture, registry, op, example, seed);
    if (status == NULL) status = ons_fixture_reference(&fixture);
    if (status == NULL) status = ons_check_fixture(&fixture, target, threads);
    ons_fixture_free(&fixture);
    return status == NULL ? NULL : ons_status_at(status, "%s kernel, %d threads", target->name, threads);
}

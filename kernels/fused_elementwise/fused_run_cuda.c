#include "kernels/fused_elementwise/fused_run.h"

#include <stdio.h>
#include <string.h>

#include "kernels/common/elementwise/broadcast.h"
#include "kernels/common/elementwise/cuda_elementwise.h"
#include "kernels/fused_elementwise/fused.h"

_Static_assert((int)ONS_FUSED_RANK == (int)ONS_RANK_MAX, "the device's ranks");
_Static_assert((int)ONS_FUSED_PARAMETERS == (int)ONS_CUDA_PARAMETERS, "the device's parameters");

enum { THREADS = 256, BLOCKS_MAX = 1 << 20, ALIGNMENT = 64, EXPLANATION = 300 };

/* A step run by its operator's own kernel. */
typedef struct lone_step {
    ons_run_function *run;
    const void *state;
    uint32_t inputs[ONS_FUSED_OPERANDS];
    uint32_t input_count;
    int64_t offset, scratch_offset; /* in the scratch: of its result, and of its kernel's own scratch */
    int64_t scratch_bytes;
} lone_step;

typedef struct fused_state {
    const ons_cuda_program *program; /* NULL: step by step */
    ons_fused_arguments arguments;   /* without addresses */
    uint32_t input_count, output_count, step_count;
    uint32_t width; /* of ons_fused_wide; 0: dims and strides do not allow it */
    size_t input_sizes[ONS_FUSED_INPUTS], output_sizes[ONS_FUSED_OUTPUTS];
    uint32_t outputs[ONS_FUSED_OUTPUTS]; /* which steps they are */
    lone_step steps[ONS_FUSED_STEPS];
} fused_state;

/* -------------------------------------------------------------------------------------------------------- preparing */

/* Each step's own kernel: its state has the formula's parameters, in whatever way the operator makes them. */
static ons_status *prepare_steps(const ons_prepare *p, ons_fused *f, fused_state *s) {
    for (uint32_t i = 0; i < f->step_count; ++i) {
        ons_fused_step *step = &f->steps[i];
        ons_prepare own = {
            .operands = &step->operands, .threads = 1, .scratch_limit = p->scratch_limit, .arena = p->arena};
        const ons_kernel *kernel;
        ONS_TRY(ons_backend_prepare(p->backend, &own, &kernel));
        s->steps[i] = (lone_step){.run = kernel->run,
                                  .state = own.state,
                                  .input_count = step->operands.input_count,
                                  .scratch_bytes = own.scratch_bytes};
        memcpy(s->steps[i].inputs, step->inputs, sizeof step->inputs);
        const ons_cuda_elementwise *joins = own.state;
        if (step->formula->kind == ONS_FORMULA_VARIADIC) joins = ((const ons_cuda_variadic *)own.state)->step;
        for (uint32_t k = 0; k < step->joins; ++k)
            memcpy(s->arguments.parameters[step->first_join + k], joins[k].parameters, sizeof joins[k].parameters);
    }
    return NULL;
}

/* Whether so many neighbouring elements of the output are neighbours, or the same one, in every input. */
static bool can_walk(const ons_fused_arguments *a, uint32_t input_count, uint32_t width) {
    bool can = a->elements < INT32_MAX && a->dims[0] % width == 0;
    for (uint32_t i = 0; i < input_count; ++i)
        for (int64_t d = 1; d < a->rank && a->strides[i][0] != 0; ++d) can &= a->strides[i][d] % width == 0;
    return can;
}

static ons_status *prepare_walk(const ons_prepare *p, ons_fused *f, fused_state *s) {
    ons_broadcast *walk;
    ons_prepare own = *p;
    ons_operands operands = *p->operands;
    operands.inputs = f->types;
    operands.outputs = &f->types[f->input_count]; /* the node's first may be left out */
    own.operands = &operands;
    ONS_TRY(ons_broadcast_prepare(&own, NULL, &walk));
    ons_fused_arguments *a = &s->arguments;
    a->elements = walk->elements;
    a->rank = walk->rank;
    memcpy(a->dims, walk->dims, sizeof a->dims);
    for (uint32_t i = 0; i < f->input_count; ++i) memcpy(a->strides[i], walk->strides[i], sizeof a->strides[i]);
    while (f->width > 4 && !can_walk(a, f->input_count, f->width)) f->width /= 2;
    s->width = can_walk(a, f->input_count, f->width) ? f->width : 0;
    for (uint32_t i = 0; i < f->input_count; ++i) s->input_sizes[i] = ons_dtype_size(f->types[i].dtype);
    for (uint32_t i = 0; i < f->output_count; ++i) {
        s->output_sizes[i] = ons_dtype_size(f->types[f->outputs[i]].dtype);
        s->outputs[i] = f->outputs[i] - f->input_count;
    }
    return NULL;
}

/* Places for what the steps leave to each other; outputs too, since an output may be the memory of an input that a
 * later step reads. */
static int64_t place(ons_prepare *p, int64_t bytes) {
    int64_t offset = p->scratch_bytes;
    p->scratch_bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}
static void place_steps(ons_prepare *p, const ons_fused *f, fused_state *s) {
    for (uint32_t i = 0; i < f->step_count; ++i) {
        s->steps[i].offset = place(p, ons_type_dense_bytes(&f->types[f->input_count + i]));
        s->steps[i].scratch_offset = place(p, s->steps[i].scratch_bytes);
    }
}

/* Why there is no kernel; of a compiler's listing, the first line. */
static const char *explain(ons_arena *arena, const ons_status *why) {
    char text[EXPLANATION];
    const char *message = ons_status_get_message(why);
    snprintf(text, sizeof text, "cuda:one kernel an operator (%.*s)", (int)strcspn(message, "\n"), message);
    return ons_arena_copy_text(arena, text);
}

/* Steps are prepared for operands as they lie in memory. */
static ons_status *read_in_memory(const ons_prepare *p, ons_fused *f) {
    ons_operands seen;
    ONS_TRY(ons_cuda_require_alike(p->operands));
    ONS_TRY(ons_broadcast_in_memory(p->operands, p->arena, &seen));
    return ons_fused_read(&seen, p->arena, f);
}

ons_status *ons_fused_prepare(ons_prepare *p) {
    ons_fused *f;
    fused_state *s;
    ONS_NEW(f, p->arena, 1);
    ONS_NEW(s, p->arena, 1);
    ONS_TRY(read_in_memory(p, f));
    s->input_count = f->input_count;
    s->output_count = f->output_count;
    s->step_count = f->step_count;
    ONS_TRY(prepare_steps(p, f, s));
    ONS_TRY(prepare_walk(p, f, s));
    ons_cuda_source source;
    ONS_TRY(ons_fused_source(f, p->arena, &source));
    p->state = s;
    p->implementation = "cuda:fused";
    ons_status *status = ons_cuda_compile(&source, &s->program);
    if (status == NULL || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    p->implementation = explain(p->arena, status);
    ons_status_free(status); /* the operators' own kernels do as well */
    place_steps(p, f, s);
    return p->implementation == NULL ? ons_status_out_of_memory() : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- running */

/* 0 bytes: nobody asks. */
static bool is_aligned(const void *address, size_t bytes) { return bytes == 0 || (uintptr_t)address % bytes == 0; }

static void run_fused(const fused_state *s, const ons_launch *l) {
    ons_fused_arguments arguments = s->arguments;
    bool wide = s->width > 0;
    for (uint32_t i = 0; i < s->input_count; ++i) {
        arguments.inputs[i] = l->inputs[i];
        wide &= arguments.strides[i][0] == 0 || is_aligned(l->inputs[i], s->width * s->input_sizes[i]);
    }
    for (uint32_t i = 0; i < s->output_count; ++i) {
        arguments.outputs[i] = l->outputs[i];
        wide &= is_aligned(l->outputs[i], s->width * s->output_sizes[i]);
    }
    int64_t items = wide ? arguments.elements / s->width : arguments.elements;
    int64_t blocks = (items + THREADS - 1) / THREADS;
    if (blocks > 0)
        ons_cuda_program_launch(s->program, wide ? 0 : 1, l->stream, blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX, THREADS,
                                &arguments, sizeof arguments);
}

static void run_alone(const fused_state *s, const ons_launch *l, ons_fused_copy *copy) {
    const void *values[ONS_FUSED_VALUES];
    for (uint32_t i = 0; i < s->input_count; ++i) values[i] = l->inputs[i];
    for (uint32_t i = 0; i < s->step_count; ++i) {
        const lone_step *step = &s->steps[i];
        const void *inputs[ONS_FUSED_OPERANDS];
        void *outputs[ONS_FUSED_STEP_OUTPUTS] = {(char *)l->scratch + step->offset};
        for (uint32_t k = 0; k < step->input_count; ++k)
            inputs[k] = step->inputs[k] == ONS_NONE ? NULL : values[step->inputs[k]];
        ons_launch own = *l;
        own.inputs = inputs;
        own.outputs = outputs;
        own.state = step->state;
        own.scratch = (char *)l->scratch + step->scratch_offset;
        step->run(&own);
        values[s->input_count + i] = outputs[0];
    }
    for (uint32_t i = 0; i < s->output_count; ++i)
        if (l->outputs[i] != NULL)
            copy(l, l->outputs[i], values[s->input_count + s->outputs[i]],
                 s->arguments.elements * (int64_t)s->output_sizes[i]);
}

void ons_fused_run(const ons_launch *launch, ons_fused_copy *copy) {
    const fused_state *s = launch->state;
    if (s->program != NULL)
        run_fused(s, launch);
    else
        run_alone(s, launch, copy);
}

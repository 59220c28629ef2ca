#include "kernels/kernels.h"

#include "graph/operands.h"
#include "kernels/operators.h"

struct ons_sample_gemm {
    ons_arena *arena; /* of everything, the product itself included */
    ons_operands operands;
    ons_type inputs[2], output;
    ons_tensor constants[2];
    ons_prepare prepare;
    const ons_kernel *kernel;
};

static ons_status *prepare(ons_sample_gemm *p, const ons_sample_gemm_options *o) {
    p->inputs[0] = p->inputs[1] = ons_type_make(o->dtype, ons_shape_make(2, (const int64_t[]){o->edge, o->edge}));
    p->operands = (ons_operands){.op = &ons_op_matmul,
                                 .name = "measured product",
                                 .inputs = p->inputs,
                                 .constants = p->constants,
                                 .outputs = &p->output,
                                 .input_count = 2,
                                 .output_count = 1};
    ONS_TRY(ons_operands_infer(&p->operands));
    p->prepare = (ons_prepare){
        .operands = &p->operands, .threads = o->threads, .scratch_limit = o->scratch_limit, .arena = p->arena};
    return ons_backend_prepare(o->backend, &p->prepare, &p->kernel);
}

ons_status *ons_sample_gemm_new(const ons_sample_gemm_options *options, ons_sample_gemm **gemm) {
    ons_arena *arena = ons_arena_new();
    ons_sample_gemm *p = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *p);
    if (p == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    p->arena = arena;
    ons_status *status = prepare(p, options);
    if (status != NULL)
        ons_sample_gemm_free(p);
    else
        *gemm = p;
    return status;
}

void ons_sample_gemm_free(ons_sample_gemm *p) {
    if (p == NULL) return;
    if (p->prepare.destroy != NULL) p->prepare.destroy(p->prepare.state);
    ons_arena_free(p->arena);
}

int64_t ons_sample_gemm_scratch_bytes(const ons_sample_gemm *p) { return p->prepare.scratch_bytes; }

double ons_sample_gemm_flops(const ons_sample_gemm *p) { return p->operands.op->cost(&p->operands).flops; }

void ons_sample_gemm_run(const ons_sample_gemm *p, uintptr_t native, const ons_sample_gemm_memory *memory) {
    const ons_step step = {.step = 1, .sample_share = 1};
    p->kernel->run(&(ons_launch){.inputs = (const void *const[]){memory->a, memory->b},
                                 .outputs = (void *const[]){memory->c},
                                 .scratch = memory->scratch,
                                 .state = p->prepare.state,
                                 .step = &step,
                                 .fault = memory->fault,
                                 .stream = native,
                                 .device_step = memory->device_step});
}

/* TopK on the CPU. */
#include "kernels/top_k/top_k_node.h"

#include <omp.h>

#include "kernels/common/operator/kernel.h"
#include "kernels/top_k/select.h"

ons_status *ons_top_k_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_top_k *s;
    ONS_NEW_STATE(s, p);
    ons_resolved(ons_top_k_make_state(p->operands, s));
    if (s->length > INT32_MAX) return ons_node_error(p->operands, "no CPU kernel for so long an axis");
    p->scratch_bytes = (p->threads * ons_select_scratch(s->length, s->k) * (int64_t)sizeof(uint64_t) + 63) / 64 * 64;
    p->implementation = ons_select_inserts(s->length, s->k) ? "insertion" : "radix sort";
    return NULL;
}

static void select_line(const ons_top_k *s, int64_t line, const float *x, uint64_t *scratch, float *values,
                        int64_t *indices) {
    x += line / s->inner * s->length * s->inner + line % s->inner;
    int64_t to = line / s->inner * s->k * s->inner + line % s->inner;
    const uint64_t *chosen = ons_select(x, s->length, s->inner, s->k, s->largest, scratch);
    for (int64_t k = 0; k < s->k; ++k) {
        int64_t index = (int64_t)(uint32_t)chosen[k];
        values[to + k * s->inner] = x[index * s->inner];
        if (indices != NULL) indices[to + k * s->inner] = index;
    }
}

static void top_k_run(const ons_launch *launch) {
    const ons_top_k *s = launch->state;
    int64_t lines = s->outer * s->inner;
#pragma omp parallel for schedule(static) if (lines * s->length > ONS_PARALLEL_GRAIN / 4)
    for (int64_t line = 0; line < lines; ++line)
        select_line(s, line, launch->inputs[DATA],
                    (uint64_t *)launch->scratch + omp_get_thread_num() * ons_select_scratch(s->length, s->k),
                    launch->outputs[0], launch->outputs[1]);
}

ONS_KERNELS(cpu, top_k, ONS_KERNEL(ons_top_k_prepare, top_k_run))

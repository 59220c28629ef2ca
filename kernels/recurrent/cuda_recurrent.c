#include "kernels/recurrent/cuda_recurrent.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

enum { WORKSPACE_BYTES = 1024 * 1024 };

static void destroy(void *memory) {
    ons_cuda_recurrent *s = memory;
    for (int i = 0; i < ONS_RP_COUNT; ++i)
        if (s->plans[i] != NULL) ons_cuda_plan_free(s->plans[i]);
}

/* C (m × n) from A and B over k. */
typedef struct product {
    ons_recurrent_gemm which;
    int64_t m, n, k;
    bool transpose_a, transpose_b, bias, adds;
} product;

static ons_status *plan(ons_cuda_recurrent *s, product x) {
    if (x.m == 0 || x.n == 0 || x.k == 0) return NULL;
    ons_cuda_gemm_call gemm = {.dtype = ONS_FLOAT32,
                               .batch = 1,
                               .m = x.m,
                               .n = x.n,
                               .k = x.k,
                               .transpose_a = x.transpose_a,
                               .transpose_b = x.transpose_b,
                               .epilogue = x.bias ? ONS_CUDA_BIAS : ONS_CUDA_PLAIN,
                               .adds = x.adds,
                               .alpha = 1,
                               .alignment = ons_cuda_alignment_of((s->r.hidden | s->r.inputs) * (int64_t)sizeof(float)),
                               .workspace_bytes = WORKSPACE_BYTES};
    return ons_cuda_plan_new(&gemm, &s->plans[x.which]);
}

static int64_t book(int64_t *bytes, int64_t floats) {
    int64_t at = *bytes;
    *bytes += (floats * (int64_t)sizeof(float) + 255) / 256 * 256;
    return at;
}

static ons_status *begin(ons_prepare *p, ons_cell cell, ons_cuda_recurrent **state) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_require_float32(o));
    ons_cuda_recurrent *s;
    ONS_NEW(s, p->arena, 1);
    ONS_TRY(ons_recurrent_of(o, cell, &s->r));
    for (uint32_t i = 0; i < o->input_count; ++i) s->present |= ons_has_input(o, i) ? 1u << i : 0;
    p->state = *state = s;
    p->implementation = "cuda:cublasLt by steps";
    return NULL;
}

static int64_t largest_workspace(const ons_cuda_recurrent *s) {
    int64_t most = 0;
    for (int i = 0; i < ONS_RP_COUNT; ++i) {
        int64_t bytes = s->plans[i] == NULL ? 0 : ons_cuda_plan_workspace(s->plans[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The plans that were made go where one cannot be. */
static ons_status *finish(ons_prepare *p, ons_cuda_recurrent *s, int64_t bytes, ons_status *status) {
    if (status != NULL) {
        destroy(s);
        return status;
    }
    s->workspace_at = bytes;
    p->scratch_bytes = bytes + largest_workspace(s);
    p->destroy = destroy;
    return NULL;
}

static ons_status *plan_forward(ons_cuda_recurrent *s, bool bias) {
    const ons_recurrent *r = &s->r;
    int64_t all = r->steps * r->batch;
    ONS_TRY(plan(s, (product){ONS_RP_INPUT, all, r->rows, r->inputs, .transpose_b = true, .bias = bias}));
    if (r->cell != ONS_CELL_GRU)
        return plan(s, (product){ONS_RP_STEP, r->batch, r->rows, r->hidden, .transpose_b = true, .adds = true});
    int64_t together = r->reset_after ? r->rows : 2 * r->hidden;
    ONS_TRY(plan(s, (product){ONS_RP_STEP, r->batch, together, r->hidden, .transpose_b = true}));
    if (r->reset_after) return NULL;
    return plan(s, (product){ONS_RP_LAST, r->batch, r->hidden, r->hidden, .transpose_b = true});
}

ons_status *ons_cuda_recurrent_prepare(ons_prepare *p, ons_cell cell) {
    ons_cuda_recurrent *s;
    ONS_TRY(begin(p, cell, &s));
    const ons_recurrent *r = &s->r;
    bool bias = ons_has_input(p->operands, ONS_RECURRENT_B);
    s->keeps_record = ons_has_output(p->operands, ons_recurrent_record(cell));
    int64_t bytes = 0;
    s->record_at = book(&bytes, s->keeps_record ? 0 : r->record);
    s->x_at = book(&bytes, r->batch_first ? r->steps * r->batch * r->inputs : 0);
    s->bias_at = book(&bytes, r->directions * r->rows);
    s->product_at = book(&bytes, cell == ONS_CELL_GRU ? r->batch * r->rows : 0);
    return finish(p, s, bytes, plan_forward(s, bias));
}

static ons_status *plan_backward(const ons_operands *o, ons_cuda_recurrent *s) {
    const ons_recurrent *r = &s->r;
    bool gru = r->cell == ONS_CELL_GRU;
    int64_t all = r->steps * r->batch, together = gru ? 2 * r->hidden : r->rows;
    ONS_TRY(plan(s, (product){ONS_RP_BACK, r->batch, r->hidden, together, .adds = true}));
    if (gru) ONS_TRY(plan(s, (product){ONS_RP_BACK_H, r->batch, r->hidden, r->hidden, .adds = r->reset_after}));
    if (ons_has_output(o, ONS_RG_DX)) {
        ONS_TRY(plan(s, (product){ONS_RP_DX, all, r->inputs, r->rows, .adds = false}));
        ONS_TRY(plan(s, (product){ONS_RP_DX_MORE, all, r->inputs, r->rows, .adds = true}));
    }
    if (ons_has_output(o, ONS_RG_DW))
        ONS_TRY(plan(s, (product){ONS_RP_DW, r->rows, r->inputs, all, .transpose_a = true}));
    if (!ons_has_output(o, ONS_RG_DR)) return NULL;
    ONS_TRY(plan(s, (product){ONS_RP_DR, together, r->hidden, all, .transpose_a = true}));
    if (!gru) return NULL;
    return plan(s, (product){ONS_RP_DR_H, r->hidden, r->hidden, all, .transpose_a = true});
}

ons_status *ons_cuda_recurrent_gradient_prepare(ons_prepare *p, ons_cell cell) {
    ons_cuda_recurrent *s;
    ONS_TRY(begin(p, cell, &s));
    const ons_recurrent *r = &s->r;
    int64_t bytes = 0, all = r->steps * r->batch, ends = r->directions * r->batch * r->hidden;
    int64_t gru = cell == ONS_CELL_GRU ? ends * r->steps : 0;
    s->x_at = book(&bytes, r->batch_first ? all * r->inputs : 0);
    s->dx_at = book(&bytes, r->batch_first ? all * r->inputs : 0);
    s->first_at = book(&bytes, 2 * gru);
    s->last_at = book(&bytes, gru);
    s->dh_at = book(&bytes, ends);
    s->dc_at = book(&bytes, ends);
    s->dq_at = book(&bytes, ends);
    return finish(p, s, bytes, plan_backward(p->operands, s));
}

/* LSTM, GRU and RNN on CUDA: what their kernels were prepared with. The products are cuBLASLt's: those with the input
 * of all steps at once, those with the hidden state step by step; the gates are kernels of our own in between. */
#ifndef ONSTAGE_KERNELS_RECURRENT_CUDA_RECURRENT_H
#define ONSTAGE_KERNELS_RECURRENT_CUDA_RECURRENT_H

#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/recurrent/recurrent.h"

typedef enum ons_recurrent_gemm {
    ONS_RP_INPUT,   /* gates = X Wᵀ + b, of all steps */
    ONS_RP_STEP,    /* h Rᵀ: added to the gates, or of a GRU by itself (its first two gates, all with reset_after) */
    ONS_RP_LAST,    /* GRU: (r h) R_hᵀ */
    ONS_RP_BACK,    /* dh += d gates R (GRU: of the first two gates) */
    ONS_RP_BACK_H,  /* GRU: d last gate R_h, added to dh with reset_after, by itself otherwise */
    ONS_RP_DX,      /* d gates W */
    ONS_RP_DX_MORE, /* d gates W of the second direction, added to that of the first */
    ONS_RP_DW,      /* d gatesᵀ X */
    ONS_RP_DR,      /* d gatesᵀ h before */
    ONS_RP_DR_H,    /* GRU: d last gateᵀ h before, or the candidates */
    ONS_RP_COUNT,
} ons_recurrent_gemm;

typedef struct ons_cuda_recurrent {
    ons_cuda_plan *plans[ONS_RP_COUNT]; /* first: what destroy frees; NULL: not needed, or nothing to multiply */
    ons_recurrent r;
    uint32_t present; /* bit i: there is an input i */
    bool keeps_record;
    /* bytes of scratch; what is not needed takes no room */
    int64_t record_at, x_at, bias_at, product_at;          /* forwards */
    int64_t dx_at, first_at, last_at, dh_at, dc_at, dq_at; /* backwards */
    int64_t workspace_at;
} ons_cuda_recurrent;

ons_status *ons_cuda_recurrent_prepare(ons_prepare *p, ons_cell cell);
void ons_cuda_recurrent_run(const ons_launch *launch);
ons_status *ons_cuda_recurrent_gradient_prepare(ons_prepare *p, ons_cell cell);

#endif

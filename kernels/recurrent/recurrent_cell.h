/* The arithmetic of LSTM, GRU and RNN between the products, a row of units at a time. What nearly all models have, the
 * usual cell, has a loop of its own, by registers: sigmoid for the gates, tanh for the rest, no peepholes, no clipping,
 * LSTM's gates not coupled, GRU's reset after the product. */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_CELL_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_CELL_H

#include "kernels/recurrent/recurrent_plan.h"

/* The units of one block, of one sample at one step; each gate's lie at its place in `gate_at`. */
typedef struct ons_recurrent_row {
    int64_t count, hidden;
    const int64_t *gate_at;
    float *gates, *slopes; /* slopes NULL: not kept */
    float *candidates;
    const float *h_before, *c_before;
    float *h_after, *c_after;
    float *y; /* NULL: not wanted */
    const float *peepholes, *hidden_bias;
} ons_recurrent_row;
typedef void ons_recurrent_row_function(const ons_recurrent *r, const ons_recurrent_activation *activations,
                                        const ons_recurrent_row *w);

/* A row of one step on the way back. `before`: the gradients of what enters the gates, which may lie in the place of
 * the gates; that of GRU's last gate reaches R as `last`. From its row's function on, dh is what passes by the
 * products, which are added. */
typedef struct ons_recurrent_back_row {
    int64_t count, hidden;
    const int64_t *gate_at;
    const float *gates, *slopes, *candidates, *h_before, *c_before, *c_after;
    const float *peepholes;
    float *before, *last;
    float *dh, *dc, *dq;
} ons_recurrent_back_row;
typedef void ons_recurrent_back_row_function(const ons_recurrent *r, const ons_recurrent_activation *activations,
                                             const ons_recurrent_back_row *w);

bool ons_recurrent_is_usual(const ons_recurrent *r, int64_t d, bool has_peepholes);

/* From the sums in `gates` (and R_h h in GRU's candidates) to the new states and y. Of a GRU whose reset comes before
 * the product it makes two gates and r·h; the second function does the rest, once the product is added to the last. */
ons_recurrent_row_function *ons_recurrent_row_function_of(const ons_recurrent *r, int64_t d, bool has_peepholes);
ons_recurrent_row_function ons_recurrent_gru_finish_row;

/* From dh and dc to the gradients of the sums. A GRU whose reset comes before the product lacks that of the reset gate:
 * the second function makes it from dq. */
ons_recurrent_back_row_function *ons_recurrent_back_row_function_of(const ons_recurrent *r, int64_t d,
                                                                    bool has_peepholes);
ons_recurrent_back_row_function ons_recurrent_gru_reset_row;

/* A row beyond its sample's length. */
void ons_recurrent_skip_row(const ons_recurrent *r, const ons_recurrent_row *w);
void ons_recurrent_back_skip_row(const ons_recurrent *r, const ons_recurrent_back_row *w);

#endif

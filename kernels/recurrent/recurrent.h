/* LSTM, GRU and RNN: one description of what the three share, for shape inference, references and kernels.
 *
 * Every step is kept in one tensor, the record, that the forward operator makes when a gradient needs it. Its parts,
 * one after the other, each as [direction][time][batch][…]:
 *
 *   gates       [D][T][N][G·H]    after their activations, in the order of the weights' rows
 *   hidden      [D][T + 1][N][H]  forward: slot t is the state before step t; reverse: slot t + 1 is
 *   cell        the same of LSTM's cell state
 *   candidate   [D][T][N][H]      of GRU: R_h h + Rb_h with linear_before_reset, r·h without
 *   slopes      [D][T][N][G·H]    derivatives of the activations, where the results do not tell them
 *
 * At steps beyond a sample's length the states stay as they are and all other parts are 0.
 */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_H

#include "base/host_device.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/recurrent/recurrent_activation.h"

/* The roles of LSTM, GRU and RNN, with the inputs that are first states. What goes through many steps stays float32. */
#define ONS_RECURRENT_CELL(STATES)                                                                                     \
    { ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0, (STATES), 0, 0 }

/* Its value is the number of gates. */
typedef enum ons_cell { ONS_CELL_RNN = 1, ONS_CELL_GRU = 3, ONS_CELL_LSTM = 4 } ons_cell;

/* Gates in ONNX's order of the weights' rows, which RNN's one gate begins like the others. */
enum { ONS_LSTM_I, ONS_LSTM_O, ONS_LSTM_F, ONS_LSTM_C };
enum { ONS_GRU_Z, ONS_GRU_R, ONS_GRU_H };
enum { ONS_RECURRENT_GATES = 4, ONS_RECURRENT_ACTIVATIONS = 3, ONS_RECURRENT_DIRECTIONS = 2 };

/* Attributes by position, alike in all the operators. VARIANT is LSTM's input_forget and GRU's linear_before_reset. */
enum {
    ONS_RECURRENT_ALPHA,
    ONS_RECURRENT_BETA,
    ONS_RECURRENT_NAMES,
    ONS_RECURRENT_CLIP,
    ONS_RECURRENT_DIRECTION,
    ONS_RECURRENT_HIDDEN_SIZE,
    ONS_RECURRENT_LAYOUT,
    ONS_RECURRENT_GATE_ORDER, /* not ONNX's: the gate that each of the weights' G blocks of rows belongs to */
    ONS_RECURRENT_VARIANT,
    ONS_RECURRENT_CELL, /* of the gradient alone */
};
#define ONS_RECURRENT_ATTRIBUTES                                                                                       \
    ONS_OPTIONAL_ATTRIBUTE("activation_alpha", ONS_ATTRIBUTE_FLOATS),                                                  \
        ONS_OPTIONAL_ATTRIBUTE("activation_beta", ONS_ATTRIBUTE_FLOATS),                                               \
        ONS_OPTIONAL_ATTRIBUTE("activations", ONS_ATTRIBUTE_STRINGS),                                                  \
        ONS_OPTIONAL_ATTRIBUTE("clip", ONS_ATTRIBUTE_FLOAT), ONS_STRING_ATTRIBUTE("direction", "forward"),             \
        ONS_OPTIONAL_ATTRIBUTE("hidden_size", ONS_ATTRIBUTE_INT), ONS_INT_ATTRIBUTE("layout", 0),                      \
        ONS_OPTIONAL_ATTRIBUTE("gate_order", ONS_ATTRIBUTE_INTS)

/* Inputs of the forward operators; GRU and RNN end with the hidden state. */
enum {
    ONS_RECURRENT_X,
    ONS_RECURRENT_W,
    ONS_RECURRENT_R,
    ONS_RECURRENT_B,
    ONS_RECURRENT_LENGTHS,
    ONS_RECURRENT_H0,
    ONS_RECURRENT_C0,
    ONS_RECURRENT_P,
};
/* Outputs of the forward operators: Y, Y_h, LSTM's Y_c, and then the record. */
enum { ONS_RECURRENT_Y, ONS_RECURRENT_Y_H, ONS_RECURRENT_Y_C };

/* Inputs and outputs of the gradient. BEFORE is the record with the gradients of what enters the gates in their place:
 * all other gradients are made of these, which take no memory of their own where nobody else reads the record. */
enum { ONS_RG_X, ONS_RG_W, ONS_RG_R, ONS_RG_RECORD, ONS_RG_P, ONS_RG_LENGTHS, ONS_RG_DY, ONS_RG_DY_H, ONS_RG_DY_C };
enum {
    ONS_RG_BEFORE,
    ONS_RG_DX,
    ONS_RG_DW,
    ONS_RG_DR,
    ONS_RG_DB,
    ONS_RG_DH0,
    ONS_RG_DC0,
    ONS_RG_DP,
    ONS_RG_OUTPUTS,
};

typedef struct ons_recurrent {
    ons_cell cell;
    int64_t steps, batch, inputs, hidden, directions; /* T, N, I, H, D */
    int64_t gates, rows;                              /* G, G·H */
    int64_t gate_at[ONS_RECURRENT_GATES];             /* where each gate begins among the rows; GRU's h is the last */
    bool reverse[ONS_RECURRENT_DIRECTIONS];
    bool batch_first; /* layout 1 */
    bool coupled;     /* LSTM: the forget gate is 1 - input gate */
    bool reset_after; /* GRU: linear_before_reset */
    double clip;      /* INFINITY: none */
    ons_recurrent_activation activations[ONS_RECURRENT_DIRECTIONS][ONS_RECURRENT_ACTIVATIONS];
    bool keeps_slopes;
    int64_t hidden_at, cell_at, candidate_at, slopes_at, record; /* where the record's parts begin, and its length */
} ons_recurrent;

/* From the types of X, W and R, which both the forward operators and the gradient have first, and the attributes. */
ons_status *ons_recurrent_of(const ons_operands *o, ons_cell cell, ons_recurrent *r);

/* Types of all outputs, every input checked. */
ons_status *ons_recurrent_infer(ons_operands *o, ons_cell cell);

/* The type of an initial or last state. */
ons_type ons_recurrent_state_type(const ons_recurrent *r, ons_dtype dtype);

/* Output index of the record. */
static inline uint32_t ons_recurrent_record(ons_cell cell) { return cell == ONS_CELL_LSTM ? 3 : 2; }

/* The products' operations; `passes` 1 forward, 2 backward. */
ons_cost ons_recurrent_cost(const ons_operands *o, ons_cell cell, double passes);

/* Builds the gradient's node. */
ons_status *ons_recurrent_gradient(ons_gradient *g, ons_cell cell);

/* For a pattern whose root is the operator: exporters whose own order of gates is another one than ONNX's cut their
 * weights and put them together again, in every step. The node takes them as they are, in the order that the weights
 * tell; ONS_NONE where they tell none. */
ons_value_id ons_recurrent_take_order(ons_match *match, ons_cell cell);

/* Opset 1 had an attribute output_sequence, which the outputs that are named tell as well. */
ons_status *ons_recurrent_upgrade(ons_upgrade *u);

/* ---- where things are, in elements */

ONS_HOST_DEVICE static inline int64_t ons_recurrent_time(const ons_recurrent *r, int64_t d, int64_t step) {
    return r->reverse[d] ? r->steps - 1 - step : step;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_slot_before(const ons_recurrent *r, int64_t d, int64_t t) {
    return r->reverse[d] ? t + 1 : t;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_slot_after(const ons_recurrent *r, int64_t d, int64_t t) {
    return r->reverse[d] ? t : t + 1;
}
/* Row of sample n in the gates (and slopes), in a state's slot, in the candidates. */
ONS_HOST_DEVICE static inline int64_t ons_recurrent_gates_row(const ons_recurrent *r, int64_t d, int64_t t, int64_t n) {
    return ((d * r->steps + t) * r->batch + n) * r->rows;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_state_row(const ons_recurrent *r, int64_t d, int64_t slot,
                                                              int64_t n) {
    return ((d * (r->steps + 1) + slot) * r->batch + n) * r->hidden;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_candidate_row(const ons_recurrent *r, int64_t d, int64_t t,
                                                                  int64_t n) {
    return ((d * r->steps + t) * r->batch + n) * r->hidden;
}
/* Row of Y and of its cotangent; of a state that goes in or out; of X. */
ONS_HOST_DEVICE static inline int64_t ons_recurrent_y_row(const ons_recurrent *r, int64_t d, int64_t t, int64_t n) {
    int64_t place = r->batch_first ? n * r->steps + t : t * r->batch + n;
    return r->batch_first ? (place * r->directions + d) * r->hidden
                          : ((t * r->directions + d) * r->batch + n) * r->hidden;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_end_row(const ons_recurrent *r, int64_t d, int64_t n) {
    return (r->batch_first ? n * r->directions + d : d * r->batch + n) * r->hidden;
}
ONS_HOST_DEVICE static inline int64_t ons_recurrent_x_row(const ons_recurrent *r, int64_t t, int64_t n) {
    return (r->batch_first ? n * r->steps + t : t * r->batch + n) * r->inputs;
}

/* ---- references */
/* A fault of the data: a length that is none. */
#define ONS_RECURRENT_BAD_LENGTH "a sequence length is negative or longer than the sequence"

void ons_recurrent_reference(const ons_operands *o, const ons_step *step, ons_cell cell, const void *const *inputs,
                             void *const *outputs);
void ons_recurrent_gradient_reference(const ons_operands *o, ons_cell cell, const void *const *inputs,
                                      void *const *outputs);

/* ---- kernels in float32 */
ons_status *ons_recurrent_prepare(ons_prepare *p, ons_cell cell);
void ons_recurrent_run(const ons_launch *launch);
ons_status *ons_recurrent_gradient_prepare(ons_prepare *p, ons_cell cell);
void ons_recurrent_gradient_run(const ons_launch *launch);

#endif

/* The gradient of LSTM, GRU and RNN, by attribute `cell` (the number of gates): from X, W, R, P, the lengths, the
 * record of the forward run (kernels/common/recurrent.h) and the cotangents of Y, Y_h and Y_c the gradients of X, W, R,
 * B, the initial states and P. */
#include "kernels/common/cuda_recurrent.h"
#include "kernels/common/recurrent.h"
#include "kernels/common/recurrent_cases.h"

static ons_cell cell_of(const ons_operands *o) { return (ons_cell)ons_attribute_int(o, ONS_RECURRENT_CELL); }

static ons_status *recurrent_gradient_infer(ons_operands *o) {
    ons_recurrent r;
    if (cell_of(o) != ONS_CELL_RNN && cell_of(o) != ONS_CELL_GRU && cell_of(o) != ONS_CELL_LSTM)
        return ons_node_error(o, "no cell has %lld gates", (long long)ons_attribute_int(o, ONS_RECURRENT_CELL));
    ONS_TRY(ons_recurrent_of(o, cell_of(o), &r));
    if (ons_elements(&o->inputs[ONS_RG_RECORD]) != r.record)
        return ons_node_error(o, "the record has %lld elements, not %lld",
                              (long long)ons_elements(&o->inputs[ONS_RG_RECORD]), (long long)r.record);
    ons_dtype dtype = o->inputs[ONS_RG_X].dtype;
    const ons_type types[ONS_RG_OUTPUTS] = {
        [ONS_RG_DX] = o->inputs[ONS_RG_X],
        [ONS_RG_DW] = o->inputs[ONS_RG_W],
        [ONS_RG_DR] = o->inputs[ONS_RG_R],
        [ONS_RG_DB] = ons_type_make(dtype, (ons_shape){2, {r.directions, 2 * r.rows}}),
        [ONS_RG_DH0] = ons_recurrent_state_type(&r, dtype),
        [ONS_RG_DC0] = r.cell == ONS_CELL_LSTM ? ons_recurrent_state_type(&r, dtype) : (ons_type){0},
        [ONS_RG_DP] = ons_has_input(o, ONS_RG_P) ? o->inputs[ONS_RG_P] : (ons_type){0},
    };
    for (uint32_t i = 0; i < ONS_RG_OUTPUTS && i < o->output_count; ++i) o->outputs[i] = types[i];
    return NULL;
}

static ons_cost recurrent_gradient_cost(const ons_operands *o) { return ons_recurrent_cost(o, cell_of(o), 2); }

static void recurrent_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    (void)step;
    ons_recurrent_gradient_reference(o, cell_of(o), inputs, outputs);
}

static ons_status *recurrent_gradient_prepare(ons_prepare *p) {
    return ons_recurrent_gradient_prepare(p, cell_of(p->operands));
}

static ons_status *recurrent_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_recurrent_gradient_prepare(p, cell_of(p->operands));
}

#define CELL(GATES) ONS_SET_INT("cell", GATES)
#define BOTH_WAYS   ONS_SET_STRING("direction", "bidirectional")
/* T N I H: 3 4 2 5; the records of the three cells are D·N·H·(T·G + 4·(1 or 2) + GRU's T) long. */
static const ons_case recurrent_gradient_cases[] = {
    {.name = "lstm",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 4), ONS_F32(400), ONS_F32(1, 15), ONS_LEFT_OUT,
                ONS_F32(3, 1, 4, 5), ONS_F32(1, 4, 5), ONS_F32(1, 4, 5)},
     .settings = {CELL(4)},
     .outputs = 7,
     .tolerance = 1e-5,
     .flops = 6720},
    {.name = "lstm_both_ways",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 2, 4), ONS_F32(800), ONS_LEFT_OUT, ONS_RECURRENT_LENGTHS_OF(3, 4),
                ONS_F32(3, 2, 4, 5)},
     .settings = {CELL(4), BOTH_WAYS, ONS_SET_INT("variant", 1)},
     .outputs = 7,
     .tolerance = 1e-5,
     .flops = 13440},
    {.name = "gru",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 3), ONS_F32(320), ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_F32(3, 1, 4, 5),
                ONS_F32(1, 4, 5)},
     .settings = {CELL(3)},
     .outputs = 7,
     .tolerance = 1e-5,
     .flops = 5040},
    {.name = "gru_reset_after",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 2, 3), ONS_F32(640), ONS_LEFT_OUT, ONS_RECURRENT_LENGTHS_OF(3, 4),
                ONS_LEFT_OUT, ONS_F32(2, 4, 5)},
     .settings = {CELL(3), BOTH_WAYS, ONS_SET_INT("variant", 1)},
     .outputs = 7,
     .tolerance = 1e-5,
     .flops = 10080},
    {.name = "rnn",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 1), ONS_F32(140), ONS_LEFT_OUT, ONS_LEFT_OUT,
                ONS_F32(3, 1, 4, 5)},
     .settings = {CELL(1), ONS_SET_STRING("direction", "reverse")},
     .outputs = 5,
     .tolerance = 1e-5,
     .flops = 1680},
    {.name = "input_alone",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 1), ONS_F32(140), ONS_LEFT_OUT, ONS_LEFT_OUT,
                ONS_F32(3, 1, 4, 5)},
     .settings = {CELL(1)},
     .tolerance = 1e-5,
     .flops = 1680},
    {.name = "batch_first",
     .inputs = {ONS_F32(4, 3, 2), ONS_F32(1, 20, 2), ONS_F32(1, 20, 5), ONS_F32(400), ONS_LEFT_OUT,
                ONS_RECURRENT_LENGTHS_OF(3, 4), ONS_F32(4, 3, 1, 5)},
     .settings = {CELL(4), ONS_SET_INT("layout", 1)},
     .outputs = 7,
     .tolerance = 1e-5,
     .flops = 6720},
    {.name = "threads",
     .inputs = {ONS_RECURRENT_QUIET_OPERANDS(6, 17, 20, 70, 1, 4), ONS_F32(45220), ONS_LEFT_OUT, ONS_LEFT_OUT,
                ONS_F32(6, 1, 17, 70)},
     .settings = {CELL(4)},
     .outputs = 7,
     .tolerance = 1e-4,
     .flops = 10281600},
    {.name = "record",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 1), ONS_F32(141), ONS_LEFT_OUT, ONS_LEFT_OUT},
     .settings = {CELL(1)},
     .error = "record"},
    {.name = "cell",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 4, 2, 5, 1, 2), ONS_F32(141), ONS_LEFT_OUT, ONS_LEFT_OUT},
     .settings = {CELL(2)},
     .error = "no cell"},
    {.name = "lstm_large",
     .inputs = {ONS_RECURRENT_QUIET_OPERANDS(64, 32, 128, 256, 1, 4), ONS_F32(3162112), ONS_LEFT_OUT, ONS_LEFT_OUT,
                ONS_F32(64, 1, 32, 256)},
     .settings = {CELL(4)},
     .outputs = 5,
     .tolerance = 1e-4,
     .flops = 3221225472,
     .benchmark = true},
    {.name = "gru_large",
     .inputs = {ONS_RECURRENT_QUIET_OPERANDS(64, 32, 128, 256, 1, 3), ONS_F32(2629632), ONS_LEFT_OUT, ONS_LEFT_OUT,
                ONS_F32(64, 1, 32, 256)},
     .settings = {CELL(3), ONS_SET_INT("variant", 1)},
     .outputs = 5,
     .tolerance = 1e-4,
     .flops = 2415919104,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(recurrent_gradient, "RecurrentGradient", ONS_INTERNAL, ONS_ARITY(4, 9, 1, 7),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES, ONS_INT_ATTRIBUTE("variant", 0),
                                   ONS_REQUIRED_ATTRIBUTE("cell", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(recurrent_gradient_infer), ONS_COST(recurrent_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(recurrent_gradient_reference),
                    ONS_CPU_KERNEL(recurrent_gradient_prepare, ons_recurrent_gradient_run),
                    ONS_CUDA_KERNEL(recurrent_gradient_prepare_cuda, ons_cuda_recurrent_gradient),
                    recurrent_gradient_cases);

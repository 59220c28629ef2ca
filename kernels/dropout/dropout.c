/* Dropout as it stands in a file. It passes its input through; ready for training, where it is to drop, it is replaced
 * by dropout_training (see dropout_training_form). What drops is kernels/dropout_training/, and which elements it drops
 * is drawn in kernels/random/dropout.h, with the numbers of random.h beside it. */
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/replacement.h"
#include "graph/upgrade.h"
#include "kernels/common/operator/checks.h"
#include "kernels/operators.h"
#include "kernels/random/dropout.h"

enum { DATA, RATIO, TRAINING_MODE };

enum { SEED, FLOAT_MASK }; /* before opset 10 the mask was of the data's type */

static ons_status *dropout_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, DATA));
    o->outputs[0] = o->inputs[DATA];
    ons_dtype mask = ons_attribute_int(o, FLOAT_MASK) != 0 ? o->inputs[DATA].dtype : ONS_BOOL;
    if (o->output_count > 1) o->outputs[1] = ons_type_make(mask, o->inputs[DATA].shape);
    return NULL;
}

static void dropout_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    int64_t n = ons_elements(&o->inputs[DATA]);
    memcpy(outputs[0], inputs[DATA], (size_t)n * 8);
    for (int64_t i = 0; ons_has_output(o, 1) && outputs[1] != NULL && i < n; ++i) {
        if (ons_dtype_is_float(o->outputs[1].dtype))
            ((double *)outputs[1])[i] = 1;
        else
            ((int64_t *)outputs[1])[i] = 1;
    }
}

static ons_status *dropout_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    return NULL;
}

/* Before opset 12 the ratio was an attribute, and nothing in the node said whether it was training; before opset 7
 * `is_test` did, and its absence meant training. */
static ons_status *dropout_upgrade(ons_upgrade *u) {
    if (u->opset < 10)
        ONS_TRY(ons_upgrade_set(u, "onstage_float_mask", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = 1}));
    if (u->opset >= 12) return NULL;
    ONS_TRY(ons_upgrade_attribute_to_input(u, "ratio", RATIO, ONS_FLOAT32));
    if (u->opset >= 7) return NULL;
    const ons_attribute *test = ons_upgrade_find(u, "is_test");
    bool training = test == NULL || test->i == 0;
    ons_upgrade_remove(u, "is_test");
    return ons_upgrade_set_input_scalar(u, TRAINING_MODE, ONS_BOOL, training);
}

/* The known contents of an optional scalar input. */
static ons_status *read_scalar(const ons_operands *o, uint32_t input, const char *what, double *value) {
    if (!ons_has_input(o, input)) return NULL;
    const ons_tensor *constant = &o->constants[input];
    if (constant->data == NULL)
        return ons_node_error(o, "its %s depends on data; choose with the dropout option (off, or a ratio)", what);
    if (ons_shape_elements(&constant->type.shape) != 1) return ons_node_error(o, "its %s is not a scalar", what);
    union {
        double real;
        int64_t integer;
    } word;
    ons_widen(constant->type.dtype, constant->data, 1, &word);
    *value = ons_dtype_is_float(constant->type.dtype) ? word.real : (double)word.integer;
    return NULL;
}

/* The ratio to train with; 0 where nothing is to be dropped. */
static ons_status *training_ratio(const ons_operands *o, const ons_mode *mode, double *ratio) {
    double training = 0;
    *ratio = 0;
    if (!mode->training || mode->dropout == ONS_AS_INFERENCE) return NULL;
    if (mode->dropout == ONS_AS_TRAINING) {
        *ratio = mode->dropout_ratio;
        return NULL;
    }
    ONS_TRY(read_scalar(o, TRAINING_MODE, "training mode", &training));
    if (training == 0) return NULL;
    *ratio = 0.5;
    return read_scalar(o, RATIO, "ratio", ratio);
}

static ons_value_id mask_as_declared(ons_replacement *m, ons_value_id mask) {
    if (ons_attribute_int(m->operands, FLOAT_MASK) == 0) return mask;
    return ons_build(m->builder, &ons_op_cast, ONS_IN(mask), ONS_WITH(ONS_AT_INT(0, m->operands->inputs[DATA].dtype)));
}

static ons_status *pass_through(ons_replacement *m) {
    m->outputs[0] = m->inputs[DATA];
    if (m->operands->output_count < 2 || !m->outputs_used[1]) return NULL;
    ons_type type = ons_type_make(ONS_BOOL, m->operands->inputs[DATA].shape);
    int64_t *kept;
    int64_t n = ons_shape_elements(&type.shape);
    ONS_NEW(kept, m->builder->graph->arena, (size_t)n + 1);
    for (int64_t i = 0; i < n; ++i) kept[i] = 1;
    m->outputs[1] = mask_as_declared(m, ons_build_constant(m->builder, m->operands->name, &type, kept));
    return NULL;
}

static ons_status *dropout_training_form(ons_replacement *m, const ons_mode *mode) {
    double ratio;
    ONS_TRY(training_ratio(m->operands, mode, &ratio));
    ONS_TRY(ons_dropout_check(m->operands, ratio));
    m->replaced = true;
    if (ratio == 0) return pass_through(m);
    bool wanted[2] = {true, m->operands->output_count > 1 && m->outputs_used[1]};
    ons_value_id outputs[2];
    ons_build_node(m->builder, &ons_op_dropout_training, ONS_IN(m->inputs[DATA]),
                   ONS_WITH(ONS_AT_FLOAT(0, ratio), {1, m->operands->attributes[SEED]}), 2, wanted, outputs);
    m->outputs[0] = outputs[0];
    if (wanted[1]) m->outputs[1] = mask_as_declared(m, outputs[1]);
    return NULL;
}

ONS_DEFINE_OPERATOR(dropout, "Dropout", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 3, 1, 2),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_INT),
                                   ONS_INT_ATTRIBUTE("onstage_float_mask", 0)),
                    ONS_INFER(dropout_infer), ONS_COST(ons_cost_free),
                    ONS_GRADIENT_RULE(dropout_gradient, ONS_INPUT_BIT(DATA)), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM | ONS_TRAIT_ELEMENTWISE, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT,
                    ONS_TRAINING_FORMS(dropout_upgrade, ONS_NO_PATTERNS, dropout_training_form,
                                       ONS_IN_INFERENCE(NULL, 2, ONS_VARIADIC)),
                    ONS_REFERENCE(dropout_reference));

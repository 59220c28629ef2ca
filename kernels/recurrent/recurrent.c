#include "kernels/recurrent/recurrent.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "graph/upgrade.h"
#include "kernels/common/operator/checks.h"
#include "kernels/operators.h"

/* ------------------------------------------------------------------------------------------------------- attributes */

/* Activations that each cell has: LSTM f g h, GRU f g, RNN f. */
static uint32_t activation_count(ons_cell cell) { return cell == ONS_CELL_LSTM ? 3 : cell == ONS_CELL_GRU ? 2 : 1; }

/* The next of the values given for all activations in order; those that are missing keep the default. */
static void take_value(const ons_attribute *list, uint32_t *next, double *value) {
    if (list->kind == ONS_ATTRIBUTE_FLOATS && *next < list->count) *value = list->floats[(*next)++];
}

static ons_status *find_activations(const ons_operands *o, ons_recurrent *r) {
    static const char *const defaults[] = {"Sigmoid", "Tanh", "Tanh"};
    const ons_attribute *names = &o->attributes[ONS_RECURRENT_NAMES];
    uint32_t each = activation_count(r->cell), alphas = 0, betas = 0;
    bool given = names->kind == ONS_ATTRIBUTE_STRINGS && names->count > 0;
    if (given && names->count != each * r->directions)
        return ons_node_error(o, "attribute 'activations' names %u functions, not %u for each direction", names->count,
                              each);
    for (int64_t d = 0; d < r->directions; ++d)
        for (uint32_t i = 0; i < each; ++i) {
            const char *name = given ? names->strings[d * each + i] : defaults[r->cell == ONS_CELL_RNN ? 1 : i];
            ons_recurrent_activation *activation = &r->activations[d][i];
            bool has_alpha, has_beta;
            if (!ons_recurrent_activation_find(name, activation, &has_alpha, &has_beta))
                return ons_node_error(o, "unknown activation '%s'", name);
            if (has_alpha) take_value(&o->attributes[ONS_RECURRENT_ALPHA], &alphas, &activation->alpha);
            if (has_beta) take_value(&o->attributes[ONS_RECURRENT_BETA], &betas, &activation->beta);
            bool of_a_gate = r->cell != ONS_CELL_LSTM || i < 2;
            r->keeps_slopes |= of_a_gate && !ons_recurrent_activation_result_tells(activation);
        }
    return NULL;
}

static ons_status *find_direction(const ons_operands *o, ons_recurrent *r) {
    const char *direction = ons_attribute_string(o, ONS_RECURRENT_DIRECTION);
    if (strcasecmp(direction, "forward") != 0 && strcasecmp(direction, "reverse") != 0 &&
        strcasecmp(direction, "bidirectional") != 0)
        return ons_node_error(o, "unknown direction '%s'", direction);
    r->directions = strcasecmp(direction, "bidirectional") == 0 ? 2 : 1;
    r->reverse[0] = strcasecmp(direction, "reverse") == 0;
    r->reverse[1] = true;
    return NULL;
}

static ons_status *find_attributes(const ons_operands *o, ons_recurrent *r) {
    ONS_TRY(find_direction(o, r));
    r->clip = ons_has_attribute(o, ONS_RECURRENT_CLIP) ? ons_attribute_float(o, ONS_RECURRENT_CLIP) : INFINITY;
    if (!(r->clip > 0)) return ons_node_error(o, "attribute 'clip' must be positive, not %g", r->clip);
    r->keeps_slopes = isfinite(r->clip);
    ONS_TRY(find_activations(o, r));
    int64_t layout = ons_attribute_int(o, ONS_RECURRENT_LAYOUT);
    if (layout != 0 && layout != 1) return ons_node_error(o, "unknown layout %lld", (long long)layout);
    r->batch_first = layout == 1;
    bool variant = r->cell != ONS_CELL_RNN && ons_attribute_int(o, ONS_RECURRENT_VARIANT) != 0;
    r->coupled = variant && r->cell == ONS_CELL_LSTM;
    r->reset_after = variant && r->cell == ONS_CELL_GRU;
    return NULL;
}

/* GRU's last gate stays where it is: what R is multiplied with for it is another state. */
static ons_status *find_gate_order(const ons_operands *o, ons_recurrent *r) {
    const ons_attribute *order = &o->attributes[ONS_RECURRENT_GATE_ORDER];
    bool given = ons_has_attribute(o, ONS_RECURRENT_GATE_ORDER), seen[ONS_RECURRENT_GATES] = {false};
    if (given && order->count != r->gates)
        return ons_node_error(o, "attribute 'gate_order' names %u gates, not %lld", order->count, (long long)r->gates);
    for (int64_t place = 0; place < r->gates; ++place) {
        int64_t gate = given ? order->ints[place] : place;
        bool fits = gate >= 0 && gate < r->gates && !seen[gate] &&
                    (r->cell != ONS_CELL_GRU || gate != ONS_GRU_H || place == ONS_GRU_H);
        if (!fits) return ons_node_error(o, "attribute 'gate_order' is no order of this cell's gates");
        seen[gate] = true;
        r->gate_at[gate] = place * r->hidden;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- shapes */

static ons_status *check_shape(const ons_operands *o, uint32_t input, const char *name, ons_shape wanted) {
    if (!ons_has_input(o, input)) return NULL;
    const ons_type *type = &o->inputs[input];
    char got[ONS_TYPE_TEXT], text[ONS_TYPE_TEXT];
    ons_type expected = ons_type_make(type->dtype, wanted);
    if (!ons_shape_equal(&type->shape, &wanted))
        return ons_node_error(o, "%s is %s, which should be %s", name, ons_type_print(type, got),
                              ons_type_print(&expected, text));
    return NULL;
}

/* The record is the largest of all; that 16 times its longest row fits keeps every sum of its parts in range. */
static ons_status *lay_out_record(const ons_operands *o, ons_recurrent *r) {
    ons_shape bound = {5, {r->steps + 1, r->batch, r->hidden, r->directions, 16}};
    ONS_TRY_AT(ons_shape_check(&bound), "node '%s' (%s)", o->name, o->op->name);
    int64_t sequences = r->directions * r->batch * r->hidden;
    r->hidden_at = sequences * r->steps * r->gates;
    r->cell_at = r->hidden_at + sequences * (r->steps + 1);
    r->candidate_at = r->cell_at + (r->cell == ONS_CELL_LSTM ? sequences * (r->steps + 1) : 0);
    r->slopes_at = r->candidate_at + (r->cell == ONS_CELL_GRU ? sequences * r->steps : 0);
    r->record = r->slopes_at + (r->keeps_slopes ? sequences * r->steps * r->gates : 0);
    return NULL;
}

ons_status *ons_recurrent_of(const ons_operands *o, ons_cell cell, ons_recurrent *r) {
    *r = (ons_recurrent){.cell = cell, .gates = (int64_t)cell};
    ONS_TRY(find_attributes(o, r));
    const ons_shape *x = &o->inputs[ONS_RECURRENT_X].shape, *weights = &o->inputs[ONS_RECURRENT_R].shape;
    if (x->rank != 3) return ons_node_error(o, "X has %u dimensions, not 3", x->rank);
    if (weights->rank != 3) return ons_node_error(o, "R has %u dimensions, not 3", weights->rank);
    r->steps = x->dims[r->batch_first ? 1 : 0];
    r->batch = x->dims[r->batch_first ? 0 : 1];
    r->inputs = x->dims[2];
    r->hidden = weights->dims[2];
    if (ons_has_attribute(o, ONS_RECURRENT_HIDDEN_SIZE) && ons_attribute_int(o, ONS_RECURRENT_HIDDEN_SIZE) != r->hidden)
        return ons_node_error(o, "attribute 'hidden_size' is %lld, but R is made for %lld",
                              (long long)ons_attribute_int(o, ONS_RECURRENT_HIDDEN_SIZE), (long long)r->hidden);
    ONS_TRY(lay_out_record(o, r));
    r->rows = r->gates * r->hidden;
    ONS_TRY(find_gate_order(o, r));
    ONS_TRY(check_shape(o, ONS_RECURRENT_W, "W", (ons_shape){3, {r->directions, r->rows, r->inputs}}));
    return check_shape(o, ONS_RECURRENT_R, "R", (ons_shape){3, {r->directions, r->rows, r->hidden}});
}

ons_type ons_recurrent_state_type(const ons_recurrent *r, ons_dtype dtype) {
    ons_shape shape = {3, {r->directions, r->batch, r->hidden}};
    if (r->batch_first) shape = (ons_shape){3, {r->batch, r->directions, r->hidden}};
    return ons_type_make(dtype, shape);
}

static ons_status *check_inputs(const ons_operands *o, const ons_recurrent *r) {
    ons_dtype dtype = o->inputs[ONS_RECURRENT_X].dtype;
    ONS_TRY(ons_need_float(o, ONS_RECURRENT_X));
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i)) continue;
        ons_dtype wanted = i == ONS_RECURRENT_LENGTHS ? ONS_INT32 : dtype;
        if (o->inputs[i].dtype != wanted)
            return ons_node_error(o, "input %u is %s, which should be %s", i, ons_dtype_name(o->inputs[i].dtype),
                                  ons_dtype_name(wanted));
    }
    ons_shape state = ons_recurrent_state_type(r, dtype).shape;
    ONS_TRY(check_shape(o, ONS_RECURRENT_B, "B", (ons_shape){2, {r->directions, 2 * r->rows}}));
    ONS_TRY(check_shape(o, ONS_RECURRENT_LENGTHS, "sequence_lens", (ons_shape){1, {r->batch}}));
    ONS_TRY(check_shape(o, ONS_RECURRENT_H0, "initial_h", state));
    ONS_TRY(check_shape(o, ONS_RECURRENT_C0, "initial_c", state));
    return check_shape(o, ONS_RECURRENT_P, "P", (ons_shape){2, {r->directions, 3 * r->hidden}});
}

ons_status *ons_recurrent_infer(ons_operands *o, ons_cell cell) {
    ons_recurrent r;
    ONS_TRY(ons_recurrent_of(o, cell, &r));
    ONS_TRY(check_inputs(o, &r));
    ons_dtype dtype = o->inputs[ONS_RECURRENT_X].dtype;
    ons_shape y = {4, {r.steps, r.directions, r.batch, r.hidden}};
    if (r.batch_first) y = (ons_shape){4, {r.batch, r.steps, r.directions, r.hidden}};
    uint32_t record = ons_recurrent_record(cell);
    for (uint32_t i = 0; i < o->output_count; ++i)
        o->outputs[i] = i == ONS_RECURRENT_Y ? ons_type_make(dtype, y)
                        : i < record         ? ons_recurrent_state_type(&r, dtype)
                                             : ons_type_make(dtype, (ons_shape){1, {r.record}});
    return NULL;
}

ons_cost ons_recurrent_cost(const ons_operands *o, ons_cell cell, double passes) {
    ons_recurrent r;
    ons_resolved(ons_recurrent_of(o, cell, &r));
    double products = (double)(r.directions * r.steps * r.batch) * (double)r.rows * (double)(r.inputs + r.hidden);
    return (ons_cost){2 * passes * products, ons_operand_bytes(o)};
}

/* ------------------------------------------------------------------------------------------------ gradient, upgrade */

ons_status *ons_recurrent_gradient(ons_gradient *g, ons_cell cell) {
    uint32_t record = ons_recurrent_record(cell);
    const ons_operands *o = g->operands;
    ONS_TRY(ons_refuse_cotangents(g, record));
    ons_attribute attributes[ONS_RECURRENT_CELL + 1] = {0};
    bool has_variant = cell != ONS_CELL_RNN;
    memcpy(attributes, o->attributes, (ONS_RECURRENT_VARIANT + has_variant) * sizeof attributes[0]);
    if (!has_variant) attributes[ONS_RECURRENT_VARIANT].kind = ONS_ATTRIBUTE_INT;
    attributes[ONS_RECURRENT_CELL] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = (int64_t)cell};

    static const uint32_t sources[ONS_RG_OUTPUTS] = {
        [ONS_RG_DX] = ONS_RECURRENT_X, [ONS_RG_DW] = ONS_RECURRENT_W,   [ONS_RG_DR] = ONS_RECURRENT_R,
        [ONS_RG_DB] = ONS_RECURRENT_B, [ONS_RG_DH0] = ONS_RECURRENT_H0, [ONS_RG_DC0] = ONS_RECURRENT_C0,
        [ONS_RG_DP] = ONS_RECURRENT_P,
    };
    bool wanted[ONS_RG_OUTPUTS] = {[ONS_RG_BEFORE] = true};
    ons_value_id results[ONS_RG_OUTPUTS];
    for (uint32_t i = ONS_RG_DX; i < ONS_RG_OUTPUTS; ++i)
        wanted[i] = ons_has_input(o, sources[i]) && g->wanted[sources[i]];
    ons_build_node_like(g->builder, &ons_op_recurrent_gradient,
                        ONS_IN(ons_gradient_input(g, ONS_RECURRENT_X), ons_gradient_input(g, ONS_RECURRENT_W),
                               ons_gradient_input(g, ONS_RECURRENT_R), ons_gradient_output(g, record),
                               ons_gradient_input(g, ONS_RECURRENT_P), ons_gradient_input(g, ONS_RECURRENT_LENGTHS),
                               g->cotangents[ONS_RECURRENT_Y], g->cotangents[ONS_RECURRENT_Y_H],
                               cell == ONS_CELL_LSTM ? g->cotangents[ONS_RECURRENT_Y_C] : ONS_NONE),
                        attributes, ONS_RG_OUTPUTS, wanted, results);
    for (uint32_t i = ONS_RG_DX; i < ONS_RG_OUTPUTS; ++i)
        if (wanted[i]) g->gradients[sources[i]] = results[i];
    return NULL;
}

ons_status *ons_recurrent_upgrade(ons_upgrade *u) {
    if (u->opset < 7) ons_upgrade_remove(u, "output_sequence");
    return NULL;
}

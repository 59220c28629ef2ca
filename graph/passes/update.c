#include "graph/passes/update.h"

typedef struct updater {
    ons_graph *graph;
    const ons_registry *registry;
    ons_builder builder;
    const ons_optimizer_options *options;
    bool accumulate;
} updater;

/* The names are those of torch.optim's state dictionaries; a state that the options make needless is left out. */
static uint32_t state_names(const ons_optimizer_options *options, const char *names[2]) {
    switch (options->role) {
    case ONS_ROLE_SGD: names[0] = "momentum_buffer"; return options->momentum != 0;
    case ONS_ROLE_ADAM:
    case ONS_ROLE_ADAMW: names[0] = "exp_avg", names[1] = "exp_avg_sq"; return 2;
    case ONS_ROLE_ADAGRAD: names[0] = "sum"; return 1;
    case ONS_ROLE_RMSPROP: names[0] = "square_avg", names[1] = "momentum_buffer"; return options->momentum != 0 ? 2 : 1;
    default: return 0;
    }
}

static ons_value_id new_state(updater *u, const char *name, const ons_type *like) {
    ons_type type = ons_type_make(like->dtype, like->shape);
    ons_value_id id = ONS_NONE;
    if (u->builder.failure == NULL)
        ons_builder_fail(&u->builder, ons_graph_add_value(u->graph, name, ONS_STATE, &type, &id));
    return id;
}

/* Output `index` of the node that made `fresh` takes the place of `old`. */
static void pair(updater *u, ons_value_id fresh, ons_value_id old) {
    if (fresh == ONS_NONE) return;
    ons_value *value = ons_graph_value(u->graph, fresh);
    value->pair = old;
    value->kind = ons_graph_value(u->graph, old)->kind;
}

/* Each use of a weight has a sum of its own over the micro-batches. */
static ons_value_id accumulate(updater *u, ons_value_id parameter, ons_value_id gradient, uint32_t use) {
    const ons_value *value = ons_graph_value(u->graph, parameter);
    ons_type type = value->type;
    u->builder.name = ons_arena_format(u->graph->arena, "%s/accumulator_%u", value->name, use);
    u->builder.phase = ONS_WEIGHT_GRADIENT;
    u->builder.per_step = false;
    ons_value_id sum = new_state(u, u->builder.name, &type);
    ons_value_id next = ons_build(&u->builder, ons_registry_role(u->registry, ONS_ROLE_ACCUMULATE),
                                  ONS_IN(sum, gradient), ONS_DEFAULTS);
    pair(u, next, sum);
    return next;
}

static ons_value_id join_uses(updater *u, const ons_parameter_gradient *g) {
    ons_value_id total = ONS_NONE;
    for (uint32_t use = 0; use < g->use_count; ++use) {
        ons_value_id gradient = u->accumulate ? accumulate(u, g->parameter, g->uses[use], use) : g->uses[use];
        u->builder.phase = ONS_UPDATE;
        u->builder.per_step = true;
        u->builder.name = ons_arena_format(u->graph->arena, "%s/uses", ons_graph_value(u->graph, g->parameter)->name);
        total = use == 0 ? gradient
                         : ons_build(&u->builder, ons_registry_role(u->registry, ONS_ROLE_ADD), ONS_IN(total, gradient),
                                     ONS_DEFAULTS);
    }
    return total;
}

enum { SETTINGS = 5 };

static void optimizer_settings(const ons_optimizer_options *o, const double *rate, ons_setting settings[SETTINGS],
                               uint32_t *count) {
    const double *numbers[ONS_ROLE_COUNT][4] = {
        [ONS_ROLE_SGD] = {&o->momentum, &o->weight_decay},
        [ONS_ROLE_ADAM] = {&o->beta1, &o->beta2, &o->eps, &o->weight_decay},
        [ONS_ROLE_ADAMW] = {&o->beta1, &o->beta2, &o->eps, &o->weight_decay},
        [ONS_ROLE_ADAGRAD] = {&o->eps, &o->weight_decay},
        [ONS_ROLE_RMSPROP] = {&o->alpha, &o->eps, &o->weight_decay, &o->momentum},
    };
    *count = 0;
    for (uint32_t i = 0; i < 4 && numbers[o->role][i] != NULL; ++i)
        settings[(*count)++] = (ons_setting)ONS_AT_FLOAT(i, *numbers[o->role][i]);
    if (o->role == ONS_ROLE_SGD) settings[(*count)++] = (ons_setting)ONS_AT_INT(2, o->nesterov);
    if (rate != NULL) {
        settings[*count] = (ons_setting)ONS_AT_FLOAT(*count, *rate);
        ++*count;
    }
}

static void build_update(updater *u, ons_trained *t, ons_value_id factor, const char *const names[2], uint32_t states) {
    ons_value_id inputs[5] = {t->parameter, t->gradient, factor}, outputs[3];
    const char *name = ons_graph_value(u->graph, t->parameter)->name;
    ons_type type = ons_graph_value(u->graph, t->parameter)->type;
    for (uint32_t i = 0; i < states; ++i) {
        t->states[i] = new_state(u, ons_arena_format(u->graph->arena, "%s/%s", name, names[i]), &type);
        inputs[3 + i] = t->states[i];
    }
    ons_setting settings[SETTINGS];
    uint32_t count;
    optimizer_settings(u->options, t->rate, settings, &count);
    u->builder.name = ons_arena_format(u->graph->arena, "%s/update", name);
    ons_build_node(&u->builder, ons_registry_role(u->registry, u->options->role), (ons_inputs){inputs, 3 + states},
                   (ons_settings){settings, count}, 1 + states, NULL, outputs);
    pair(u, outputs[0], t->parameter);
    for (uint32_t i = 0; i < states; ++i) pair(u, outputs[1 + i], t->states[i]);
}

/* The norm over all gradients, and by what they are multiplied, where they have the loss's scale in them (fp16). One
 * node finds both, and brings the scale up to date for the next step. */
static ons_status *build_scale(updater *u, const ons_value_id *squares, ons_update_result *result,
                               ons_value_id *factor) {
    ons_value_id *inputs, outputs[5];
    ONS_NEW(inputs, u->graph->arena, result->trained_count + 2);
    inputs[0] = u->options->scale;
    inputs[1] = u->options->scale_counts;
    for (uint32_t i = 0; i < result->trained_count; ++i) inputs[2 + i] = squares[i];
    u->builder.name = "loss_scale";
    ons_build_node(&u->builder, ons_registry_role(u->registry, ONS_ROLE_LOSS_SCALE),
                   (ons_inputs){inputs, result->trained_count + 2}, ONS_WITH(ONS_AT_FLOAT(0, u->options->clip_norm)), 5,
                   NULL, outputs);
    pair(u, outputs[0], inputs[0]);
    pair(u, outputs[1], inputs[1]);
    result->norm = outputs[2];
    *factor = outputs[3];
    result->scale = outputs[4];
    return NULL;
}

/* The norm over all gradients, and by what they are multiplied, with the loss's scale or without. Where nothing is
 * clipped or scaled the host adds up the square sums: stages then need not send them to each other. */
static ons_status *build_norm(updater *u, ons_update_result *result, ons_value_id *factor) {
    ons_value_id *squares;
    ONS_NEW(squares, u->graph->arena, result->trained_count);
    for (uint32_t i = 0; i < result->trained_count; ++i) {
        ons_trained *t = &result->trained[i];
        u->builder.name =
            ons_arena_format(u->graph->arena, "%s/square_sum", ons_graph_value(u->graph, t->parameter)->name);
        squares[i] = t->square_sum = ons_build(&u->builder, ons_registry_role(u->registry, ONS_ROLE_SQUARE_SUM),
                                               ONS_IN(t->gradient), ONS_DEFAULTS);
    }
    if (u->options->scales_loss) return build_scale(u, squares, result, factor);
    if (u->options->clip_norm <= 0) return NULL;
    u->builder.name = "gradient_norm";
    ons_value_id outputs[2];
    ons_build_node(&u->builder, ons_registry_role(u->registry, ONS_ROLE_CLIP_FACTOR),
                   (ons_inputs){squares, result->trained_count}, ONS_WITH(ONS_AT_FLOAT(0, u->options->clip_norm)), 2,
                   NULL, outputs);
    result->norm = outputs[0];
    *factor = outputs[1];
    return NULL;
}

ons_status *ons_add_loss_scale(ons_graph *graph, ons_optimizer_options *options) {
    ons_type number = {.dtype = ONS_FLOAT32}, two = {.dtype = ONS_FLOAT32, .shape = {1, {2}}};
    void *data;
    ons_data_id id;
    ONS_TRY(ons_store_add(graph->store, &number, &data, &id));
    *(float *)data = (float)options->first_scale;
    ONS_TRY(ons_graph_add_value(graph, "loss_scale", ONS_BUFFER, &number, &options->scale));
    ons_graph_value(graph, options->scale)->data = id;
    options->scales_loss = true;
    return ons_graph_add_value(graph, "loss_scale/counts", ONS_BUFFER, &two, &options->scale_counts);
}

ons_status *ons_attach_update(ons_graph *graph, const ons_registry *registry, const ons_parameter_gradient *gradients,
                              uint32_t gradient_count, const ons_optimizer_options *options, bool accumulate,
                              ons_update_result *result) {
    updater u = {
        .graph = graph,
        .registry = registry,
        .builder = {.graph = graph, .registry = registry, .origin = ONS_NONE},
        .options = options,
        .accumulate = accumulate,
    };
    *result = (ons_update_result){.norm = ONS_NONE, .scale = ONS_NONE};
    ONS_NEW(result->trained, graph->arena, gradient_count + 1);
    for (uint32_t i = 0; i < gradient_count; ++i) {
        if (gradients[i].use_count == 0) continue;
        ons_value_id gradient = join_uses(&u, &gradients[i]);
        result->trained[result->trained_count++] =
            (ons_trained){gradients[i].parameter, gradient, ONS_NONE, {ONS_NONE, ONS_NONE}, gradients[i].rate};
    }
    u.builder.phase = ONS_UPDATE;
    u.builder.per_step = true;
    ons_value_id factor = ONS_NONE;
    if ((options->clip_norm > 0 || options->want_norms || options->scales_loss) && result->trained_count > 0) {
        ons_status *status = build_norm(&u, result, &factor);
        ons_builder_fail(&u.builder, status);
    }
    uint32_t states = state_names(options, result->state_names);
    for (uint32_t i = 0; i < result->trained_count; ++i)
        build_update(&u, &result->trained[i], factor, result->state_names, states);
    return ons_builder_finish(&u.builder);
}

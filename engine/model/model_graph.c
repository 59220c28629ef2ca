#include "engine/model/model_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hash.h"
#include "engine/config/batchnorm_of.h"
#include "engine/model/class_weights.h"
#include "engine/model/loss_division.h"
#include "engine/model/masters.h"
#include "engine/model/own_rates.h"
#include "graph/graph.h"
#include "graph/passes/fuse.h"
#include "graph/passes/fuse_elementwise.h"
#include "graph/passes/fuse_gemm.h"
#include "graph/passes/half_weights.h"
#include "graph/passes/hoist_accumulation.h"
#include "graph/passes/layout.h"
#include "graph/passes/low_gradients.h"
#include "graph/passes/masters.h"
#include "graph/passes/precision.h"
#include "graph/passes/shard.h"
#include "kernels/kernels.h"

typedef struct assembly {
    const ons_model_graph_options *o;
    ons_model_graph *r;
    ons_value_id loss_part; /* of one micro-batch: where differentiation starts; ONS_NONE once that is done */
    /* from differentiation to the update */
    ons_value_id *weights;
    ons_parameter_gradient *gradients; /* of each */
    uint32_t weight_count;
    ons_optimizer_options optimizer;
    ons_value_id *masters; /* what the pass of that name holds in float32; of no use behind it */
    uint32_t master_count;
} assembly;

void ons_model_graph_free(ons_model_graph *stage) {
    ons_graph_free(stage->graph);
    *stage = (ons_model_graph){0};
}

static ons_binding_options binding_of(const assembly *a) {
    const ons_model_graph_options *o = a->o;
    return (ons_binding_options){o->model, o->config, o->dataset, o->fallback, o->training, o->blockers};
}

static ons_status *bind(assembly *a) {
    const ons_binding_options options = binding_of(a);
    return ons_bind_model(&options, a->o->rows, &a->r->graph);
}

/* The model's own loss becomes one that adds up over parts of the batch. */
static ons_status *divide_loss(assembly *a) {
    const ons_binding_options options = binding_of(a);
    ons_model_graph *r = a->r;
    ons_value_id loss;
    ons_loss_parts parts;
    ONS_TRY(ons_divide_loss(&options, a->o->rows, r->graph, r->graph->arena, &loss, &parts));
    if (loss == ONS_NONE) return NULL;
    r->loss_obstacle = parts.obstacle; /* the caller refuses it if the batch has parts */
    r->loss_guess = parts.guessed;
    if (parts.obstacle.node != NULL) return NULL;
    ONS_TRY(ons_loss_parts_apply(r->graph, a->o->model->registry, &parts, &loss));
    r->total_count = parts.total_count;
    r->loss_sums = parts.degree == 1;
    return NULL;
}

static bool has_shards(const assembly *a) { return ons_sharded_count(a->o->model->file) > 0; }

/* In front of all that reads layers, so that a shard's nodes are joined as a whole layer's are. */
static ons_status *shard_layers(assembly *a) { return ons_shard(a->r->graph, a->o->model->registry, NULL); }

static ons_status *shard_loss(const assembly *a, ons_tracked_values *tracked) {
    return ons_shard(a->r->graph, a->o->model->registry, tracked);
}

static ons_status *note_ends(assembly *a) {
    ons_model_graph *r = a->r;
    r->rows = a->o->rows;
    r->input_count = (uint32_t)r->graph->inputs.count - r->total_count;
    ONS_NEW(r->inputs, r->graph->arena, r->input_count + 2);
    for (uint32_t i = 0; i < r->input_count; ++i) r->inputs[i] = r->graph->inputs.items[i];
    ONS_NEW(r->totals, r->graph->arena, r->total_count + 1);
    for (uint32_t i = 0; i < r->total_count; ++i) r->totals[i] = r->graph->inputs.items[r->input_count + i];
    r->output_count = (uint32_t)r->graph->outputs.count;
    ONS_NEW(r->outputs, r->graph->arena, r->output_count + 1);
    for (uint32_t i = 0; i < r->output_count; ++i) r->outputs[i] = r->graph->outputs.items[i];
    return NULL;
}

static ons_type target_type(const ons_dataset *dataset, int64_t rows) {
    ons_type sample = ons_dataset_sample_type(dataset, ons_dataset_find(dataset, ONS_TARGET_FIELD));
    ons_type type = {.dtype = ONS_INT64, .shape = {.rank = sample.shape.rank + 1}};
    type.shape.dims[0] = rows;
    for (uint32_t i = 0; i < sample.shape.rank && i + 1 < ONS_RANK_MAX; ++i)
        type.shape.dims[i + 1] = sample.shape.dims[i];
    return type;
}

/* Sums the parts of the micro-batches. */
static ons_status *accumulate_loss(assembly *a) {
    ons_graph *graph = a->r->graph;
    ons_builder b = {.graph = graph,
                     .registry = a->o->model->registry,
                     .phase = ONS_FORWARD,
                     .origin = ONS_NONE,
                     .name = "loss/sum"};
    ons_type type = ons_builder_type(&b, a->loss_part);
    ons_value_id sum;
    ONS_TRY(ons_graph_add_value(graph, "loss/sum", ONS_STATE, &type, &sum));
    a->r->loss =
        ons_build(&b, ons_registry_role(b.registry, ONS_ROLE_ACCUMULATE), ONS_IN(sum, a->loss_part), ONS_DEFAULTS);
    ONS_TRY(ons_builder_finish(&b));
    ons_graph_value(graph, a->r->loss)->pair = sum;
    ons_graph_value(graph, a->r->loss)->kind = ONS_STATE;
    return NULL;
}

/* The file's name of an output, as the bound graph has it: passes may have replaced the value. */
static ons_status *resolve_output(const assembly *a, const char **name) {
    const ons_graph *imported = a->o->model->graph;
    for (size_t i = 0; *name != NULL && i < imported->outputs.count; ++i)
        if (strcmp(ons_graph_value(imported, imported->outputs.items[i])->name, *name) == 0) {
            *name = ons_graph_value(a->r->graph, a->r->outputs[i])->name;
            return NULL;
        }
    ONS_CHECK(*name == NULL, ONS_INVALID_ARGUMENT, "--loss-output: the model has no output named '%s'", *name);
    return NULL;
}

static ons_status *attach_loss(assembly *a) {
    const ons_model_graph_options *o = a->o;
    ons_model_graph *r = a->r;
    ons_loss_options loss;
    r->loss_name = o->config->loss.text;
    if (o->dataset == NULL && r->output_count > 0) {
        r->loss_name = ons_config_loss_name(o->config, &ons_graph_value(r->graph, r->outputs[0])->type);
        ONS_TRY(ons_config_loss_or_usual(o->config, &ons_graph_value(r->graph, r->outputs[0])->type, &loss));
    } else {
        ONS_TRY(ons_config_loss(o->config, &loss));
    }
    loss.sums = r->loss_sums;
    ONS_TRY(resolve_output(a, &loss.output));
    ONS_TRY(ons_class_weights_read(o->config, r->graph->arena, &loss));
    bool target = o->dataset != NULL && ons_dataset_find(o->dataset, ONS_TARGET_FIELD) != ONS_NO_FIELD;
    if (loss.role != ONS_ROLE_SAMPLE_MEAN) {
        ONS_CHECK(target || o->dataset == NULL, ONS_INVALID_ARGUMENT, "--loss %s needs targets; give --target FILE",
                  o->config->loss.text);
        if (target) loss.target = target_type(o->dataset, o->rows);
    }
    ons_status *status =
        ons_attach_loss(r->graph, o->model->registry, &loss, &r->target, &a->loss_part, &r->prediction);
    if (target && loss.output == NULL) status = ons_other_outputs_hint(status, o->dataset, &loss, r->graph);
    ONS_TRY(status);
    if (ons_loss_counts_classes(loss.role)) { /* the loss's own attribute 0, see graph/passes/loss.h */
        r->class_axis =
            (uint32_t)ons_graph_node(r->graph, ons_graph_value(r->graph, a->loss_part)->producer)->attributes[0].i;
        r->classes = ons_graph_value(r->graph, r->prediction)->type.shape.dims[r->class_axis];
    }
    r->class_weights = (ons_target_weights){loss.class_weights, loss.class_weight_count};
    if (o->training && o->dataset != NULL && loss.output == NULL)
        ONS_TRY(
            ons_other_outputs_find(o->model, o->config, o->dataset, &loss, r->graph, r->prediction, &r->other_outputs));
    r->prediction_name = ons_graph_value(r->graph, r->prediction)->name;
    if (r->target != ONS_NONE) r->inputs[r->input_count++] = r->target;
    r->loss = a->loss_part;
    return o->repeats ? accumulate_loss(a) : NULL;
}

/* Casts for --precision, in the forward part alone: the backward part follows. */
static ons_status *lower(const assembly *a, ons_tracked_values *tracked) {
    return ons_lower_precision(a->r->graph, a->o->model->registry, ons_config_low_type(a->o->config), tracked, NULL);
}

ons_status *ons_trainable_weights(const ons_model *model, const ons_config *config, const ons_graph *bound,
                                  const bool *reaches, ons_arena *arena, ons_value_id **weights, uint32_t *count) {
    *count = 0;
    ONS_TRY(ons_config_check_choices(config, model->graph));
    ONS_TRY(ons_config_check_batchnorm_of(config, model->graph));
    ONS_NEW(*weights, arena, model->graph->values.count + 1);
    for (ons_value_id id = 0; id < model->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(model->graph, id);
        ons_value_id found = value->kind == ONS_PARAMETER ? ons_graph_find_value(bound, value->name) : ONS_NONE;
        if (found != ONS_NONE && reaches[found] && ons_config_trains(config, value)) (*weights)[(*count)++] = found;
    }
    return NULL;
}

static ons_status *find_weights(assembly *a) {
    const ons_model_graph_options *o = a->o;
    bool *reaches;
    ONS_TRY(ons_gradient_reaches(a->r->graph, a->loss_part, &reaches));
    ons_status *status = ons_trainable_weights(o->model, o->config, a->r->graph, reaches, a->r->graph->arena,
                                               &a->weights, &a->weight_count);
    free(reaches);
    ONS_TRY(status);
    ONS_CHECK(
        a->weight_count > 0, ONS_INVALID_ARGUMENT,
        "nothing to train: no float initialiser that a gradient reaches is left; see `onstage inspect` and --train");
    return NULL;
}

/* The scale, a state of the stage that updates it, as a value that goes to stages which have parts of the loss. */
static ons_status *copy_scale(const assembly *a, ons_value_id scale, ons_value_id *copy) {
    ons_builder b = {.graph = a->r->graph,
                     .registry = a->o->model->registry,
                     .phase = ONS_INPUT_GRADIENT,
                     .origin = ons_graph_value(a->r->graph, a->loss_part)->producer,
                     .name = "loss_scale/copy"};
    *copy = ons_build(&b, ons_registry_role(b.registry, ONS_ROLE_SUM), ONS_IN(scale), ONS_DEFAULTS);
    return ons_builder_finish(&b);
}

/* What the loss's gradient is multiplied by; ONS_NONE: 1, which a loss that makes its own gradient knows of. */
static ons_status *find_cotangent(assembly *a, ons_value_id *cotangent) {
    ons_graph *graph = a->r->graph;
    const ons_type *loss = &ons_graph_value(graph, a->loss_part)->type;
    *cotangent = ONS_NONE;
    if (ons_config_low_type(a->o->config) == ONS_FLOAT16) {
        ONS_CHECK(loss->dtype == ONS_FLOAT32, ONS_UNSUPPORTED,
                  "--precision fp16: the loss is %s, and a scale is float32; take --precision fp32",
                  ons_dtype_name(loss->dtype));
        ONS_TRY(ons_add_loss_scale(graph, &a->optimizer));
        *cotangent = a->optimizer.scale;
        return has_shards(a) ? copy_scale(a, a->optimizer.scale, cotangent) : NULL;
    }
    return a->o->unfused ? ons_graph_add_value(graph, "loss_gradient", ONS_CONSTANT, loss, cotangent) : NULL;
}

static ons_status *differentiate(assembly *a) {
    const ons_model_graph_options *o = a->o;
    ons_value_id cotangent;
    ONS_TRY(find_weights(a));
    ONS_NEW(a->gradients, a->r->graph->arena, a->weight_count);
    ONS_TRY(ons_config_optimizer(o->config, &a->optimizer));
    ONS_TRY(find_cotangent(a, &cotangent));
    return ons_differentiate(a->r->graph, o->model->registry, a->loss_part, cotangent, a->weights, a->weight_count,
                             o->blockers, a->gradients);
}

static ons_status *update(assembly *a) {
    const ons_model_graph_options *o = a->o;
    ons_graph *graph = a->r->graph;
    a->loss_part = ONS_NONE;
    ONS_TRY(ons_own_rates_assign(o->config, o->model->graph, graph, a->gradients, a->weight_count));
    return ons_attach_update(graph, o->model->registry, a->gradients, a->weight_count, &a->optimizer, o->repeats,
                             &a->r->update);
}

static ons_status *keep(assembly *a, ons_value_id value) {
    if (value != ONS_NONE) {
        a->r->kept[a->r->kept_count++] = value;
        ONS_PUSH(&a->r->graph->outputs, value);
    }
    return NULL;
}

/* What the host reads becomes the graph's outputs, so that the rest can be pruned. In training nobody reads the model's
 * own. */
static ons_status *choose_outputs(assembly *a) {
    ons_model_graph *r = a->r;
    r->graph->outputs.count = 0;
    ONS_NEW(r->kept, r->graph->arena, r->update.trained_count + r->output_count + 5);
    ONS_TRY(keep(a, r->loss));
    if (!a->o->training) {
        for (uint32_t i = 0; i < r->output_count; ++i) ONS_TRY(keep(a, r->outputs[i]));
        return NULL;
    }
    r->output_count = 0;
    r->prediction = ONS_NONE;
    ONS_TRY(keep(a, r->update.norm));
    ONS_TRY(keep(a, r->update.scale));
    if (r->update.trained_count == 0 || r->update.trained[0].square_sum == ONS_NONE) return NULL;
    r->squares_idle = r->update.norm == ONS_NONE && !ons_config_logs_norms(a->o->config);
    ONS_NEW(r->squares, r->graph->arena, r->update.trained_count + 1);
    for (uint32_t i = 0; i < r->update.trained_count; ++i) {
        r->squares[i] = r->update.trained[i].square_sum;
        ONS_TRY(keep(a, r->squares[i]));
    }
    return NULL;
}

/* ONSTAGE_FUSED=off, for comparison: each elementwise operator by its own kernel. */
static bool joins_elementwise(void) { return !ons_environment_is_off(ONS_ENV_ONSTAGE_FUSED); }

/* Of a GPU: convolutions on them are fast with channels last alone. In full float32 they are not used, and graphs keep
 * ONNX's order. */
static bool uses_matrix_units(const ons_config *config) {
    return ons_config_low_type(config) != ONS_FLOAT32 || ons_config_takes_tf32(config);
}

static ons_status *share_casts(const assembly *a, ons_tracked_values *tracked) {
    return ons_config_low_type(a->o->config) != ONS_FLOAT32
               ? ons_share_weight_casts(a->r->graph, a->o->model->registry)
               : ons_share_master_casts(a->r->graph, a->o->model->registry);
}

/* ONSTAGE_HALF_WEIGHTS=off, for comparison: steps begin with casts. */
static bool keeps_half_weights(const ons_config *config) {
    return !config->shard_optimizer && !ons_environment_is_off(ONS_ENV_ONSTAGE_HALF_WEIGHTS);
}

static ons_status *keep_half_weights(const assembly *a, ons_tracked_values *tracked) {
    return ons_keep_half_weights(a->r->graph, a->o->model->registry, a->o->like);
}

static ons_status *read_low_gradients(const assembly *a, ons_tracked_values *tracked) {
    ons_read_low_gradients(a->r->graph, a->o->model->registry);
    return NULL;
}

static ons_status *hoist_accumulation(const assembly *a, ons_tracked_values *tracked) {
    return ons_hoist_accumulation(a->r->graph, a->o->model->registry, tracked);
}

static ons_status *fuse_gemm(const assembly *a, ons_tracked_values *tracked) {
    return ons_fuse_gemm(a->r->graph, a->o->model->registry, ons_gemm_fusion_rules(a->o->for_gpu), tracked);
}

static ons_status *fuse_elementwise(const assembly *a, ons_tracked_values *tracked) {
    return ons_fuse_elementwise(a->r->graph, ons_elementwise_fusion_rules(), tracked);
}

static ons_status *choose_layouts(const assembly *a, ons_tracked_values *tracked) {
    const ons_layout_choice_options options = {
        .kernels = a->o->for_gpu ? ONS_LAYOUTS_FOR_CUDA : ONS_LAYOUTS_FOR_CPU,
        /* A slice of a weight is one of its elements in ONNX's order. */
        .keeps_weights = a->o->training && !a->o->for_gpu && !a->o->config->shard_optimizer,
        .like = a->o->like,
    };
    return ons_choose_layouts(a->r->graph, a->o->model->registry, &options, tracked);
}

/* Over the graph as it is printed, with all attributes, and what the classes weigh. */
static ons_status *digest(assembly *a) {
    char *text;
    const ons_target_weights *weights = &a->r->class_weights;
    ONS_TRY(ons_graph_print(a->r->graph, &text));
    a->r->digest = ons_hash_text(ONS_HASH_BASIS, text);
    a->r->digest = ons_hash_bytes(a->r->digest, weights->of_class, (size_t)weights->count * sizeof *weights->of_class);
    free(text);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- passes */

/* What does not bind is reported alone: the rest would only report what follows from it. */
static bool is_blocked(const assembly *a) { return a->o->blockers != NULL && a->o->blockers->count > 0; }

static bool always(const assembly *a) { return true; }
static bool trains(const assembly *a) { return a->o->training; }
static bool has_loss(const assembly *a) { return a->o->training || a->o->config->loss.text != NULL; }
static bool divides(const assembly *a) { return has_loss(a) && (a->o->repeats || a->o->divides) && !is_blocked(a); }
static bool fuses(const assembly *a) { return !a->o->unfused; }
static bool shards_loss(const assembly *a) { return has_shards(a) && has_loss(a); }
static bool lowers(const assembly *a) { return ons_config_low_type(a->o->config) != ONS_FLOAT32; }
static bool may_have_masters(const assembly *a) {
    return (a->o->training || a->o->like != NULL) && ons_has_half_weights(a->o->model);
}
/* Behind the pass that finds masters. */
static bool casts_weights(const assembly *a) { return lowers(a) || a->master_count > 0; }
static bool casts_weights_on_gpu(const assembly *a) { return a->o->for_gpu && casts_weights(a); }
static bool has_half_weights(const assembly *a) {
    return trains(a) && casts_weights_on_gpu(a) && keeps_half_weights(a->o->config);
}
static bool joins_chains(const assembly *a) { return a->o->for_gpu && fuses(a) && joins_elementwise(); }
static bool has_layouts(const assembly *a) {
    return !a->o->for_gpu || (!a->o->unfused && uses_matrix_units(a->o->config));
}

typedef ons_status *rewriting(const assembly *a, ons_tracked_values *tracked);
static ons_status *rewrite(rewriting *pass, assembly *a);

static ons_status *put_masters(const assembly *a, ons_tracked_values *tracked) {
    return ons_hold_masters(a->r->graph, a->o->model->registry, a->masters, a->master_count, tracked);
}

/* Float32 for what is trained in a half type. */
static ons_status *hold_masters(assembly *a) {
    ONS_TRY(ons_find_masters(a->o, a->r->graph, a->loss_part, &a->masters, &a->master_count));
    return a->master_count == 0 ? NULL : rewrite(put_masters, a);
}

static ons_status *fuse(assembly *a) { return ons_fuse(&a->r->graph, a->o->model->registry); }

/* What makes a graph out of a model, in order. A pass either builds, and sets the ids of what it adds, or rewrites, and
 * changes those of all that is tracked. */
static const struct pass {
    const char *name;
    bool (*applies)(const assembly *a);
    ons_status *(*build)(assembly *a);
    rewriting *rewrite;
} passes[] = {
    {"bind", always, .build = bind},
    {"divide-loss", divides, .build = divide_loss},
    {"shard", has_shards, .build = shard_layers},
    {"fuse", fuses, .build = fuse},
    {"ends", always, .build = note_ends},
    {"loss", has_loss, .build = attach_loss},
    {"shard-loss", shards_loss, .rewrite = shard_loss},
    {"precision", lowers, .rewrite = lower},
    {"masters", may_have_masters, .build = hold_masters},
    {"differentiate", trains, .build = differentiate},
    {"update", trains, .build = update},
    {"digest", trains, .build = digest},
    {"outputs", always, .build = choose_outputs},
    {"share-casts", casts_weights, .rewrite = share_casts},
    {"half-weights", has_half_weights, .rewrite = keep_half_weights},
    {"low-gradients", casts_weights_on_gpu, .rewrite = read_low_gradients},
    {"hoist-accumulation", always, .rewrite = hoist_accumulation},
    {"fuse-gemm", fuses, .rewrite = fuse_gemm},
    {"fuse-elementwise", joins_chains, .rewrite = fuse_elementwise},
    {"layout", has_layouts, .rewrite = choose_layouts},
};
enum { PASSES = sizeof passes / sizeof *passes };

const char *ons_model_graph_pass(size_t index) { return index < PASSES ? passes[index].name : NULL; }

/* Calls `visit` for every id that somebody else than the graph holds. */
static void visit_ids(assembly *a, ons_tracked_values *t, void (*visit)(ons_tracked_values *t, ons_value_id *id)) {
    ons_model_graph *r = a->r;
    ons_value_id *const single[] = {&r->target,    &r->loss,        &r->prediction,
                                    &a->loss_part, &r->update.norm, &r->update.scale};
    t->count = 0;
    for (size_t i = 0; i < sizeof single / sizeof *single; ++i) visit(t, single[i]);
    for (uint32_t i = 0; i < r->input_count; ++i) visit(t, &r->inputs[i]);
    for (uint32_t i = 0; i < r->total_count; ++i) visit(t, &r->totals[i]);
    for (uint32_t i = 0; i < r->output_count; ++i) visit(t, &r->outputs[i]);
    for (size_t i = 0; i < r->kept_count; ++i) visit(t, &r->kept[i]);
    for (uint32_t i = 0; i < r->update.trained_count; ++i) {
        ons_trained *each = &r->update.trained[i];
        visit(t, &each->parameter);
        visit(t, &each->states[0]);
        visit(t, &each->states[1]);
        if (r->squares != NULL) visit(t, &r->squares[i]);
    }
}

static void count_id(ons_tracked_values *t, ons_value_id *id) { ++t->count; }
static void take_id(ons_tracked_values *t, ons_value_id *id) { t->ids[t->count++] = *id; }
static void give_id(ons_tracked_values *t, ons_value_id *id) { *id = t->ids[t->count++]; }

/* Ids that the pass has changed are changed wherever they are held. */
static ons_status *rewrite(rewriting *pass, assembly *a) {
    ons_tracked_values tracked = {.count = 0};
    visit_ids(a, &tracked, count_id);
    ONS_NEW(tracked.ids, a->r->graph->arena, tracked.count + 1);
    visit_ids(a, &tracked, take_id);
    ONS_TRY(pass(a, &tracked));
    visit_ids(a, &tracked, give_id);
    return NULL;
}

static ons_status *run_pass(const struct pass *pass, assembly *a) {
    double begin = ons_clock_seconds();
    ONS_TRY(pass->build != NULL ? pass->build(a) : rewrite(pass->rewrite, a));
    if (a->o->observe != NULL) a->o->observe(a->o->context, pass->name, ons_clock_seconds() - begin, a->r->graph);
#ifndef NDEBUG
    ONS_TRY_AT(ons_graph_verify(a->r->graph), "after the pass '%s'", pass->name);
#endif
    return NULL;
}

static ons_status *assemble(assembly *a) {
    for (size_t i = 0; i < PASSES; ++i) {
        if (passes[i].applies(a)) ONS_TRY(run_pass(&passes[i], a));
        if (i == 0 && is_blocked(a)) return NULL;
    }
    return NULL;
}

ons_status *ons_model_graph_build(const ons_model_graph_options *options, ons_model_graph *result) {
    *result = (ons_model_graph){
        .target = ONS_NONE, .loss = ONS_NONE, .prediction = ONS_NONE, .update = {.norm = ONS_NONE, .scale = ONS_NONE}};
    assembly a = {.o = options, .r = result, .loss_part = ONS_NONE};
    ons_status *status = assemble(&a);
    if (status != NULL) ons_model_graph_free(result);
    return status;
}

/* Training graphs of exported models as workloads: nothing is lost, nothing counted twice. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/plan/plan_input.h"
#include "graph/arena_layout.h"
#include "planner/cost/graph_width.h"
#include "planner/workload/workload_scale.h"

typedef struct made {
    ons_config *config;
    ons_model *model;
    ons_arena *arena;
    ons_plan_input input;
} made;

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

/* The workload of a model; `rows` samples a micro-batch. */
static made make_in(const char *precision, const char *path, int64_t rows, int64_t micro_batches, const char *device) {
    made m = {.arena = ons_arena_new()};
    ons_device_profile profile;
    must(ons_config_new(&m.config));
    must(ons_config_set(m.config, "precision", precision));
    must(ons_device_profile_load(device, m.arena, &profile));
    must(ons_model_open(path, m.config, true, NULL, &m.model));
    ons_plan_input_options options = {
        .model = m.model,
        .config = m.config,
        .profile = &profile,
        .batch = rows * micro_batches,
        .micro_batches = micro_batches,
        .accumulates = micro_batches > 1,
    };
    must(ons_plan_input_make(&options, &m.input));
    return m;
}

static made make(const char *path, int64_t rows, int64_t micro_batches, const char *device) {
    return make_in("fp32", path, rows, micro_batches, device);
}

static void release(made *m) {
    ons_plan_input_free(&m->input);
    ons_model_free(m->model);
    ons_config_free(m->config);
    ons_arena_free(m->arena);
}

static const struct {
    const char *path;
    int64_t rows;
    const char *device; /* on the CPU with blocked layouts and their reorders */
} models[] = {
    {"tests/agreement/golden/lenet/model.onnx", 16, "a100-40gb"},
    {"tests/agreement/golden/lenet/model.onnx", 16, "cpu"},
    {"tests/agreement/golden/resnet18/model.onnx", 8, "a100-40gb"},
    {"tests/agreement/golden/resnet18/model.onnx", 8, "cpu"},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 8, "a100-40gb"},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 8, "cpu"},
    {"tests/agreement/golden/gpt_decomposed/model.onnx", 4, "a100-40gb"},
    {"tests/agreement/golden/gpt_tied/model.onnx", 4, "a100-40gb"},
    {"tests/agreement/golden/dynamo_gpt/model.onnx", 4, "a100-40gb"},
};
enum { MODELS = sizeof models / sizeof *models };

Test(graph_work, seconds_are_all_there) {
    for (int i = 0; i < MODELS; ++i)
        for (int64_t micro_batches = 1; micro_batches < 3; ++micro_batches) {
            made m = make(models[i].path, models[i].rows, micro_batches, models[i].device);
            const ons_workload *w = &m.input.costs.graph_work.work;
            double nodes = 0;
            for (size_t id = 0; id < m.input.stage.graph->nodes.count; ++id) nodes += m.input.costs.cost.seconds[id];
            double work = ons_work_seconds(w, 0, w->node_count) + ons_work_update_seconds(w, 0, w->node_count);
            cr_assert_float_eq(work, nodes, 1e-9 * nodes, "%s: %g of %g seconds", models[i].path, work, nodes);
            release(&m);
        }
}

/* What is held from step to step: bytes of all such values of the graph. */
static int64_t held_bytes(const made *m) {
    int64_t sum = 0;
    const ons_graph *graph = m->input.stage.graph;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        bool held = v->kind == ONS_PARAMETER || v->kind == ONS_STATE || v->kind == ONS_BUFFER;
        if (v->producer == ONS_NONE && held)
            sum += (ons_registry_type_bytes(m->model->registry, &v->type) + 63) / 64 * 64;
    }
    return sum;
}

Test(graph_work, weights_gradients_and_states_are_all_there) {
    for (int i = 0; i < MODELS; ++i) {
        made m = make(models[i].path, models[i].rows, 2, models[i].device);
        const ons_workload *w = &m.input.costs.graph_work.work;
        int64_t sum = 0;
        uint32_t trained = 0;
        for (uint32_t k = 0; k < w->weight_count; ++k) {
            bool constant = false;
            ons_value_id id = ons_graph_find_value(m.input.stage.graph, w->weights[k].name);
            if (id != ONS_NONE) constant = ons_graph_value(m.input.stage.graph, id)->kind == ONS_CONSTANT;
            /* Reorders of weights, made anew in every step, are held too, but by no value of the file. */
            if (id != ONS_NONE && ons_graph_value(m.input.stage.graph, id)->producer != ONS_NONE) constant = true;
            if (!constant) sum += w->weights[k].bytes + w->weights[k].gradient_bytes + w->weights[k].state_bytes;
            trained += w->weights[k].gradient_bytes > 0;
            if (w->weights[k].gradient_bytes > 0)
                cr_assert_eq(w->weights[k].state_bytes, 2 * w->weights[k].bytes, "%s: AdamW has two states: %s",
                             models[i].path, w->weights[k].name);
        }
        cr_assert_eq(sum, held_bytes(&m), "%s: %lld of %lld bytes", models[i].path, (long long)sum,
                     (long long)held_bytes(&m));
        cr_assert_eq(trained, m.input.stage.update.trained_count, "%s", models[i].path);
        release(&m);
    }
}

/* Otherwise every gradient would wait beside its sum for the end of the backward part. */
Test(graph_work, gradients_are_added_up_as_soon_as_they_are_there) {
    for (int i = 0; i < MODELS; ++i) {
        made m = make(models[i].path, models[i].rows, 2, models[i].device);
        const ons_graph *graph = m.input.stage.graph;
        const ons_operator *accumulate = ons_registry_role(m.model->registry, ONS_ROLE_ACCUMULATE);
        const ons_operator *reorder = ons_registry_role(m.model->registry, ONS_ROLE_REORDER);
        uint32_t sums = 0;
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(graph, id);
            if (node->op != accumulate || node->phase == ONS_FORWARD) continue;
            ons_node_id maker = ons_graph_value(graph, node->inputs[1])->producer, before = id - 1;
            while (before > maker &&
                   (ons_graph_node(graph, before)->op == accumulate || ons_graph_node(graph, before)->op == reorder))
                --before;
            cr_assert_eq(before, maker, "%s: '%s' comes %u nodes after its gradient", models[i].path, node->name,
                         id - maker);
            ++sums;
        }
        cr_assert_geq(sums, m.input.stage.update.trained_count, "%s", models[i].path);
        release(&m);
    }
}

static uint32_t count_laid_out(const ons_graph *graph) {
    uint32_t count = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        count += ons_graph_value(graph, id)->type.layout != ONS_LAYOUT_ONNX;
    return count;
}

/* Another device's kernels do not want this machine's blocked layouts, if its kernels want any. */
Test(graph_work, layouts_and_reorders_are_of_the_cpu_alone) {
    made cpu = make("tests/agreement/golden/resnet18/model.onnx", 8, 1, "cpu"),
         gpu = make("tests/agreement/golden/resnet18/model.onnx", 8, 1, "a100-40gb");
    bool laid_out = count_laid_out(cpu.input.stage.graph) > 0;
    cr_expect_eq(count_laid_out(gpu.input.stage.graph), 0u);
    cr_expect_leq(gpu.input.stage.graph->nodes.count + laid_out, cpu.input.stage.graph->nodes.count,
                  "reorders are left");
    int64_t bytes = 0, parameters = 0;
    const ons_workload *w = &gpu.input.costs.graph_work.work;
    for (uint32_t k = 0; k < w->weight_count; ++k) bytes += w->weights[k].bytes;
    for (ons_value_id id = 0; id < gpu.input.stage.graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(gpu.input.stage.graph, id);
        if (v->producer == ONS_NONE && (v->kind == ONS_PARAMETER || v->kind == ONS_BUFFER))
            parameters += ons_arena_align(ons_type_dense_bytes(&v->type));
    }
    cr_expect_lt((double)bytes, 1.01 * (double)parameters, "%lld bytes of weights for %lld", (long long)bytes,
                 (long long)parameters);
    release(&cpu);
    release(&gpu);
}

/* What is not laid out is fused all the same. */
Test(graph_work, operators_are_fused_for_every_device) {
    const char *devices[] = {"cpu", "a100-40gb"};
    for (int i = 0; i < 2; ++i) {
        made m = make("tests/agreement/golden/gpt_decomposed/model.onnx", 4, 1, devices[i]);
        bool fused = false;
        for (uint32_t p = 0; p < m.input.costs.graph_work.work.node_count; ++p)
            fused |= strcmp(m.input.costs.graph_work.work.nodes[p].kind, "LayerNormalization") == 0;
        cr_expect(fused, "%s: no layer normalisation of the parts of one", devices[i]);
        release(&m);
    }
}

Test(graph_work, a_tied_weight_has_all_its_users_and_an_accumulator_for_each) {
    made m = make("tests/agreement/golden/gpt_tied/model.onnx", 4, 2, "a100-40gb");
    const ons_workload *w = &m.input.costs.graph_work.work;
    int tied = 0;
    for (uint32_t k = 0; k < w->weight_count; ++k)
        if (w->weights[k].gradient_bytes == 2 * w->weights[k].bytes) {
            ++tied;
            cr_assert_geq(w->weights[k].user_count, 2u);
            cr_assert_gt(w->weights[k].users[w->weights[k].user_count - 1] - w->weights[k].users[0], w->node_count / 2,
                         "embedding and head lie at the two ends");
        }
    cr_assert_geq(tied, 1);
    release(&m);
}

/* The loss is computed last, so behind a trained weight a gradient comes back over every cut, also where operators hand
 * it on as it is (the sums of residual connections). */
Test(graph_work, a_gradient_crosses_every_cut_behind_a_trained_weight) {
    for (int i = 0; i < MODELS; ++i) {
        made m = make(models[i].path, models[i].rows, 2, models[i].device);
        const ons_workload *w = &m.input.costs.graph_work.work;
        uint32_t first = w->node_count, last = w->node_count - 1;
        for (uint32_t k = 0; k < w->weight_count; ++k)
            if (w->weights[k].gradient_bytes > 0 && w->weights[k].users[0] < first) first = w->weights[k].users[0];
        while (!(ons_work_backward_seconds(w, last, last + 1) > 0)) --last;
        cr_expect_lt(first, last, "%s: nothing is tested", models[i].path);
        for (uint32_t cut = first + 1; cut <= last; ++cut)
            cr_expect_gt(ons_work_cut_gradient_bytes(w, cut), 0, "%s: in front of '%s'", models[i].path,
                         w->nodes[cut].name);
        release(&m);
    }
}

/* The estimate that a search goes by is near what the liveness of the real graph says. */
Test(graph_work, whole_memory_is_near_that_of_the_graph) {
    for (int i = 0; i < MODELS; ++i)
        for (int64_t micro_batches = 1; micro_batches < 3; ++micro_batches) {
            made m = make(models[i].path, models[i].rows, micro_batches, models[i].device);
            const ons_workload *w = &m.input.costs.graph_work.work;
            const ons_model_graph *stage = &m.input.stage;
            ons_execution_order execution_order;
            ons_liveness liveness;
            ons_arena_layout layout;
            must(ons_execution_order_make(stage->graph, NULL, 1, micro_batches > 1, m.arena, &execution_order));
            const ons_liveness_options lifetimes = {.graph = stage->graph,
                                                    .registry = m.model->registry,
                                                    .execution_order = &execution_order,
                                                    .kept = stage->kept,
                                                    .kept_count = stage->kept_count};
            must(ons_liveness_find(&lifetimes, m.arena, &liveness));
            must(ons_arena_layout_make(
                &(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order}, m.arena, &layout));
            ons_stage_memory memory;
            ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = micro_batches > 1};
            ons_work_stage_memory(w, 0, w->node_count, &load, &memory);
            int64_t needed = layout.lower_bound;
            for (uint32_t k = 0; k < liveness.buffer_count; ++k)
                if (liveness.buffers[k].persistent) needed += ons_arena_align(liveness.buffers[k].bytes);
            double ratio = (double)memory.total / (double)needed;
            /* A single micro-batch lets go of reordered weights early; the workload counts them as held. */
            cr_expect(ratio > 0.93 && (ratio < 1.25 || micro_batches == 1),
                      "%s, %lld micro-batches: %lld bytes for %lld", models[i].path, (long long)micro_batches,
                      (long long)memory.total, (long long)needed);
            release(&m);
        }
}

Test(graph_work, every_node_goes_with_a_position) {
    for (int i = 0; i < MODELS; ++i) {
        made m = make(models[i].path, models[i].rows, 2, models[i].device);
        const ons_graph_work *g = &m.input.costs.graph_work;
        for (size_t id = 0; id < m.input.stage.graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(m.input.stage.graph, (ons_node_id)id);
            cr_assert_lt(g->position_of_node[id], g->work.node_count, "%s: '%s'", models[i].path, node->name);
        }
        for (uint32_t p = 0; p < g->work.node_count; ++p) cr_assert_eq(g->position_of_node[g->node_of_position[p]], p);
        release(&m);
    }
}

Test(graph_work, layers_follow_the_names_of_modules_or_weights) {
    const char *paths[] = {"tests/agreement/golden/gpt_decomposed/model.onnx",
                           "tests/agreement/golden/dynamo_gpt/model.onnx"};
    for (int i = 0; i < 2; ++i) {
        made m = make(paths[i], 4, 2, "a100-40gb");
        const ons_workload *w = &m.input.costs.graph_work.work;
        uint32_t next = 0;
        cr_assert_geq(w->layer_count, 3u, "%s has %u layers", paths[i], w->layer_count);
        for (uint32_t k = 0; k < w->layer_count; ++k) {
            cr_assert_eq(w->layers[k].first, next);
            cr_assert_gt(w->layers[k].count, 0u);
            cr_assert_neq(w->layers[k].name[0], '\0');
            for (uint32_t n = 0; n < w->layers[k].count; ++n) cr_assert_eq(w->nodes[next + n].layer, k);
            next += w->layers[k].count;
        }
        cr_assert_eq(next, w->node_count);
        release(&m);
    }
}

Test(graph_work, two_small_graphs_tell_of_a_larger_one) {
    made low = make("tests/agreement/golden/cnn_dynamic/model.onnx", 8, 2, "a100-40gb"),
         high = make("tests/agreement/golden/cnn_dynamic/model.onnx", 16, 2, "a100-40gb"),
         real = make("tests/agreement/golden/cnn_dynamic/model.onnx", 64, 2, "a100-40gb");
    ons_workload drawn;
    bool same;
    must(ons_workload_scale(&low.input.costs.graph_work.work, &high.input.costs.graph_work.work, 64, low.arena, &drawn,
                            &same));
    cr_assert(same);
    const ons_workload *w = &real.input.costs.graph_work.work;
    for (uint32_t first = 0; first < w->node_count; first += 3)
        for (uint32_t end = first + 1; end <= w->node_count; end += 2) {
            ons_stage_memory a, b;
            ons_stage_load load = {.in_flight = 3, .versions = 1, .accumulates = true};
            ons_work_stage_memory(&drawn, first, end, &load, &a);
            ons_work_stage_memory(w, first, end, &load, &b);
            cr_assert_float_eq((double)a.total, (double)b.total, 0.01 * (double)b.total + 4096,
                               "[%u, %u): %lld for %lld", first, end, (long long)a.total, (long long)b.total);
        }
    made other = make("tests/agreement/golden/lenet/model.onnx", 16, 2, "a100-40gb");
    must(ons_workload_scale(&low.input.costs.graph_work.work, &other.input.costs.graph_work.work, 64, low.arena, &drawn,
                            &same));
    cr_assert_not(same, "two models are not one");
    release(&low);
    release(&high);
    release(&real);
    release(&other);
}

/* Nothing can be done about one node: it works on at least its largest value, and everything together is more. */
Test(graph_work, no_memory_is_below_that_of_the_widest_node) {
    for (int i = 0; i < MODELS; ++i) {
        made m = make(models[i].path, models[i].rows, 1, models[i].device);
        const ons_graph *graph = m.input.stage.graph;
        const ons_workload *work = &m.input.costs.graph_work.work;
        ons_graph_width width;
        must(ons_graph_width_find(graph, m.model->registry, m.arena, &width));
        cr_assert_neq(width.node, ONS_NONE);
        int64_t largest = 0;
        for (uint32_t t = 0; t < work->tensor_count; ++t)
            if (work->tensors[t].bytes > largest) largest = work->tensors[t].bytes;
        ons_stage_memory memory;
        const ons_stage_load one = {.in_flight = 1, .versions = 1};
        ons_work_stage_memory(work, 0, work->node_count, &one, &memory);
        cr_assert_geq(width.bytes, largest, "%s", models[i].path);
        cr_assert_leq(width.bytes, memory.peak, "%s: %lld of %lld", models[i].path, (long long)width.bytes,
                      (long long)memory.peak);
        release(&m);
    }
}

static size_t count_nodes(const ons_graph *graph, const char *op) {
    size_t count = 0;
    for (size_t i = 0; i < graph->nodes.count; ++i) count += strcmp(graph->nodes.items[i].op->name, op) == 0;
    return count;
}

/* For a GPU layers are joined with their Gelu and its gradient, in models whose Gelu is decomposed by tanh. */
Test(graph_work, layers_are_joined_for_a_gpu) {
    static const struct {
        const char *path;
        size_t gelus, sums;
    } joined[] = {{"tests/agreement/golden/gpt_decomposed/model.onnx", 2, 4},
                  {"tests/agreement/golden/dynamo_gpt/model.onnx", 2, 4},
                  {"tests/agreement/families/gpt2/model.onnx", 2, 8},
                  {"tests/agreement/families/gpt2_dynamo/model.onnx", 2, 8}};
    static const char *const precisions[] = {"fp32", "bf16"};
    for (size_t i = 0; i < 2 * sizeof joined / sizeof joined[0]; ++i) {
        const char *path = joined[i / 2].path, *precision = precisions[i % 2];
        made m = make_in(precision, path, 4, 2, "a100-40gb");
        const ons_graph *graph = m.input.stage.graph;
        cr_expect_eq(count_nodes(graph, "LinearGelu"), joined[i / 2].gelus, "%s, %s", path, precision);
        cr_expect_eq(count_nodes(graph, "LinearGeluGradient"), joined[i / 2].gelus, "%s, %s", path, precision);
        /* Both layers in front of a block's sums; in bf16 the first sum's other operand, an embedding, is float32. */
        cr_expect_eq(count_nodes(graph, "LinearAdd"), 2 * joined[i / 2].gelus - (size_t)(i % 2), "%s, %s: %zu", path,
                     precision, count_nodes(graph, "LinearAdd"));
        cr_expect_geq(count_nodes(graph, "LinearWeightGradient"), joined[i / 2].sums, "%s, %s: %zu", path, precision,
                      count_nodes(graph, "LinearWeightGradient"));
        release(&m);
    }
}

/* Products make gradients in half types, and updates, sums and norms read them so: no cast writes them again. */
Test(graph_work, gradients_are_read_as_they_are_made) {
    for (int64_t micro_batches = 1; micro_batches <= 2; ++micro_batches) {
        made m = make_in("bf16", "tests/agreement/golden/gpt_decomposed/model.onnx", 4, micro_batches, "a100-40gb");
        const ons_graph *graph = m.input.stage.graph;
        const char *reader = micro_batches == 1 ? "AdamW" : "Accumulate";
        size_t low = 0;
        for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(graph, id);
            if (strcmp(node->op->name, reader) != 0) continue;
            const ons_value *gradient = ons_graph_value(graph, node->inputs[1]);
            const ons_node *maker = ons_graph_node(graph, gradient->producer);
            cr_expect_str_neq(maker->op->name, "Cast", "%s reads what a cast has made", node->name);
            low += gradient->type.dtype == ONS_BFLOAT16;
        }
        cr_expect_geq(low, 16, "%s reads %zu gradients in bfloat16", reader, low);
        release(&m);
    }
}

/* In half types too, a weight's entry has all that is held of it: the half weight that its update writes. */
Test(graph_work, half_weights_are_held_with_their_weights) {
    static const struct {
        const char *path;
        bool tied;
    } held[] = {{"tests/agreement/golden/gpt_tied/model.onnx", true},
                {"tests/agreement/golden/cnn_dynamic/model.onnx", false}};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; ++i) {
        made m = make_in("bf16", held[i].path, 4, 2, "a100-40gb");
        const ons_workload *w = &m.input.costs.graph_work.work;
        const ons_graph *graph = m.input.stage.graph;
        size_t halves = 0, tied = 0;
        for (uint32_t k = 0; k < w->weight_count; ++k) {
            const ons_work_weight *entry = &w->weights[k];
            const char *end = strstr(entry->name, "/half");
            cr_expect(end == NULL || strcmp(end, "/half") != 0, "'%s' is apart from its weight", entry->name);
            if (entry->gradient_bytes == 0) continue;
            ons_value_id id = ons_graph_find_value(graph, entry->name);
            int64_t bytes = ons_registry_type_bytes(m.model->registry, &ons_graph_value(graph, id)->type);
            if (entry->bytes == ons_arena_align(bytes)) continue; /* read in float32 alone */
            cr_expect_eq(entry->bytes, ons_arena_align(bytes) + ons_arena_align(bytes / 2), "'%s'", entry->name);
            ++halves;
            tied += entry->users[entry->user_count - 1] - entry->users[0] > w->node_count / 2;
        }
        cr_expect_gt(halves, 2, "%s: %zu half weights", held[i].path, halves);
        cr_expect_eq(tied > 0, held[i].tied, "%s: %zu weights are read at both ends", held[i].path, tied);
        release(&m);
    }
}

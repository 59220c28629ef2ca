/* What joining elementwise operators does to training graphs for a GPU (docs/cuda.md): bytes that all nodes of a
 * step read and write, nodes, what the backward part reads of the forward part; chains, different kernels among them,
 * and what compiling these takes where there is NVRTC. Weights are not looked at, and no GPU is needed.
 *
 *     ./bazelw run --config=cuda //bench:fused_chains -- FOLDER PRECISION [NAME BATCH]...
 *
 * FOLDER has NAME.onnx (bench/gpu/models.py) with its weights or a file of zeros in their place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda_compiler.h"
#include "engine/config/config.h"
#include "engine/model/model.h"
#include "engine/model/model_graph.h"
#include "graph/operands.h"
#include "graph/passes/fuse_elementwise.h"
#include "kernels/fused_elementwise/fused.h"
#include "kernels/kernels.h"

enum { SOURCES_MAX = 4096, PATH = 4096 };
static const char architecture[] = "sm_90";

typedef struct figures {
    double bytes, elementwise_bytes, saved; /* of a step of one micro-batch */
    uint32_t nodes, chains, steps, results, kernels;
    double seconds; /* compiling; negative: no NVRTC */
} figures;

typedef struct kernels {
    ons_arena *arena;
    ons_cuda_source sources[SOURCES_MAX];
    uint32_t count;
} kernels;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_view(const ons_operator *op) {
    for (const ons_alias *a = op->aliases; a->kind != ONS_ALIAS_END; ++a)
        if (a->kind == ONS_ALIAS_VIEW) return true;
    return false;
}

/* The value whose bytes a view shows. */
static ons_value_id root_of(const ons_graph *graph, ons_value_id id) {
    for (;;) {
        ons_node_id maker = ons_graph_value(graph, id)->producer;
        if (maker == ONS_NONE || !is_view(ons_graph_node(graph, maker)->op)) return id;
        id = ons_graph_node(graph, maker)->inputs[0];
    }
}

static bool is_backward(const ons_node *node) {
    return node->phase == ONS_INPUT_GRADIENT || node->phase == ONS_WEIGHT_GRADIENT;
}

/* Activations that backward nodes read. */
static ons_status *count_saved(const ons_graph *graph, ons_arena *arena, figures *f) {
    bool *counted;
    ONS_NEW(counted, arena, graph->values.count + 1);
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        if (!is_backward(node) || is_view(node->op)) continue;
        for (uint32_t k = 0; k < node->input_count; ++k) {
            if (node->inputs[k] == ONS_NONE) continue;
            ons_value_id id = root_of(graph, node->inputs[k]);
            const ons_value *value = ons_graph_value(graph, id);
            if (value->kind != ONS_ACTIVATION || counted[id] ||
                ons_graph_node(graph, value->producer)->phase != ONS_FORWARD ||
                ons_graph_node(graph, value->producer)->per_step)
                continue;
            counted[id] = true;
            f->saved += (double)ons_type_dense_bytes(&value->type);
        }
    }
    return NULL;
}

static ons_status *note_kernel(const ons_operands *o, kernels *k, figures *f) {
    ons_fused *fused;
    ons_cuda_source source;
    ONS_NEW(fused, k->arena, 1);
    ONS_TRY(ons_fused_read(o, k->arena, fused));
    ONS_TRY(ons_fused_source(fused, k->arena, &source));
    ++f->chains;
    f->steps += fused->step_count;
    f->results += fused->output_count;
    for (uint32_t i = 0; i < k->count; ++i)
        if (strcmp(k->sources[i].text, source.text) == 0) return NULL;
    ONS_CHECK(k->count < SOURCES_MAX, ONS_UNSUPPORTED, "more than %d kernels", SOURCES_MAX);
    k->sources[k->count++] = source;
    ++f->kernels;
    return NULL;
}

static ons_status *count_node(const ons_graph *graph, ons_node_id id, kernels *k, figures *f) {
    const ons_node *node = ons_graph_node(graph, id);
    if (is_view(node->op)) return NULL;
    ons_operands operands;
    ONS_TRY(ons_operands_of(graph, id, k->arena, &operands));
    double bytes = node->op->cost(&operands).bytes;
    bool joined = node->op == ons_elementwise_fusion_rules()->fused;
    ++f->nodes;
    f->bytes += bytes;
    if (joined || (node->op->roles.traits & ONS_TRAIT_ELEMENTWISE) != 0) f->elementwise_bytes += bytes;
    return joined ? note_kernel(&operands, k, f) : NULL;
}

static ons_status *count(const ons_model *model, const ons_config *config, int64_t rows, bool joins, kernels *k,
                         figures *f) {
    ons_model_graph_options options = {
        .model = model, .config = config, .rows = rows, .training = true, .for_gpu = true};
    ons_model_graph stage;
    if (setenv("ONSTAGE_FUSED", joins ? "on" : "off", 1) != 0) return ons_status_out_of_memory();
    ONS_TRY(ons_model_graph_build(&options, &stage));
    ons_status *status = count_saved(stage.graph, k->arena, f);
    for (ons_node_id id = 0; status == NULL && id < stage.graph->nodes.count; ++id)
        status = count_node(stage.graph, id, k, f);
    ons_model_graph_free(&stage);
    return status;
}

static ons_status *compile(const kernels *k, figures *f) {
    double begin = seconds_now();
    for (uint32_t i = 0; i < k->count; ++i) {
        void *image;
        size_t bytes;
        ons_status *status = ons_cuda_compile_image(&k->sources[i], architecture, NULL, &image, &bytes, NULL);
        if (status != NULL) {
            fprintf(stderr, "%s\n", ons_status_get_message(status));
            ons_status_free(status);
            f->seconds = -1;
            return NULL;
        }
        free(image);
    }
    f->seconds = seconds_now() - begin;
    return NULL;
}

static void print(const char *name, const char *precision, const char *batch, const figures *apart,
                  const figures *joined) {
    double mega = 1e6;
    printf(
        "| %s, %s | %s | %u → %u | %.0f → %.0f | %.0f → %.0f | %.0f → %.0f | %u of %u steps, %u results; %u kernels | ",
        name, precision, batch, apart->nodes, joined->nodes, apart->elementwise_bytes / mega,
        joined->elementwise_bytes / mega, apart->bytes / mega, joined->bytes / mega, apart->saved / mega,
        joined->saved / mega, joined->chains, joined->steps, joined->results, joined->kernels);
    if (joined->seconds < 0)
        puts("not run: no NVRTC |");
    else
        printf("%.1f s |\n", joined->seconds);
    fflush(stdout);
}

static ons_status *measure(const char *folder, const char *precision, const char *name, const char *batch) {
    char path[PATH];
    figures apart = {0}, joined = {0};
    ons_config *config = NULL;
    ons_model *model = NULL;
    kernels *k = calloc(1, sizeof *k);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    ons_status *status = k == NULL || (k->arena = ons_arena_new()) == NULL ? ons_status_out_of_memory() : NULL;
    const char *const settings[][2] = {
        {"precision", precision}, {"loss", "cross_entropy"}, {"optimizer", "adamw"}, {"batch", batch}};
    if (status == NULL) status = ons_config_new(&config);
    for (size_t i = 0; status == NULL && i < sizeof settings / sizeof settings[0]; ++i)
        status = ons_config_set(config, settings[i][0], settings[i][1]);
    if (status == NULL) status = ons_model_load(path, config, &model);
    if (status == NULL) status = count(model, config, strtoll(batch, NULL, 10), false, k, &apart);
    if (status == NULL) status = count(model, config, strtoll(batch, NULL, 10), true, k, &joined);
    if (status == NULL) status = compile(k, &joined);
    if (status == NULL) print(name, precision, batch, &apart, &joined);
    ons_model_free(model);
    ons_config_free(config);
    if (k != NULL) ons_arena_free(k->arena);
    free(k);
    return status;
}

int main(int argc, char **argv) {
    ons_status *status = NULL;
    if (argc < 5 || argc % 2 == 0) {
        fprintf(stderr, "usage: fused_chains FOLDER PRECISION [NAME BATCH]...\n");
        return 1;
    }
    puts("| network | batch | nodes that run | MB by elementwise nodes | MB by all nodes | MB that the backward part "
         "reads of "
         "the forward part | chains | compiling |\n|---|---|---|---|---|---|---|---|");
    for (int i = 3; i < argc && status == NULL; i += 2) status = measure(argv[1], argv[2], argv[i], argv[i + 1]);
    if (status != NULL) fprintf(stderr, "%s\n", ons_status_get_message(status));
    bool failed = status != NULL;
    ons_status_free(status);
    return failed;
}

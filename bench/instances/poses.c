#include "bench/instances/poses.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "bench/stage_graph_models.h"
#include "planner/cost/cost_file.h"
#include "tests/rooms/planner/branch_work.h"
#include "tests/rooms/planner/transformer_work.h"
#include "tests/rooms/planner/vision_work.h"

/* ----------------------------------------------------------------------------------------------------------- graphs */

typedef ons_status *graph_make(ons_arena *arena, ons_workload *work);

static ons_status *make_uniform(ons_arena *arena, ons_workload *work) { return uniform_work_make(16, arena, work); }

static ons_status *make_chain(ons_arena *arena, ons_workload *work) {
    const random_work_options o = {.seed = 1, .nodes = 24};
    return random_work_make(&o, arena, work);
}

static ons_status *make_heavy_chain(ons_arena *arena, ons_workload *work) {
    const random_work_options o = {.seed = 2, .nodes = 64, .heavy_tailed = true};
    return random_work_make(&o, arena, work);
}

static ons_status *make_random(ons_arena *arena, ons_workload *work) {
    const random_work_options o = random_work_graph(3, 40);
    return random_work_make(&o, arena, work);
}

static ons_status *make_random_large(ons_arena *arena, ons_workload *work) {
    const random_work_options o = random_work_graph(5, 100);
    return random_work_make(&o, arena, work);
}

static ons_status *make_series_parallel(ons_arena *arena, ons_workload *work) {
    branch_graph graph;
    ONS_TRY(random_series_parallel(7, 40, arena, &graph));
    return branch_graph_work(&graph, 4, work);
}

static ons_status *make_towers(ons_arena *arena, ons_workload *work) {
    branch_graph graph;
    ONS_TRY(two_towers(8, 0.001, arena, &graph));
    return branch_graph_work(&graph, 1, work);
}

static ons_status *make_branched(model_make *make, uint32_t branches, int64_t samples, ons_arena *arena,
                                 ons_workload *work) {
    model_machine machine = {.share = 1};
    branch_graph graph;
    ONS_TRY(ons_device_profile_load("v100-16gb", arena, &machine.profile));
    ONS_TRY(make(&machine, branches, arena, &graph));
    return branch_graph_work(&graph, samples, work);
}

static ons_status *make_mmt(ons_arena *arena, ons_workload *work) {
    return make_branched(model_multi_modal, 4, 4, arena, work);
}
static ons_status *make_dlrm(ons_arena *arena, ons_workload *work) {
    return make_branched(model_dlrm, 7, 64, arena, work);
}
static ons_status *make_candle(ons_arena *arena, ons_workload *work) {
    return make_branched(model_candle, 7, 512, arena, work);
}

/* Products of matrices that are more efficient the larger they are, as section 7.5 of GraphPipe's paper has it: 4
 * samples take so many times as long as 2 (bench/results/stage_graphs.md). */
static const double CURVE = 36.0 / 22;

static ons_status *make_curved(model_make *make, uint32_t branches, int64_t samples, ons_arena *arena,
                               ons_workload *work) {
    model_machine machine = {.share = 1};
    branch_graph graph;
    ONS_TRY(ons_device_profile_load("v100-16gb", arena, &machine.profile));
    model_calibrate(&machine, CURVE);
    ONS_TRY(make(&machine, branches, arena, &graph));
    return branch_graph_work(&graph, samples, work);
}

static ons_status *make_mmt_2(ons_arena *arena, ons_workload *work) {
    return make_curved(model_multi_modal, 4, 2, arena, work);
}
static ons_status *make_mmt_32(ons_arena *arena, ons_workload *work) {
    return make_curved(model_multi_modal, 4, 32, arena, work);
}
static ons_status *make_dlrm_64(ons_arena *arena, ons_workload *work) {
    return make_curved(model_dlrm, 7, 64, arena, work);
}
static ons_status *make_dlrm_1024(ons_arena *arena, ons_workload *work) {
    return make_curved(model_dlrm, 7, 1024, arena, work);
}
static ons_status *make_candle_512(ons_arena *arena, ons_workload *work) {
    return make_curved(model_candle, 7, 512, arena, work);
}
static ons_status *make_candle_8192(ons_arena *arena, ons_workload *work) {
    return make_curved(model_candle, 7, 8192, arena, work);
}

static ons_status *make_bert(ons_arena *arena, ons_workload *work) {
    transformer_work_options o = transformer_work_bert(8);
    o.layers = 4;
    return transformer_work_make(&o, arena, work);
}

static ons_status *make_gpt2(ons_arena *arena, ons_workload *work) {
    vision_work_options o = vision_work_gpt2(4);
    o.blocks = 12;
    o.hidden = o.patch = 768;
    o.inner = 3072;
    o.heads = 12;
    o.tokens = 1024;
    return vision_work_make(&o, arena, work);
}

static ons_status *make_vit(ons_arena *arena, ons_workload *work) {
    vision_work_options o = vision_work_vit(16);
    o.blocks = 12;
    o.hidden = 768;
    o.inner = 3072;
    o.heads = 12;
    o.tokens = 197;
    return vision_work_make(&o, arena, work);
}

static const struct {
    const char *name;
    graph_make *make;    /* or */
    const char *profile; /* of others */
} GRAPHS[] = {
    {"uniform16", make_uniform, NULL},
    {"chain24", make_chain, NULL},
    {"chain64-heavy", make_heavy_chain, NULL},
    {"random40", make_random, NULL},
    {"random100", make_random_large, NULL},
    {"series-parallel40", make_series_parallel, NULL},
    {"towers17", make_towers, NULL},
    {"mmt", make_mmt, NULL},
    {"dlrm", make_dlrm, NULL},
    {"candle-uno", make_candle, NULL},
    {"mmt-2", make_mmt_2, NULL},
    {"mmt-32", make_mmt_32, NULL},
    {"dlrm-64", make_dlrm_64, NULL},
    {"dlrm-1024", make_dlrm_1024, NULL},
    {"candle-uno-512", make_candle_512, NULL},
    {"candle-uno-8192", make_candle_8192, NULL},
    {"bert4", make_bert, NULL},
    {"gpt2-small", make_gpt2, NULL},
    {"vit-b16", make_vit, NULL},
    {"alexnet", NULL, "pipedream/alexnet.txt"},
    {"resnet18", NULL, "pipedream/resnet18.txt"},
    {"resnet50", NULL, "pipedream/resnet50.txt"},
    {"squeezenet", NULL, "pipedream/squeezenet1_0.txt"},
    {"gnmt", NULL, "pipedream/gnmt.txt"},
    {"bert32", NULL, "piper/bert32a100.json"},
};

/* Names that are different, as the format wants them. */
static ons_status *name_all(ons_workload *work, ons_arena *arena) {
    for (uint32_t i = 0; i < work->node_count; ++i)
        work->nodes[i].name = ons_arena_format(arena, "n%u.%s", i, work->nodes[i].kind);
    for (uint32_t i = 0; i < work->tensor_count; ++i) work->tensors[i].name = ons_arena_format(arena, "t%u", i);
    for (uint32_t i = 0; i < work->weight_count; ++i) work->weights[i].name = ons_arena_format(arena, "w%u", i);
    for (uint32_t i = 0; i < work->layer_count; ++i) work->layers[i].name = work->nodes[work->layers[i].first].name;
    return ons_arena_check(arena);
}

static ons_status *write_graph(const char *folder, const char *profiles, size_t which, ons_arena *arena) {
    ons_workload work;
    char *text;
    if (GRAPHS[which].make != NULL)
        ONS_TRY(GRAPHS[which].make(arena, &work));
    else
        ONS_TRY(
            ons_cost_file_load(ons_arena_format(arena, "%s/%s", profiles, GRAPHS[which].profile), NULL, arena, &work));
    work.name = GRAPHS[which].name;
    ONS_TRY(name_all(&work, arena));
    ONS_TRY(ons_cost_file_print(&work, &text));
    /* By depth, as plans have the nodes that say nothing of their order. */
    ons_status *status = ons_cost_file_parse(text, strlen(text), NULL, arena, &work);
    free(text);
    ONS_TRY(status);
    ONS_TRY(ons_cost_file_print(&work, &text));
    const char *path = ons_arena_format(arena, "%s/graphs/%s.json", folder, work.name);
    status = path == NULL ? ons_status_out_of_memory() : ons_file_write_text(path, text);
    free(text);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- problems */

/* Links: none (free), or as between V100s of a node. Memory in hundredths of the way from what weights take to what all
 * does. */
static const instance PROBLEMS[] = {
    {.graph = "uniform16", .devices = 4, .micro_batches = 8},
    {.graph = "uniform16", .devices = 4, .micro_batches = 8, .stages_of_a_device = 1},
    {.graph = "chain24", .devices = 4, .stages_of_a_device = 1, .micro_batches = 8, .objective = BOTTLENECK_SECONDS},
    {.graph = "chain24", .devices = 4, .micro_batches = 8},
    {.graph = "chain64-heavy",
     .devices = 8,
     .stages_of_a_device = 1,
     .micro_batches = 16,
     .objective = BOTTLENECK_SECONDS},
    {.graph = "chain64-heavy", .devices = 8, .micro_batches = 16},
    {.graph = "chain64-heavy", .devices = 8, .micro_batches = 16, .stages_of_a_device = 1, .memory_bytes = 60},
    {.graph = "random40", .devices = 4, .micro_batches = 8},
    {.graph = "random40", .devices = 4, .micro_batches = 8, .stages_of_a_device = 1, .memory_bytes = 60},
    {.graph = "random100", .devices = 8, .micro_batches = 16},
    {.graph = "series-parallel40", .devices = 6, .micro_batches = 12},
    {.graph = "series-parallel40", .devices = 6, .micro_batches = 12, .stages_of_a_device = 1},
    {.graph = "towers17", .devices = 3, .micro_batches = 6, .stages_of_a_device = 1},
    {.graph = "towers17", .devices = 5, .micro_batches = 16, .stages_of_a_device = 1},
    {.graph = "mmt", .devices = 4, .micro_batches = 16, .link_bandwidth = 4e10, .link_latency = 1e-5},
    {.graph = "mmt",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 4e10,
     .link_latency = 1e-5,
     .stages_of_a_device = 1},
    {.graph = "mmt",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 4e10,
     .link_latency = 1e-5,
     .stages_of_a_device = 1,
     .memory_bytes = 60},
    {.graph = "dlrm", .devices = 8, .micro_batches = 16, .link_bandwidth = 4e10, .link_latency = 1e-5},
    {.graph = "candle-uno", .devices = 8, .micro_batches = 16, .link_bandwidth = 4e10, .link_latency = 1e-5},
    {.graph = "bert4", .devices = 4, .micro_batches = 8, .link_bandwidth = 1.6e10, .link_latency = 1e-5},
    {.graph = "bert4",
     .devices = 4,
     .micro_batches = 8,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .memory_bytes = 60,
     .stages_of_a_device = 1},
    {.graph = "gpt2-small", .devices = 4, .micro_batches = 8, .link_bandwidth = 1.6e10, .link_latency = 1e-5},
    {.graph = "gpt2-small",
     .devices = 4,
     .micro_batches = 8,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .memory_bytes = 60,
     .stages_of_a_device = 1},
    {.graph = "gpt2-small", .devices = 8, .micro_batches = 32, .link_bandwidth = 1.6e10, .link_latency = 1e-5},
    {.graph = "vit-b16", .devices = 4, .micro_batches = 8, .link_bandwidth = 1.6e10, .link_latency = 1e-5},
    {.graph = "vit-b16",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .memory_bytes = 60,
     .stages_of_a_device = 1},
    {.graph = "alexnet", .devices = 4, .stages_of_a_device = 1, .micro_batches = 4, .objective = BOTTLENECK_SECONDS},
    {.graph = "resnet18", .devices = 4, .micro_batches = 8},
    {.graph = "resnet50", .devices = 8, .stages_of_a_device = 1, .micro_batches = 8, .objective = BOTTLENECK_SECONDS},
    {.graph = "squeezenet", .devices = 4, .micro_batches = 8, .stages_of_a_device = 1},
    {.graph = "gnmt", .devices = 8, .stages_of_a_device = 1, .micro_batches = 8, .objective = BOTTLENECK_SECONDS},
    {.graph = "gnmt", .devices = 4, .micro_batches = 8, .stages_of_a_device = 1, .memory_bytes = 60},
    {.graph = "bert32", .devices = 8, .micro_batches = 32, .stages_of_a_device = 1},
    /* with a host */
    {.graph = "bert4",
     .devices = 4,
     .micro_batches = 8,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .host_bandwidth = 1.2e10,
     .host_latency = 1e-5,
     .memory_bytes = 50,
     .stages_of_a_device = 1},
    {.graph = "gpt2-small",
     .devices = 4,
     .micro_batches = 8,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .host_bandwidth = 1.2e10,
     .host_latency = 1e-5,
     .memory_bytes = 55,
     .stages_of_a_device = 1},
    {.graph = "vit-b16",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .host_bandwidth = 1.2e10,
     .host_latency = 1e-5,
     .memory_bytes = 40,
     .stages_of_a_device = 1},
    {.graph = "random40",
     .devices = 4,
     .micro_batches = 8,
     .host_bandwidth = 1e8,
     .memory_bytes = 40,
     .stages_of_a_device = 1},
    /* with stages that have copies, or micro-batches of their own */
    {.graph = "mmt-2",
     .devices = 8,
     .micro_batches = 32,
     .link_bandwidth = 4e10,
     .link_latency = 1e-5,
     .copies_of_a_stage = 8,
     .graph_at_once = "mmt-32",
     .most_at_once = 16},
    {.graph = "dlrm-64",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 4e10,
     .link_latency = 1e-5,
     .copies_of_a_stage = 8,
     .graph_at_once = "dlrm-1024",
     .most_at_once = 16},
    {.graph = "candle-uno-512",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 4e10,
     .link_latency = 1e-5,
     .copies_of_a_stage = 8,
     .graph_at_once = "candle-uno-8192",
     .most_at_once = 16},
    {.graph = "vit-b16",
     .devices = 8,
     .micro_batches = 16,
     .link_bandwidth = 1.6e10,
     .link_latency = 1e-5,
     .copies_of_a_stage = 8},
    {.graph = "random40", .devices = 4, .micro_batches = 8, .link_bandwidth = 1e9, .copies_of_a_stage = 4},
};

static ons_status *take_cap(const char *path, instance *in, ons_arena *arena) {
    ons_workload work;
    const ons_pipeline pipeline = {
        .generator = &ons_generator_one_f_one_b, .stages = in->devices, .micro_batches = in->micro_batches};
    ONS_TRY(ons_cost_file_load(path, NULL, arena, &work));
    double share = (double)in->memory_bytes / 100;
    in->memory_bytes = transformer_work_capacity(&work, &pipeline, share);
    return NULL;
}

static ons_status *write_problem(const char *folder, const instance *of, ons_arena *arena) {
    instance in = *of;
    in.name = ons_arena_format(arena, "%s-d%u-m%u%s%s%s%s", of->graph, of->devices, of->micro_batches,
                               of->objective == BOTTLENECK_SECONDS ? "-bottleneck" : "",
                               of->objective == STEP_SECONDS && of->stages_of_a_device == 1 ? "-single" : "",
                               of->memory_bytes > 0 ? "-capped" : "",
                               of->host_bandwidth > 0      ? "-host"
                               : of->graph_at_once != NULL ? "-groups"
                               : of->copies_of_a_stage > 1 ? "-copies"
                                                           : "");
    in.graph = ons_arena_format(arena, "graphs/%s.json", of->graph);
    if (of->graph_at_once != NULL) in.graph_at_once = ons_arena_format(arena, "graphs/%s.json", of->graph_at_once);
    const char *path = ons_arena_format(arena, "%s/problems/%s.json", folder, in.name);
    ONS_TRY(ons_arena_check(arena));
    if (access(path, F_OK) == 0) return NULL;
    if (of->memory_bytes > 0) ONS_TRY(take_cap(ons_arena_format(arena, "%s/%s", folder, in.graph), &in, arena));
    return problem_write(&in, folder);
}

static ons_status *append(void *context, const void *bytes, size_t size) {
    fwrite(bytes, 1, size, context);
    return NULL;
}

static void put_known(ons_json_writer *w, const instance *in) {
    ons_json_begin_object(w, "best");
    ons_json_put_double(w, "value", in->best);
    ons_json_put_text(w, "found_by", in->found_by);
    ons_json_put_text(w, "solution", in->solution);
    ons_json_end_object(w);
    ons_json_begin_object(w, "bound");
    ons_json_put_double(w, "value", in->bound);
    ons_json_put_text(w, "from", in->bound_from);
    ons_json_end_object(w);
}

static void put_groupings(ons_json_writer *w, const instance *in) {
    if (in->copies_of_a_stage > 1) ons_json_put_int(w, "copies_of_a_stage", in->copies_of_a_stage);
    if (in->graph_at_once == NULL) return;
    ons_json_begin_object(w, "at_once");
    ons_json_put_int(w, "micro_batches", in->most_at_once);
    ons_json_put_text(w, "graph", in->graph_at_once);
    ons_json_end_object(w);
}

static ons_status *print_problem(const instance *in, FILE *out) {
    ons_json_writer w;
    ons_json_writer_init(&w, append, out);
    ons_json_begin_object(&w, NULL);
    ons_json_put_int(&w, "onstage_instance", 1);
    ons_json_put_text(&w, "name", in->name);
    ons_json_put_text(&w, "graph", in->graph);
    ons_json_put_int(&w, "devices", in->devices);
    ons_json_put_int(&w, "stages_of_a_device", in->stages_of_a_device);
    ons_json_put_int(&w, "micro_batches", in->micro_batches);
    ons_json_put_int(&w, "memory_bytes", in->memory_bytes);
    ons_json_put_double(&w, "link_bandwidth", in->link_bandwidth);
    ons_json_put_double(&w, "link_latency", in->link_latency);
    if (in->host_bandwidth > 0) ons_json_put_double(&w, "host_bandwidth", in->host_bandwidth);
    if (in->host_bandwidth > 0) ons_json_put_double(&w, "host_latency", in->host_latency);
    put_groupings(&w, in);
    ons_json_put_text(&w, "objective", objective_names[in->objective]);
    if (in->found_by != NULL) put_known(&w, in);
    ons_json_end_object(&w);
    ons_json_put_line_break(&w);
    return ons_json_writer_flush(&w);
}

ons_status *problem_write(const instance *in, const char *folder) {
    char path[4096], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ONS_CHECK(out != NULL, ONS_OUT_OF_MEMORY, "out of memory");
    ons_status *printed = print_problem(in, out), *closed = ons_text_close(out, &text);
    if (printed == NULL) printed = closed;
    snprintf(path, sizeof path, "%s/problems/%s.json", folder, in->name);
    if (printed == NULL) printed = ons_file_write_text(path, text);
    free(text);
    return printed;
}

ons_status *poses_write(const char *folder, const char *profiles) {
    static const char *const folders[] = {"graphs", "problems", "solutions"};
    for (size_t i = 0; i < 3; ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        ONS_TRY(ons_folder_make(path));
    }
    for (size_t i = 0; i < sizeof GRAPHS / sizeof *GRAPHS; ++i) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = write_graph(folder, profiles, i, arena);
        ons_arena_free(arena);
        ONS_TRY_AT(status, "%s", GRAPHS[i].name);
    }
    for (size_t i = 0; i < sizeof PROBLEMS / sizeof *PROBLEMS; ++i) {
        ons_arena *arena = ons_arena_new();
        if (arena == NULL) return ons_status_out_of_memory();
        ons_status *status = write_problem(folder, &PROBLEMS[i], arena);
        ons_arena_free(arena);
        ONS_TRY(status);
    }
    return NULL;
}

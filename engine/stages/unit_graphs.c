/* Graphs of stages whose micro-batches are several units of a step. */
#include <inttypes.h>

#include "engine/stages/dataset_graphs.h"
#include "planner/schedule/device_groups.h"
#include "runtime/program/units.h"

static const ons_grouped_graphs *find_size(const ons_dataset_graphs *g, uint32_t size) {
    uint32_t i = 0;
    while (i < g->grouped_count && g->grouped[i].size != size) ++i;
    return i < g->grouped_count ? &g->grouped[i] : NULL;
}

/* `device`: of the cuts. NULL: it runs what all stages run. */
static const ons_grouped_graphs *find_of_device(const ons_dataset_graphs *g, ons_batch_variant v, uint32_t device) {
    return v != ONS_WHOLE || g->sizes == NULL ? NULL : find_size(g, g->sizes[device]);
}

const ons_model_graph *ons_dataset_graphs_of(const ons_dataset_graphs *g, ons_batch_variant v, uint32_t device) {
    const ons_grouped_graphs *grouped = find_of_device(g, v, device);
    return grouped == NULL ? &g->graphs[v] : &grouped->graph;
}

const ons_cut_stage *ons_dataset_graphs_cut_of(const ons_dataset_graphs *g, ons_batch_variant v, uint32_t device) {
    const ons_grouped_graphs *grouped = find_of_device(g, v, device);
    return grouped == NULL ? &g->cuts[v].stages[device] : &grouped->cut.stages[device];
}

/* --------------------------------------------------------------------------------------------------------- building */

static ons_status *check_model(const ons_model_graph_options *whole, const ons_graph *graph) {
    ONS_CHECK(!ons_config_uses_cuda(whole->config), ONS_UNSUPPORTED,
              "the plan has stages with micro-batches of their own size, which GPUs do not compute yet; train with "
              "--device cpu, or plan without them");
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        ONS_CHECK((node->op->roles.traits & ONS_TRAIT_STATISTICS) == 0, ONS_UNSUPPORTED,
                  "node '%s' normalises by the samples of its micro-batch, and the plan has stages with micro-batches "
                  "of their own size; give --batchnorm eval, or plan without them",
                  node->name);
    }
    return NULL;
}

static ons_status *check_batching(const ons_batching *b) {
    ONS_CHECK(!b->fixed, ONS_UNSUPPORTED,
              "the model takes batches of %" PRId64
              " samples alone, and the plan has stages with larger micro-batches; export it with a dynamic batch axis, "
              "or plan without them",
              b->rows);
    ONS_CHECK(!ons_batching_is_uneven(b), ONS_UNSUPPORTED,
              "a batch of %" PRId64 " does not come out even in %" PRId64
              " micro-batches, and the plan has stages that take several of them at once; take a multiple for --batch",
              b->batch, ons_batching_micro_batches(b));
    ONS_CHECK(b->replicas == 1, ONS_UNSUPPORTED,
              "--replicas: the plan has stages with micro-batches of their own size, which is not together yet with "
              "copies of the whole pipeline; leave one of the two out");
    return NULL;
}

static ons_status *build_graph(const ons_model_graph_options *whole, const ons_model_graph *unit, int64_t rows,
                               ons_model_graph *graph) {
    ons_model_graph_options options = *whole;
    options.rows = rows;
    options.like = unit->graph;
    ONS_TRY(ons_model_graph_build(&options, graph));
    return ons_units_number_elements(unit->graph, unit->rows, graph->graph, rows);
}

static ons_status *build_sizes(const ons_model_graph_options *whole, uint32_t devices, ons_dataset_graphs *g) {
    const ons_model_graph *unit = &g->graphs[ONS_WHOLE];
    ONS_NEW(g->grouped, g->grouping_arena, devices);
    for (uint32_t i = 0; g->sizes != NULL && i < devices; ++i) {
        if (g->sizes[i] == 1 || find_size(g, g->sizes[i]) != NULL) continue;
        ons_grouped_graphs *grouped = &g->grouped[g->grouped_count++];
        grouped->size = g->sizes[i];
        ONS_TRY(build_graph(whole, unit, grouped->size * unit->rows, &grouped->graph));
    }
    return NULL;
}

/* What no group of units takes, of an epoch's last step. */
static ons_status *build_rest(const ons_model_graph_options *whole, int64_t rows, ons_dataset_graphs *g) {
    ons_model_graph *rest = &g->graphs[ONS_REST];
    if (rest->rows == rows) return NULL;
    ons_model_graph_free(rest);
    *rest = (ons_model_graph){0};
    return rows == 0 ? NULL : build_graph(whole, &g->graphs[ONS_WHOLE], rows, rest);
}

ons_status *ons_dataset_graphs_build_groups(const ons_model_graph_options *whole, const ons_schedule *schedule,
                                            const ons_batching *batching, int64_t samples, ons_dataset_graphs *g) {
    ons_device_groups groups;
    int64_t together = ons_units_together(schedule);
    if (together == 1 && g->grouping_arena == NULL) return NULL;
    ons_dataset_graphs_drop_groups(g);
    if ((g->grouping_arena = ons_arena_new()) == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_units_group_sizes(schedule, g->grouping_arena, &g->sizes));
    ONS_TRY(ons_device_groups_find(schedule, g->grouping_arena, &groups));
    int64_t rows = batching->rows;
    if (together > 1) {
        rows *= together;
        ONS_TRY(check_model(whole, g->graphs[ONS_WHOLE].graph));
        ONS_TRY(check_batching(batching));
    }
    ONS_TRY(build_sizes(whole, groups.count, g));
    if (batching->fixed || ons_batching_is_uneven(batching)) return NULL;
    return build_rest(whole, samples % batching->batch % rows, g);
}

void ons_dataset_graphs_drop_groups(ons_dataset_graphs *g) {
    for (uint32_t i = 0; i < g->grouped_count; ++i) {
        ons_cut_free(&g->grouped[i].cut);
        ons_model_graph_free(&g->grouped[i].graph);
    }
    ons_arena_free(g->grouping_arena);
    g->grouping_arena = NULL;
    g->sizes = NULL;
    g->grouped = NULL;
    g->grouped_count = 0;
}

ons_status *ons_dataset_graphs_check_groups(const ons_model *model, const ons_dataset_graphs *g) {
    const ons_cut **cuts;
    if (g->sizes == NULL) return NULL;
    uint32_t devices = g->cuts[ONS_WHOLE].stage_count;
    ONS_NEW(cuts, g->grouping_arena, devices);
    for (uint32_t i = 0; i < devices; ++i) {
        const ons_grouped_graphs *grouped = find_size(g, g->sizes[i]);
        cuts[i] = grouped == NULL ? &g->cuts[ONS_WHOLE] : &grouped->cut;
    }
    return ons_units_check_messages(cuts, g->sizes, model->registry);
}

/* Whether a node of the model, or what passes have made of it, is on the device. */
static bool has_node(const ons_cut_stage *cut, const char *name) {
    return ons_graph_find_node(cut->graph, name) != ONS_NONE;
}

bool ons_dataset_graphs_keep_loss_whole(const ons_dataset_graphs *g, int64_t units) {
    const ons_model_graph *unit = &g->graphs[ONS_WHOLE];
    bool whole = g->sizes != NULL, made = false;
    for (uint32_t i = 0; whole && i < g->cuts[ONS_WHOLE].stage_count; ++i) {
        const ons_model_graph *graph = ons_dataset_graphs_of(g, ONS_WHOLE, i);
        const ons_cut_stage *cut = ons_dataset_graphs_cut_of(g, ONS_WHOLE, i);
        ons_value_id loss = graph->loss == ONS_NONE ? ONS_NONE : cut->value_of[graph->loss];
        bool makes = loss != ONS_NONE && ons_graph_value(cut->graph, loss)->producer != ONS_NONE;
        made |= makes;
        if (makes || has_node(cut, unit->loss_obstacle.node)) whole = g->sizes[i] == units;
    }
    return whole && made;
}

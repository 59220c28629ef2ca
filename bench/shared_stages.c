/* Stages on several devices at once, on FlexPipe's models and Chimera's closed form, as a page: ./bazelw run
 * //bench:shared_stages > bench/results/shared_stages.md. Costs are stated, nothing is trained. */
#include <stdio.h>

#include "bench/shared_stages_page.h"
#include "planner/shared_stages/chimera.h"
#include "planner/shared_stages/placed_simulation.h"

static void print_head(const shared_machine *m) {
    printf(
        "# Stages on several devices at once\n\n"
        "Made by `./bazelw run //bench:shared_stages`, from `planner/shared_stages/`: vocabularies sharded over all "
        "devices, Chimera's two\ndirections, barriers before a contrastive loss. All of it is simulated with the costs "
        "that are stated here; nothing is trained.\n"
        "What `onstage train` runs of it: `--vocabulary-shards` (without collectives), `--pipeline chimera`, "
        "`plan --stage-sizes barrier`.\n\n"
        "What is assumed where the papers say nothing:\n"
        "- Devices: %s, for A800 80 GB: 16-bit products at %.3g FLOP/s (half of it at %.3g FLOPs), %.3g bytes/s,\n"
        "  %.0f µs a kernel, %.1f GiB under the cap.\n"
        "- Links: nodes of %lld, %.3g bytes/s each way in a node and %.3g a GPU between nodes, %.0f µs of latency. "
        "Replicas of a stage are\n  neighbours, so a pipeline of more than a node's devices has the network between "
        "its stages.\n"
        "- Collectives go in a ring in one piece: 2 (n - 1) messages of an n-th of the bytes for a sum, or to bring "
        "what "
        "one device has to all;\n  half of that to gather. They run beside computations unless it is said that they "
        "hold devices, one after another on each device,\n  and messages beside them. Sums over replicas are the "
        "planner's (`planner/partition/reduce.h`), beside the last backward part.\n"
        "- A layer: four products (12 h² weights), attention in one kernel, two normalisations, two additions, an "
        "activation; it saves 34 bytes\n  for each of the numbers that go from layer to layer, or 2 and a forward part "
        "more. 16 bytes a weight (Adam), 30 moved by an update.\n"
        "- A shard of the head: its product, one pass over its logits, two over them back; shards exchange the rows' "
        "greatest logit and sum,\n  and sum the gradients of what they read. A shard of the embedding: rows that it "
        "has "
        "not are 0, then a sum. Both untied.\n"
        "- Baselines and ours search the same powers of two for pipelines, replicas and samples of a part, with and "
        "without recomputation;\n  layers lie evenly on stages. Orders are searched by one change after another while "
        "that helps, from two beginnings.\n",
        m->profile.title, m->profile.matrix_flops * m->profile.matrix.share, m->profile.matrix.half,
        m->profile.memory_bandwidth * m->profile.memory.share, 1e6 * m->profile.launch_seconds,
        (double)m->capacity / (1 << 30), (long long)m->node_devices, m->node.bandwidth, m->network.bandwidth,
        1e6 * m->node.latency);
}

static ons_status *run_chimera(uint32_t devices, double forward, double backward, ons_arena *arena,
                               ons_placed_forecast *forecast) {
    ons_placed_plan plan = {.batch = devices};
    ons_placed_stage *stages;
    ons_action_list *lists;
    uint32_t first;
    ONS_NEW(stages, arena, devices);
    for (uint32_t i = 0; i < devices; ++i)
        stages[i] = (ons_placed_stage){.samples = 1, .forward = forward, .input = backward / 2, .weight = backward / 2};
    ons_placed_line line = {.stages = stages, .count = devices, .devices = devices, .both_ways = true};
    ONS_TRY(ons_placed_plan_add_line(&plan, &line, arena, &first));
    ONS_TRY(ons_chimera_lists(&plan, arena, &lists));
    ONS_TRY(ons_placed_simulate(&plan, lists, arena, forecast));
    ons_simulation_free(forecast->simulation);
    return NULL;
}

ons_status *page_chimera(void) {
    static const double ratios[] = {1, 1.5, 2, 3};
    printf("\n## Chimera: two directions, N micro-batches on D = N devices\n\n"
           "N f + (N + D - 2) b for forward parts of f and backward parts of b >= f: D - 2 bubbles of a backward part. "
           "For "
           "b = f that is a bubble\nratio of (D - 2) / (2 N + D - 2), for b = 2 f one of (D - 2) / (3/2 N + D - 2), "
           "the two "
           "that Li and Hoefler (2021) publish. Free links; in\nunits of f. 1F1B: (N + D - 1)(f + b).\n\n"
           "| N = D | b : f | closed form | simulated | bubble ratio | 1F1B |\n|--:|--:|--:|--:|--:|--:|\n");
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t d = 2; d <= 8; d += 2)
        for (size_t i = 0; i < sizeof ratios / sizeof *ratios && status == NULL; ++i) {
            ons_placed_forecast f;
            status = run_chimera(d, 1, ratios[i], arena, &f);
            if (status == NULL)
                printf("| %u | %g | %g | %g | %.4f | %g |\n", d, ratios[i], d + (2 * d - 2) * ratios[i], f.seconds,
                       f.bubble_share, (2 * d - 1) * (1 + ratios[i]));
        }
    ons_arena_free(arena);
    return status;
}

static ons_status *print_page(ons_arena *arena) {
    shared_machine m;
    ONS_TRY(shared_machine_load(arena, &m));
    print_head(&m);
    ONS_TRY(page_chimera());
    ONS_TRY(page_vocabularies(&m));
    return page_towers(&m);
}

int main(void) {
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : print_page(arena);
    ons_arena_free(arena);
    if (status == NULL) return 0;
    fprintf(stderr, "shared_stages: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

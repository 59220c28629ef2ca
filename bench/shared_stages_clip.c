#include <math.h>
#include <stdio.h>

#include "bench/shared_stages_page.h"

enum { DEVICES = 40, BATCH = 128, MODELS = 3, GROUPS = 3 };

/* Table 4. */
static const shared_towers clips[MODELS] = {
    {"4.7B", {{240, 1024, 264, 0}, {240, 768, 77, 0}}, {"audio", "text"}, 1.26},
    {"8.2B", {{440, 1024, 264, 0}, {216, 1024, 77, 0}}, {"video", "text"}, 1.29},
    {"9.7B", {{32, 4096, 264, 0}, {40, 2560, 77, 0}}, {"image", "text"}, 1.18},
};
static const int64_t groups[GROUPS] = {32, 64, 128};

static void print_run(const shared_towers *c, int64_t group, const char *system, const towers_run *t, double search,
                      ons_arena *arena) {
    printf("| %s | %lld | %s | %.4f | %.1f %% | %.1f | %u + %u × %u | %lld, %lld%s | %u, %u; %s | %.1f |\n", c->name,
           (long long)group, system, t->run.seconds, 100 * t->run.bubble_share, (double)t->run.peak_bytes / (1 << 30),
           t->devices[0], t->devices[1], t->replicas, (long long)t->samples[0], (long long)t->samples[1],
           t->recompute ? ", recomputed" : "", t->chunks[0], t->chunks[1], page_order(&t->run, arena), search);
}

typedef towers_run table[GROUPS][MODELS][TOWERS_SYSTEMS];

static ons_status *measure(const shared_machine *m, table runs, ons_arena *arena) {
    printf("| model | group | system | step, s | bubbles | GiB | devices × replicas | samples of a part | stages on a "
           "device; "
           "order | search, s |\n|---|--:|---|--:|--:|--:|---|---|---|--:|\n");
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i)
            for (uint32_t system = 0; system < TOWERS_SYSTEMS; ++system) {
                towers_run *run = &runs[g][i][system];
                double began = page_now();
                ONS_TRY(shared_best_towers(m, &clips[i], DEVICES, BATCH, groups[g], system, run));
                print_run(&clips[i], groups[g], towers_system_names[system], run, page_now() - began, arena);
            }
    return NULL;
}

static double ratio(table runs, uint32_t group, uint32_t model, towers_system of) {
    return runs[group][model][of].run.seconds / runs[group][model][TOWERS_FLEXPIPE].run.seconds;
}

static void print_ratios(table runs) {
    printf(
        "\n| model | group | FlexPipe over one line | over DistMM-Pipe | paper | over DistMM-Pipe, orders searched |\n"
        "|---|--:|--:|--:|--:|--:|\n");
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i)
            printf("| %s | %lld | %.3f | **%.3f** | %.2f | %.3f |\n", clips[i].name, (long long)groups[g],
                   ratio(runs, g, i, TOWERS_LINE), ratio(runs, g, i, TOWERS_DISTMM), clips[i].paper_ratio,
                   ratio(runs, g, i, TOWERS_HOLDING));
    printf("\n");
}

/* Where a bar is missed: what there was to gain. */
static void print_bars(table runs, ons_arena *arena) {
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i) {
            const shared_run *other = &runs[g][i][TOWERS_DISTMM].run, *own = &runs[g][i][TOWERS_FLEXPIPE].run;
            double value = ratio(runs, g, i, TOWERS_DISTMM);
            page_bar(
                ons_arena_format(arena, "%s, groups of %lld, over DistMM-Pipe", clips[i].name, (long long)groups[g]),
                value, clips[i].paper_ratio);
            if (value < clips[i].paper_ratio)
                printf(
                    "  (DistMM-Pipe has %.1f %% of bubbles, FlexPipe %.1f %%; without any on its busiest device, which "
                    "computes %.4f s, the\n  ratio would be %.3f)\n",
                    100 * other->bubble_share, 100 * own->bubble_share, own->busy_seconds,
                    other->seconds / own->busy_seconds);
        }
}

ons_status *page_towers(const shared_machine *m) {
    static table runs;
    printf("\n## Two towers before a contrastive loss\n\n"
           "CLIP on %d devices, %d samples a step (figure 16). The loss takes a group of samples at once, of all "
           "replicas; "
           "the paper says\n\"every few micro-batches\" and no number, so three sizes are here, the last of them the "
           "whole step. One line: text's stages in front\nof the other tower's, one plain pipeline of 1F1B with the "
           "barrier. DistMM-Pipe: a pipeline for each tower, 1F1B's limits and a group,\ngathering holds the devices. "
           "Devices: of the first tower's pipeline and of text's. FlexPipe: gathering runs beside, several stages on a "
           "device, and all orders.\n\n",
           DEVICES, BATCH);
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = measure(m, runs, arena);
    if (status == NULL) {
        print_ratios(runs);
        print_bars(runs, arena);
    }
    ons_arena_free(arena);
    return status;
}

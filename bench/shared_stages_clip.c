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

typedef double table[GROUPS][MODELS][TOWERS_SYSTEMS];

static ons_status *measure(const shared_machine *m, table seconds, ons_arena *arena) {
    printf("| model | group | system | step, s | bubbles | GiB | devices × replicas | samples of a part | stages on a "
           "device; "
           "order | search, s |\n|---|--:|---|--:|--:|--:|---|---|---|--:|\n");
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i)
            for (uint32_t system = 0; system < TOWERS_SYSTEMS; ++system) {
                towers_run run;
                double began = page_now();
                ONS_TRY(shared_best_towers(m, &clips[i], DEVICES, BATCH, groups[g], system, &run));
                seconds[g][i][system] = run.run.seconds;
                print_run(&clips[i], groups[g], towers_system_names[system], &run, page_now() - began, arena);
            }
    return NULL;
}

static void print_ratios(table seconds) {
    printf("\n| model | group | FlexPipe over one line | over DistMM-Pipe | paper | over DistMM-Pipe, orders searched "
           "(what "
           "is gained by gathering beside, and placements) |\n|---|--:|--:|--:|--:|--:|\n");
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i) {
            const double *s = seconds[g][i];
            double own = s[TOWERS_FLEXPIPE];
            printf("| %s | %lld | %.3f | **%.3f** | %.2f | %.3f |\n", clips[i].name, (long long)groups[g],
                   s[TOWERS_LINE] / own, s[TOWERS_DISTMM] / own, clips[i].paper_ratio, s[TOWERS_HOLDING] / own);
        }
    printf("\n");
}

static void print_bars(table seconds, ons_arena *arena) {
    for (uint32_t g = 0; g < GROUPS; ++g)
        for (uint32_t i = 0; i < MODELS; ++i)
            page_bar(
                ons_arena_format(arena, "%s, groups of %lld, over DistMM-Pipe", clips[i].name, (long long)groups[g]),
                seconds[g][i][TOWERS_DISTMM] / seconds[g][i][TOWERS_FLEXPIPE], clips[i].paper_ratio);
}

ons_status *page_towers(const shared_machine *m) {
    static table seconds;
    printf("\n## Two towers before a contrastive loss\n\n"
           "CLIP on %d devices, %d samples a step (figure 16). The loss takes a group of samples at once, of all "
           "replicas; "
           "the paper says\n\"every few micro-batches\" and no number, so three sizes are here, the last of them the "
           "whole step. One line: text's stages in front\nof the other tower's, one plain pipeline of 1F1B with the "
           "barrier. DistMM-Pipe: a pipeline for each tower, 1F1B's limits and a group,\ngathering holds the devices. "
           "Devices: of the first tower's pipeline and of text's.\n\n",
           DEVICES, BATCH);
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = measure(m, seconds, arena);
    if (status == NULL) {
        print_ratios(seconds);
        print_bars(seconds, arena);
    }
    ons_arena_free(arena);
    return status;
}

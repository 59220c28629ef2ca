#include <math.h>
#include <stdio.h>

#include "bench/shared_stages_page.h"

enum { DEVICES = 32, BATCH = 128, MOST_SIZES = 5 };

typedef struct family {
    const char *name;
    shared_model model;
    int64_t words[MOST_SIZES];
    const char *labels[MOST_SIZES];
} family;

/* Table 3, with heads and hidden size the right way round. */
static const family families[] = {
    {"5B", {64, 2560, 512, 0}, {65536, 131072, 262144, 524288, 1048576}, {"64K", "128K", "256K", "512K", "1M"}},
    {"16.1B", {80, 4096, 1024, 0}, {262144, 524288, 1048576, 1153434, 1258291}, {"256K", "512K", "1M", "1.1M", "1.2M"}},
};

typedef struct results {
    shared_run runs[MOST_SIZES][SHARED_SYSTEMS];
} results;

static const char *placement_name(const shared_run *r, ons_arena *arena) {
    static const char *const names[] = {"one-to-one", "circular", "V"};
    const char *stages = r->chunks > 1 ? ons_arena_format(arena, ", %u stages each", r->chunks) : "";
    return ons_arena_format(arena, "%s%s%s", names[r->placement], stages, r->way.both_ways ? ", both ways" : "");
}

static void print_run(const char *label, const char *system, const shared_run *r, double search, ons_arena *arena) {
    if (isinf(r->seconds)) {
        printf("| %s | %s | does not fit | | | | | | | %.1f |\n", label, system, search);
        return;
    }
    printf("| %s | %s | %.4f | %.1f | %.1f %% | %.1f | %u × %u | %lld%s | %s; %s | %.1f |\n", label, system, r->seconds,
           BATCH / r->seconds, 100 * r->bubble_share, (double)r->peak_bytes / (1 << 30), r->way.devices,
           r->way.replicas, (long long)r->way.samples, r->way.recompute ? ", recomputed" : "", placement_name(r, arena),
           page_order(r, arena), search);
}

static ons_status *measure(const shared_machine *m, const family *f, bool print, results *out) {
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : NULL;
    if (print)
        printf(
            "| vocabulary | system | step, s | samples a second | bubbles | GiB | pipeline × replicas | samples of a "
            "part | placement; order | search, s |\n|---|---|--:|--:|--:|--:|---|---|---|--:|\n");
    for (uint32_t i = 0; i < MOST_SIZES && status == NULL; ++i)
        for (uint32_t system = 0; system < SHARED_SYSTEMS && status == NULL; ++system) {
            shared_model model = f->model;
            double began = page_now();
            model.vocabulary = f->words[i];
            status = shared_best_of(m, &model, DEVICES, BATCH, system, &out->runs[i][system]);
            if (print && status == NULL)
                print_run(f->labels[i], shared_system_names[system], &out->runs[i][system], page_now() - began, arena);
        }
    ons_arena_free(arena);
    return status;
}

static double ratio(const results *r, uint32_t size, shared_system of, shared_system to) {
    return r->runs[size][of].seconds / r->runs[size][to].seconds;
}

static const char *cell(double value, char text[16]) {
    if (isfinite(value))
        snprintf(text, 16, "%.3f", value);
    else
        snprintf(text, 16, "no memory");
    return text;
}

static void print_ratios(const family *f, const results *r) {
    printf(
        "\n| vocabulary | FlexPipe over Megatron | over T-1F1B | over T-1F1B in lockstep | T-1F1B over Megatron (the "
        "shards) | orders alone, over T-1F1B | placements, over these |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (uint32_t i = 0; i < MOST_SIZES; ++i) {
        char text[6][16];
        printf("| %s | **%s** | **%s** | %s | %s | %s | %s |\n", f->labels[i],
               cell(ratio(r, i, SHARED_MEGATRON, SHARED_FLEXPIPE), text[0]),
               cell(ratio(r, i, SHARED_T_1F1B, SHARED_FLEXPIPE), text[1]),
               cell(ratio(r, i, SHARED_LOCKSTEP, SHARED_FLEXPIPE), text[2]),
               cell(ratio(r, i, SHARED_MEGATRON, SHARED_T_1F1B), text[3]),
               cell(ratio(r, i, SHARED_T_1F1B, SHARED_ONE_TO_ONE), text[4]),
               cell(ratio(r, i, SHARED_ONE_TO_ONE, SHARED_FLEXPIPE), text[5]));
    }
    printf("\n");
}

/* The least and the most over the sizes. */
static void find_range(const results *r, shared_system of, double *least, double *most) {
    *least = INFINITY;
    *most = 0;
    for (uint32_t i = 0; i < MOST_SIZES; ++i) {
        *least = fmin(*least, ratio(r, i, of, SHARED_FLEXPIPE));
        *most = fmax(*most, ratio(r, i, of, SHARED_FLEXPIPE));
    }
}

static void print_bars(const results *r) {
    double least, most;
    find_range(r, SHARED_MEGATRON, &least, &most);
    page_bar("over Megatron, the vocabulary that gains least", least, 1.14);
    page_bar("over Megatron, the vocabulary that gains most", most, 1.91);
    find_range(r, SHARED_T_1F1B, &least, &most);
    page_bar("over T-1F1B, the vocabulary that gains least", least, 1.20);
    page_bar("over T-1F1B, the vocabulary that gains most", most, 1.28);
    page_bar("T-1F1B over Megatron, 1M, against 1.91 / 1.28", ratio(r, MOST_SIZES - 1, SHARED_MEGATRON, SHARED_T_1F1B),
             1.91 / 1.28);
}

/* Figure 2: the slowest stage and the fastest, in time and in memory, of eight. */
static void print_stages(const shared_machine *m) {
    enum { STAGES = 8 };
    const shared_way way = {.devices = STAGES, .replicas = 1, .samples = 1};
    shared_model model = families[0].model;
    model.vocabulary = 1048576;
    ons_placed_stage inner = shared_layers(m, &model, &way, model.layers / STAGES), last = inner, first = inner;
    ons_placed_stage head = shared_head(m, &model, &way, 1), embedding = shared_embedding(m, &model, &way, 1);
    shared_add(&last, &head);
    shared_add(&first, &embedding);
    double most = last.forward + last.input + last.weight, least = inner.forward + inner.input + inner.weight;
    int64_t held = inner.held_bytes + inner.saved_bytes, full = last.held_bytes + last.saved_bytes;
    if (first.held_bytes + STAGES * first.saved_bytes > full) full = first.held_bytes + STAGES * first.saved_bytes;
    printf(
        "The costs against figure 2, 5B with 1M words in %d stages (the paper says no number), one sample: the slowest "
        "stage\ntakes %.2f times as long as the fastest (paper: 5.63) and holds %.2f times as much (4.87).\n\n",
        STAGES, most / least, (double)full / (double)held);
}

ons_status *page_vocabularies(const shared_machine *m) {
    results r;
    printf("\n## Vocabularies: embedding and head over all devices of a pipeline\n\n");
    print_stages(m);
    printf(
        "%s parameters beside the vocabulary, %d devices, %d samples a step (figure 12). T-1F1B: shards, at the\n"
        "limits of 1F1B, whichever priorities are fastest; it is the baseline. In lockstep: as FlexPipe's generator\n"
        "arranges it where every part counts as one step, whatever its time, which leaves devices standing before\n"
        "parts that are far from ready. By the paper's ranges its T-1F1B is at least 1.14 / 1.28 = 0.89 times as fast\n"
        "as Megatron. FlexPipe: our search of its space, weight gradients put off into bubbles by the generator.\n\n",
        families[0].name, DEVICES, BATCH);
    ONS_TRY(measure(m, &families[0], true, &r));
    print_ratios(&families[0], &r);
    print_bars(&r);
    shared_machine slow = *m;
    slow.network.bandwidth /= 4;
    printf("\nThe same with a quarter of the network, 5e9 bytes/s a GPU (not a bar):\n");
    ONS_TRY(measure(&slow, &families[0], false, &r));
    print_ratios(&families[0], &r);
    printf("%s parameters beside the vocabulary (figure 13: 1.31-2.28 over Megatron, which has no memory at 1M; "
           "1.27-1.31\n"
           "over T-1F1B; not a bar):\n\n",
           families[1].name);
    ONS_TRY(measure(m, &families[1], true, &r));
    print_ratios(&families[1], &r);
    return NULL;
}

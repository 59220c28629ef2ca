/* AutoPipe's planner and Slicer against what their paper publishes (Liu et al., CLUSTER 2022), with DAPPLE's and
 * Piper's planners on the same costs. All of it is computed:
 *
 *     ./bazelw run //bench:autopipe > bench/results/autopipe.md
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/autopipe_plans.h"
#include "planner/search/layer_chain.h"

static const char *const planners[] = {[DAPPLE] = "DAPPLE", [PIPER] = "Piper", [AUTOPIPE] = "AutoPipe"};

enum { CASES = 4 };

/* GPT-2 345M, micro-batches of 4, 4 GPUs, a step of 512: AutoPipe's, which there is data parallelism alone. */
static const double TABLE_3_SECONDS = 25.737;

static void make_cases(autopipe_case *cases) {
    cases[0] = (autopipe_case){autopipe_gpt2_345m(32),
                               4,
                               {512, 1024, 2048},
                               {{27.4773, 53.5399, 105.635}, {30.2859, 56.3995, 108.694}, {27.0209, 50.9697, 99.1109}},
                               {2, 4, 2}};
    cases[1] = (autopipe_case){autopipe_gpt2_345m(32),
                               8,
                               {512, 1024, 2048},
                               {{15.8286, 30.8537, 60.8983}, {18.1436, 31.901, 60.3977}, {15.4453, 27.1475, 51.2174}},
                               {2, 6, 2}};
    cases[2] = (autopipe_case){autopipe_gpt2_1_3b(16),
                               4,
                               {512, 1024, 2048},
                               {{0}, {67.0872, 128.831, 253.052}, {62.885, 119.788, 234.781}},
                               {2, 4, 4}};
    cases[3] = (autopipe_case){autopipe_gpt2_1_3b(16),
                               8,
                               {512, 1024, 2048},
                               {{0}, {36.7831, 70.0173, 137.135}, {34.5127, 62.8691, 120.732}},
                               {2, 5, 4}};
}

/* ------------------------------------------------------------------------------------------------------------ plans */

/* Of blocks: "6.5", with the embedding and the head named. */
static void print_stages(const autopipe_case *c, const autopipe_plan *p) {
    uint32_t blocks = 2 * c->model.layers;
    for (uint32_t i = 0; i < p->stages; ++i) {
        uint32_t from = p->first[i] == 0 ? 0 : p->first[i] - 1, to = p->first[i + 1] - 1;
        if (to > blocks) to = blocks;
        printf("%s%g", i == 0 ? "" : ", ", (to - from) / 2.0);
        if (p->replicas[i] > 1) printf(" ×%u", p->replicas[i]);
    }
}

static void print_plans(const autopipe_case *cases, const autopipe_result *results) {
    printf("\n## Plans\n\nLayers of each stage (the embedding is in the first, the head in the last) × replicas, where "
           "there are several; bytes of the\nfullest GPU, if every replica takes whole micro-batches.\n\n| model | "
           "GPUs | planner | stages stated | stages | layers | bytes | |\n|---|---:|---|---:|---:|---|---:|---|\n");
    for (int i = 0; i < CASES; ++i)
        for (int k = 0; k < AUTOPIPE_PLANNERS; ++k) {
            const autopipe_plan *p = &results[i].plans[k];
            printf("| %s | %u | %s | %u | %u | ", cases[i].model.name, cases[i].gpus, planners[k],
                   cases[i].paper_stages[k], p->stages);
            print_stages(&cases[i], p);
            printf(" | %.1f GB | %s", (double)p->bytes * 1e-9,
                   p->stages == cases[i].paper_stages[k] ? "reproduced" : "**not reproduced**");
            if (k == DAPPLE && cases[i].paper[k][0] == 0)
                printf("; out of memory: %s", p->bytes > autopipe_capacity ? "reproduced" : "**not reproduced**");
            if (k == PIPER && results[i].piper_least < results[i].piper_most)
                printf("; %u to %u stages take the same time%s", results[i].piper_least, results[i].piper_most,
                       results[i].piper_stated && p->stages != cases[i].paper_stages[k] ? ", those stated, too" : "");
            printf(" |\n");
        }
}

/* --------------------------------------------------------------------------------------------------------- table IV */

/* Seconds that a further micro-batch of the step takes. */
static double pace(const autopipe_case *c, const double *seconds) {
    return (seconds[2] - seconds[1]) * (double)c->model.samples / (double)(c->batches[2] - c->batches[1]);
}

static void print_ratios(const autopipe_case *cases, const autopipe_result *results) {
    uint32_t reached = 0, cells = 0;
    printf("\n## Table IV, others ÷ AutoPipe\n\nPace: milliseconds for one more micro-batch, from the rows of two "
           "batches. The paper's own rows say what its plans' pace was, and\nwhere a ratio differs it is this that "
           "differs.\n\n| model | GPUs | planner | batch | paper | ours | | pace, paper | pace, ours | pace of "
           "AutoPipe, paper | ours |\n|---|---:|---|---:|---:|---:|---|---:|---:|---:|---:|\n");
    for (int i = 0; i < CASES; ++i)
        for (int k = 0; k < AUTOPIPE; ++k)
            for (int b = 0; b < AUTOPIPE_BATCHES; ++b) {
                const autopipe_case *c = &cases[i];
                const autopipe_plan *p = results[i].plans, *other = &p[k];
                printf("| %s | %u | %s | %ld | ", c->model.name, c->gpus, planners[k], (long)c->batches[b]);
                if (c->paper[k][b] == 0) {
                    printf("out of memory | %.3f%s | | | %.0f | %.0f | %.0f |\n",
                           other->seconds[b] / p[AUTOPIPE].seconds[b],
                           other->bytes > autopipe_capacity ? ", if it fitted" : "", 1e3 * pace(c, other->seconds),
                           1e3 * pace(c, c->paper[AUTOPIPE]), 1e3 * pace(c, p[AUTOPIPE].seconds));
                    continue;
                }
                double paper = c->paper[k][b] / c->paper[AUTOPIPE][b],
                       ours = other->seconds[b] / p[AUTOPIPE].seconds[b];
                ++cells;
                reached += ours >= paper - 0.005;
                printf("%.3f | %.3f | ", paper, ours);
                if (ours >= paper - 0.005)
                    printf("reached");
                else
                    printf("**missed by %.3f**: its step is %+.1f %% off the paper's, AutoPipe's %+.1f %%",
                           paper - ours, 100 * (other->seconds[b] / c->paper[k][b] - 1),
                           100 * (p[AUTOPIPE].seconds[b] / c->paper[AUTOPIPE][b] - 1));
                printf(" | %.0f | %.0f | %.0f | %.0f |\n", 1e3 * pace(c, c->paper[k]), 1e3 * pace(c, other->seconds),
                       1e3 * pace(c, c->paper[AUTOPIPE]), 1e3 * pace(c, p[AUTOPIPE].seconds));
            }
    printf("\n%u of %u cells are reached (to within 0.005).\n", reached, cells);
    printf("\nOn 8 GPUs the paper states numbers of stages alone, and says by its rows that what it ran was slower "
           "than the plans here. Part of\nit is that small shares of a micro-batch are slower for each sample: in "
           "table III four GPUs without a pipeline take %.0f ms of a GPU for a\nsample, in micro-batches of 4, and "
           "here, in micro-batches of 32, AutoPipe's take %.0f; in this page a share takes its part, and no more.\n",
           1e3 * TABLE_3_SECONDS * 4 / 512, 1e3 * pace(&cases[0], cases[0].paper[AUTOPIPE]) * 4 / 32);
    printf("\nAutoPipe's own rows, seconds of a step, ours ÷ paper:");
    for (int i = 0; i < CASES; ++i)
        for (int b = 0; b < AUTOPIPE_BATCHES; ++b)
            printf("%s %.3f", i + b == 0 ? "" : ",",
                   results[i].plans[AUTOPIPE].seconds[b] / cases[i].paper[AUTOPIPE][b]);
    printf(".\n");
}

/* ---------------------------------------------------------------------------------------------------------- balance */

static void print_bar(const char *what, double value, double bar) {
    printf("%s: %.2f×, bar %.2f×, %s", what, value, bar, value >= bar ? "reached" : "**missed**");
    if (value < bar) printf(" by %.2f", bar - value);
    printf(".\n");
}

static void print_balance(const autopipe_case *cases, const autopipe_result *results) {
    static const double bars[] = {[DAPPLE] = 2.73, [PIPER] = 5.35};
    printf(
        "\n## Balance\n\nStandard deviation of the stages' times for a micro-batch, which replicas share out, of GPT-2 "
        "345M with micro-batches of 32\n(section IV-E: DAPPLE 2.73 to 6.89×, Piper 5.35 to 12.7× AutoPipe's).\n\n| "
        "GPUs | planner | stages' milliseconds | deviation, ms | ÷ AutoPipe's |\n|---:|---|---|---:|---:|\n");
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < AUTOPIPE_PLANNERS; ++k) {
            const autopipe_plan *p = &results[i].plans[k];
            printf("| %u | %s | ", cases[i].gpus, planners[k]);
            for (uint32_t s = 0; s < p->stages; ++s) printf("%s%.0f", s == 0 ? "" : ", ", 1e3 * p->stage_seconds[s]);
            printf(" | %.1f | %.2f |\n", 1e3 * p->deviation, p->deviation / results[i].plans[AUTOPIPE].deviation);
        }
    printf("\n");
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < AUTOPIPE; ++k) {
            char what[64];
            snprintf(what, sizeof what, "- %s on %u GPUs", planners[k], cases[i].gpus);
            print_bar(what, results[i].plans[k].deviation / results[i].plans[AUTOPIPE].deviation, bars[k]);
            double theirs = pace(&cases[i], cases[i].paper[k]), ours = pace(&cases[i], results[i].plans[k].seconds);
            if (ours < 0.95 * theirs)
                printf("  (The plan here is not the one that the paper ran: its slowest stage takes %.0f ms, that "
                       "one's %.0f.)\n",
                       1e3 * ours, 1e3 * theirs);
        }
}

/* --------------------------------------------------------------------------------------------------------- start-up */

static ons_status *print_startup(ons_arena *arena) {
    static const uint32_t depths[] = {2, 4, 8, 12};
    autopipe_model model = autopipe_gpt2_345m(4);
    printf("\n## Start-up\n\nGPT-2 345M, micro-batches of 4, twice as many as stages (figure 14 b): until the last "
           "stage begins, with whole micro-batches and\nwith the first ones in two slices. Simulated; a half takes "
           "half the time. The Slicer slices nothing at 2 stages, where the paper\nmeasured a loss; the simulation, in "
           "which halves cost nothing more, would gain what the last column says, and that is not claimed.\n\n| stages "
           "| micro-batches sliced | start-up, ms | sliced | ratio | bar: 0.5 ± 5 %% | step, ms | sliced | fullest "
           "GPU, sliced ÷ whole | step with one sliced |\n|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof depths / sizeof *depths; ++i) {
        autopipe_startup s;
        ONS_TRY(autopipe_start(&model, depths[i], 2 * depths[i], arena, &s));
        double ratio = s.sliced / s.whole, off = fabs(ratio / 0.5 - 1);
        printf("| %u | %u | %.1f | %.1f | %.3f | ", s.stages, s.slices, 1e3 * s.whole, 1e3 * s.sliced, ratio);
        if (s.slices == 0)
            printf("none claimed");
        else
            printf("%s (%.1f %% off)", off <= 0.05 ? "reached" : "**missed**", 100 * off);
        printf(" | %.1f | %.1f | %.4f | %.1f |\n", 1e3 * s.whole_step, 1e3 * s.sliced_step,
               (double)s.sliced_bytes / (double)s.whole_bytes, 1e3 * s.forced_step);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ assumptions */

typedef struct even_case {
    autopipe_model model;
    uint32_t stages, micro_batches;
} even_case;

/* Speed-ups over even layers, of the planner alone and with the Slicer, and their range. */
static ons_status *print_even(const char *title, const char *paper, const even_case *cases, size_t count,
                              ons_arena *arena) {
    double least = INFINITY, most = 0, least_planner = INFINITY, most_planner = 0;
    printf("\n%s\n\n| model | micro-batch | stages | even layers, ms | planner | Slicer "
           "|\n|---|---:|---:|---:|---:|---:|\n",
           title);
    for (size_t i = 0; i < count; ++i) {
        autopipe_startup s;
        ONS_TRY(autopipe_start(&cases[i].model, cases[i].stages, cases[i].micro_batches, arena, &s));
        double planner = s.even_step / s.whole_step, both = s.even_step / s.sliced_step;
        least = fmin(least, both);
        most = fmax(most, both);
        least_planner = fmin(least_planner, planner);
        most_planner = fmax(most_planner, planner);
        printf("| %s | %ld | %u | %.0f | %.3f | %.3f |\n", cases[i].model.name, (long)cases[i].model.samples, s.stages,
               1e3 * s.even_step, planner, both);
    }
    printf(
        "\nPlanner %.2f to %.2f times as fast as even layers, with the Slicer %.2f to %.2f; the paper measured %s.\n",
        least_planner, most_planner, least, most, paper);
    return NULL;
}

static ons_status *print_megatron(ons_arena *arena) {
    const even_case batches[] = {
        {autopipe_gpt2_345m(4), 4, 8},  {autopipe_gpt2_345m(8), 4, 8},  {autopipe_gpt2_345m(16), 4, 8},
        {autopipe_gpt2_345m(32), 4, 8}, {autopipe_gpt2_762m(4), 4, 8},  {autopipe_gpt2_762m(8), 4, 8},
        {autopipe_gpt2_762m(16), 4, 8}, {autopipe_gpt2_762m(24), 4, 8},
    };
    const even_case depths[] = {
        {autopipe_gpt2_345m(4), 2, 4},   {autopipe_gpt2_345m(4), 4, 8},    {autopipe_gpt2_345m(4), 8, 16},
        {autopipe_gpt2_345m(4), 12, 24}, {autopipe_gpt2_762m(4), 2, 4},    {autopipe_gpt2_762m(4), 4, 8},
        {autopipe_gpt2_762m(4), 9, 18},  {autopipe_gpt2_762m(4), 12, 24},  {autopipe_bert_large(16), 2, 4},
        {autopipe_bert_large(16), 4, 8}, {autopipe_bert_large(16), 8, 16}, {autopipe_bert_large(16), 12, 24},
    };
    printf("\n## Against even layers\n\nMegatron-LM puts as many layers into every stage, and the head into the last. "
           "Simulated, 1F1B; the second factor is planner and Slicer.\n");
    ONS_TRY(print_even("4 stages, 8 micro-batches (figure 9):", "1.05 to 1.10, and 1.07 to 1.12", batches,
                       sizeof batches / sizeof *batches, arena));
    return print_even("Twice as many micro-batches as stages (figure 10):", "up to 1.25, and 1.02 to 1.30", depths,
                      sizeof depths / sizeof *depths, arena);
}

static void print_replicated(const ons_replicated_plan *p) {
    if (p->stages == 0) printf("none fits");
    for (uint32_t i = 0; i < p->stages; ++i) {
        printf("%s%u", i == 0 ? "" : ", ", p->first[i + 1] - p->first[i] - (i == 0) - (i + 1 == p->stages));
        if (p->replicas[i] > 1) printf(" ×%u", p->replicas[i]);
    }
}

static ons_status *print_dapple(ons_arena *arena) {
    printf("\n## What DAPPLE's plan depends on\n\nGPT-2 345M on 4 GPUs, micro-batches of 32. Its latency has the sum "
           "of gradients at the end, so longer steps favour one stage. Last, 16 GPUs\nand micro-batches of 4, with "
           "which the paper has 15 GPUs in the second stage.\n\n| micro-batches of a step | layers as they are | the "
           "best with two stages or more | layers with recomputation | the best with two stages or more | 16 GPUs "
           "|\n|---:|---|---|---|---|---|\n");
    for (uint32_t m = 1; m <= 64; m *= 2) {
        printf("| %u ", m);
        for (int recomputes = 0; recomputes < 2; ++recomputes)
            for (uint32_t least = 1; least <= 2; ++least) {
                ons_replicated_plan plan;
                autopipe_model model = autopipe_gpt2_345m(32);
                ONS_TRY(autopipe_ask_dapple(&model, 4, m, least, recomputes, arena, &plan));
                printf("| ");
                print_replicated(&plan);
                printf(" ");
            }
        ons_replicated_plan plan;
        autopipe_model small = autopipe_gpt2_345m(4);
        ONS_TRY(autopipe_ask_dapple(&small, 16, m, 1, false, arena, &plan));
        printf("| ");
        print_replicated(&plan);
        printf(" |\n");
    }
    return NULL;
}

/* The head is where both planners differ most from AutoPipe. */
static ons_status *print_head(const autopipe_case *of, ons_arena *arena) {
    static const double shares[] = {0.75, 0.88, 1, 1.1, 1.25};
    printf("\n## What the head's time changes\n\nThe head's matrix multiplication may run at another rate than those "
           "of layers, which the paper does not say. GPT-2 345M on 4 GPUs,\nothers ÷ AutoPipe (DAPPLE and Piper, "
           "batches of 512, 1024 and 2048; the paper's first).\n\n| head ÷ layer | DAPPLE | its ratios | Piper | its "
           "ratios | AutoPipe | its pace, ms |\n|---:|---|---|---|---|---|---:|\n| paper |  |");
    for (int k = 0; k < AUTOPIPE; ++k) {
        for (int b = 0; b < AUTOPIPE_BATCHES; ++b) printf(" %.3f", of->paper[k][b] / of->paper[AUTOPIPE][b]);
        printf(" | |");
    }
    printf(" %.0f |\n", 1e3 * pace(of, of->paper[AUTOPIPE]));
    for (size_t i = 0; i < sizeof shares / sizeof *shares; ++i) {
        autopipe_case c = *of;
        autopipe_result r;
        ons_workload w;
        c.model.head_share = shares[i];
        ONS_TRY(autopipe_model_make(&c.model, arena, &w));
        ONS_TRY(autopipe_plan_all(&c, arena, &r));
        printf("| %.2f |", ons_work_seconds(&w, w.node_count - 1, w.node_count) / ons_work_seconds(&w, 1, 3));
        for (int k = 0; k < AUTOPIPE_PLANNERS; ++k) {
            printf(" ");
            print_stages(&c, &r.plans[k]);
            printf(" |");
            for (int b = 0; b < AUTOPIPE_BATCHES && k < AUTOPIPE; ++b)
                printf(" %.3f", r.plans[k].seconds[b] / r.plans[AUTOPIPE].seconds[b]);
            if (k < AUTOPIPE) printf(" |");
        }
        printf(" %.0f |\n", 1e3 * pace(&c, r.plans[AUTOPIPE].seconds));
    }
    return NULL;
}

static ons_status *print_piper(ons_arena *arena) {
    printf("\n## What Piper's plan depends on\n\nIt adds up over a stage's layers what each of them computes again, as "
           "if all of it were there at once; so its plans depend on how\nmany bytes attention is said to keep of each "
           "score. (With dropout, and everything kept, 5: Korthikanti et al., 2022.)\n\n| bytes of a score | 345M, 4 "
           "GPUs | 345M, 8 GPUs | 1.3B, 4 GPUs | 1.3B, 8 GPUs |\n|---:|---|---|---|---|\n");
    for (int64_t bytes = 1; bytes <= 5; ++bytes) {
        printf("| %ld ", (long)bytes);
        for (int large = 0; large < 2; ++large)
            for (uint32_t gpus = 4; gpus <= 8; gpus += 4) {
                ons_replicated_plan plan;
                autopipe_model model = large ? autopipe_gpt2_1_3b(16) : autopipe_gpt2_345m(32);
                model.score_bytes = bytes;
                ONS_TRY(autopipe_ask_piper(&model, gpus, (uint32_t)(1024 / model.samples), 0, arena, &plan));
                printf("| %u: ", plan.stages);
                print_replicated(&plan);
                printf(" ");
            }
        printf("|\n");
    }
    return NULL;
}

static ons_status *print_costs(const autopipe_case *cases, ons_arena *arena) {
    printf("# AutoPipe's planner and Slicer\n\n`./bazelw run //bench:autopipe` computed this page; nothing on it was "
           "measured on a GPU. The figures of the paper are those of its\nTable IV and sections IV-D and IV-E.\n\n## "
           "Costs\n\nRTX 3090: memory at %.0f GB/s; %.1f of its 24 GiB usable, which is what AutoPipe's own plans need "
           "(345M in 2 stages and not in 1,\n1.3B in 4 and not in 2). Links of 100 Gbit/s, %.0f µs, within machines "
           "and between them. Sequences of 1024, 16 bits, Adam: %d bytes\nof a parameter, %d of a logit, 2 of a score "
           "that attention keeps. Layers save their blocks' inputs and compute the rest again.\nMatrix multiplications "
           "at the rate below, with which the paper's step of AutoPipe comes out.\n\n| model | TFLOP/s | embedding, ms "
           "| attention | feed-forward | head | head ÷ layer |\n|---|---:|---:|---:|---:|---:|---:|\n",
           autopipe_memory_bandwidth * 1e-9, (double)autopipe_capacity / (double)(1 << 30), autopipe_link_latency * 1e6,
           AUTOPIPE_PARAMETER_BYTES, AUTOPIPE_LOGIT_BYTES);
    for (int i = 0; i < CASES; i += 2) {
        ons_workload w;
        ONS_TRY(autopipe_model_make(&cases[i].model, arena, &w));
        uint32_t last = w.node_count - 1;
        printf("| %s | %.0f | %.1f | %.1f | %.1f | %.1f | %.2f |\n", cases[i].model.name, cases[i].model.flops * 1e-12,
               1e3 * ons_work_seconds(&w, 0, 1), 1e3 * ons_work_seconds(&w, 1, 2), 1e3 * ons_work_seconds(&w, 2, 3),
               1e3 * ons_work_seconds(&w, last, last + 1),
               ons_work_seconds(&w, last, last + 1) / ons_work_seconds(&w, 1, 3));
    }
    printf("\nDAPPLE's planner gets layers as they are, without recomputation, and steps of %d micro-batches, of 128 "
           "samples of the 345M model,\nthe smallest step of the paper; Piper's always recomputes. Their replicas "
           "share each micro-batch; AutoPipe's pipelines have\nmicro-batches of their own. Steps are 1F1B's.\n",
           AUTOPIPE_DAPPLE_MICRO_BATCHES);
    return NULL;
}

static ons_status *print_page(ons_arena *arena) {
    autopipe_case cases[CASES];
    autopipe_result results[CASES];
    make_cases(cases);
    for (int i = 0; i < CASES; ++i) ONS_TRY(autopipe_plan_all(&cases[i], arena, &results[i]));
    ONS_TRY(print_costs(cases, arena));
    print_plans(cases, results);
    print_ratios(cases, results);
    print_balance(cases, results);
    ONS_TRY(print_startup(arena));
    ONS_TRY(print_megatron(arena));
    ONS_TRY(print_head(&cases[0], arena));
    ONS_TRY(print_dapple(arena));
    return print_piper(arena);
}

int main(void) {
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena != NULL ? print_page(arena) : ons_status_out_of_memory();
    if (status != NULL) fprintf(stderr, "autopipe: %s\n", ons_status_get_message(status));
    bool failed = status != NULL;
    ons_status_free(status);
    ons_arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

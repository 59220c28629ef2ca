/* Tables 1 and 2 of DawnPiper (section 5.2) in one command: the largest batch of every method, the paper's figure
 * beside ours. Writes docs/results/dawnpiper.md:
 *
 *     ./bazelw run //bench:paper_tables
 *
 * With --figures [MODEL...], or --stages for figures 8 and 9 alone, those are printed and nothing is written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/paper_figures.h"
#include "bench/paper_models.h"
#include "bench/paper_splits.h"
#include "include/onstage.h"

/* ------------------------------------------------------------------------------------------------- what is measured */

typedef enum role { BASELINE, DAWNPIPER, OURS, OURS_1F1B, CEILING, EXTRA } role;

/* A line of a table, for one number of stages. */
typedef struct line {
    paper_method method;
    role role;
    int paper[PAPER_MODELS]; /* what the paper has; 0: it has no such line */
} line;

enum { LINES_MAX = 12 };

#define FIGURE_4 "dawnpiper_figure4.svg"

/* A part of a table: one number of stages, with or without memory optimisation. */
typedef struct part {
    int table;
    uint32_t stages;
    bool optimised;
    line lines[LINES_MAX]; /* ends with a NULL title */
} part;

#define G &ons_generator_gpipe
#define F &ons_generator_one_f_one_b
#define P &ons_generator_pipedream

static const part parts[] = {
    {1,
     4,
     false,
     {{{"ZeRO-2", NULL, NULL, G, 2, 0}, BASELINE, {64, 8, 140, 412}},
      {{"ZeRO-3", NULL, NULL, G, 3, 0}, BASELINE, {64, 8, 132, 404}},
      {{"GPipe", "gpipe", "none", G, 0, 0}, BASELINE, {52, 8, 144, 280}},
      {{"vPipe-S", "vpipe", "none", G, 0, PAPER_BLIND}, BASELINE, {60, 8, 144, 188}},
      {{"dawnpiper", "dawnpiper", "none", G, 0, 0}, DAWNPIPER, {72, 8, 160, 360}},
      {{"**auto**", "auto", "none", G, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, G, PAPER_PLAIN_CEILING, 0}, CEILING, {0}},
      {{"GPipe, by nodes", "gpipe-nodes", "none", G, 0, 0}, EXTRA, {0}},
      {{"vPipe-S, moved until it fits", "vpipe", "none", G, 0, 0}, EXTRA, {0}},
      {{"vPipe-S, by nodes", "vpipe-nodes", "none", G, 0, 0}, EXTRA, {0}},
      {{"auto, 1F1B", "auto", "none", F, 0, 0}, OURS_1F1B, {0}}}},
    {1,
     4,
     true,
     {{{"GPipe, recompute", "gpipe", "recompute-stage", G, 0, 0}, BASELINE, {120, 28, 348, 644}},
      {{"vPipe-S", "vpipe", "vpipe-layers", G, 0, 0}, BASELINE, {128, 28, 348, 720}},
      {{"dawnpiper", "dawnpiper", "capuchin", G, 0, 0}, DAWNPIPER, {160, 32, 424, 1220}},
      {{"**auto**", "auto", "capuchin", G, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, G, PAPER_CEILING, 0}, CEILING, {0}},
      {{"GPipe, recompute by layers", "gpipe", "recompute-layers", G, 0, 0}, EXTRA, {0}},
      {{"GPipe, by nodes, recompute all", "gpipe-nodes", "recompute-all", G, 0, 0}, EXTRA, {0}},
      {{"auto, 1F1B", "auto", "capuchin", F, 0, 0}, OURS_1F1B, {0}}}},
    {1,
     8,
     false,
     {{{"ZeRO-2", NULL, NULL, G, 2, 0}, BASELINE, {128, 16, 224, 824}},
      {{"ZeRO-3", NULL, NULL, G, 3, 0}, BASELINE, {128, 16, 208, 808}},
      {{"GPipe", "gpipe", "none", G, 0, 0}, BASELINE, {88, 16, 256, 480}},
      {{"vPipe-S", "vpipe", "none", G, 0, PAPER_BLIND}, BASELINE, {88, 16, 256, 264}},
      {{"dawnpiper", "dawnpiper", "none", G, 0, 0}, DAWNPIPER, {136, 16, 320, 560}},
      {{"**auto**", "auto", "none", G, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, G, PAPER_PLAIN_CEILING, 0}, CEILING, {0}},
      {{"GPipe, by nodes", "gpipe-nodes", "none", G, 0, 0}, EXTRA, {0}},
      {{"vPipe-S, moved until it fits", "vpipe", "none", G, 0, 0}, EXTRA, {0}},
      {{"vPipe-S, by nodes", "vpipe-nodes", "none", G, 0, 0}, EXTRA, {0}},
      {{"auto, 1F1B", "auto", "none", F, 0, 0}, OURS_1F1B, {0}}}},
    {1,
     8,
     true,
     {{{"GPipe, recompute", "gpipe", "recompute-stage", G, 0, 0}, BASELINE, {208, 48, 664, 1384}},
      {{"vPipe-S", "vpipe", "vpipe-layers", G, 0, 0}, BASELINE, {208, 56, 664, 1424}},
      {{"dawnpiper", "dawnpiper", "capuchin", G, 0, 0}, DAWNPIPER, {280, 60, 800, 2180}},
      {{"**auto**", "auto", "capuchin", G, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, G, PAPER_CEILING, 0}, CEILING, {0}},
      {{"GPipe, recompute by layers", "gpipe", "recompute-layers", G, 0, 0}, EXTRA, {0}},
      {{"GPipe, by nodes, recompute all", "gpipe-nodes", "recompute-all", G, 0, 0}, EXTRA, {0}},
      {{"auto, 1F1B", "auto", "capuchin", F, 0, 0}, OURS_1F1B, {0}}}},
    {2,
     4,
     false,
     {{{"PipeDream", "pipedream", "none", P, 0, 0}, BASELINE, {16, 2, 40, 70}},
      {{"vPipe-AS", "vpipe", "none", P, 0, PAPER_BLIND}, BASELINE, {16, 2, 40, 48}},
      {{"dawnpiper", "dawnpiper", "none", P, 0, 0}, DAWNPIPER, {32, 3, 78, 150}},
      {{"**auto**", "auto", "none", P, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, P, PAPER_PLAIN_CEILING, 0}, CEILING, {0}},
      {{"PipeDream, by nodes", "pipedream-nodes", "none", P, 0, 0}, EXTRA, {0}},
      {{"vPipe-AS, moved until it fits", "vpipe", "none", P, 0, 0}, EXTRA, {0}},
      {{"vPipe-AS, by nodes", "vpipe-nodes", "none", P, 0, 0}, EXTRA, {0}}}},
    {2,
     4,
     true,
     {{{"vPipe-AS", "vpipe", "vpipe-layers", P, 0, 0}, BASELINE, {46, 8, 110, 300}},
      {{"dawnpiper", "dawnpiper", "capuchin", P, 0, 0}, DAWNPIPER, {84, 10, 192, 480}},
      {{"**auto**", "auto", "capuchin", P, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, P, PAPER_CEILING, 0}, CEILING, {0}}}},
    {2,
     8,
     false,
     {{{"PipeDream", "pipedream", "none", P, 0, 0}, BASELINE, {16, 2, 44, 64}},
      {{"vPipe-AS", "vpipe", "none", P, 0, PAPER_BLIND}, BASELINE, {16, 2, 44, 32}},
      {{"dawnpiper", "dawnpiper", "none", P, 0, 0}, DAWNPIPER, {40, 5, 84, 128}},
      {{"**auto**", "auto", "none", P, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, P, PAPER_PLAIN_CEILING, 0}, CEILING, {0}},
      {{"PipeDream, by nodes", "pipedream-nodes", "none", P, 0, 0}, EXTRA, {0}},
      {{"vPipe-AS, moved until it fits", "vpipe", "none", P, 0, 0}, EXTRA, {0}},
      {{"vPipe-AS, by nodes", "vpipe-nodes", "none", P, 0, 0}, EXTRA, {0}}}},
    {2,
     8,
     true,
     {{{"vPipe-AS", "vpipe", "vpipe-layers", P, 0, 0}, BASELINE, {58, 16, 144, 214}},
      {{"dawnpiper", "dawnpiper", "capuchin", P, 0, 0}, DAWNPIPER, {100, 22, 248, 528}},
      {{"**auto**", "auto", "capuchin", P, 0, 0}, OURS, {0}},
      {{"limit of any plan", NULL, NULL, P, PAPER_CEILING, 0}, CEILING, {0}}}},
};

enum { PARTS = sizeof parts / sizeof *parts };

/* Samples as the tables count them. */
typedef struct results {
    int64_t batch[PARTS][LINES_MAX][PAPER_MODELS];
    int64_t sizes[PAPER_MODELS];
    const char *profile;
    paper_figures figures[PAPER_MODELS];
    bool figures_alone; /* --figures: without the tables, to the standard output */
    bool stages_alone;  /* --stages: figures 8 and 9 without the tables, to the standard output */
} results;

/* Table 1 counts mini-batches, which the stages cut into as many micro-batches (ZeRO: into shares); Table 2 counts
 * micro-batches. */
static ons_status *measure(int index, results *r) {
    paper_model m;
    ons_status *status = NULL;
    int64_t rows = 0; /* of the method before: the guess for the next */
    ONS_TRY(paper_model_open(&paper_subjects[index], r->profile, &m));
    r->sizes[index] = m.size;
    fprintf(stderr, "%s: %lld %s\n", m.subject->name, (long long)m.size, m.subject->what);
    if (r->stages_alone) status = paper_stages_measure(&m, &r->figures[index]);
    for (int p = 0; p < PARTS && status == NULL && !r->figures_alone && !r->stages_alone; ++p)
        for (int i = 0; parts[p].lines[i].method.title != NULL && status == NULL; ++i) {
            status = paper_largest(&m, &parts[p].lines[i].method, parts[p].stages, &rows);
            r->batch[p][i][index] = parts[p].table == 1 ? rows * parts[p].stages : rows;
        }
    if (status == NULL && !r->stages_alone) status = paper_figures_measure(&m, &r->figures[index]);
    paper_model_close(&m);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- report */

static int find(const part *p, role wanted) {
    for (int i = 0; p->lines[i].method.title != NULL; ++i)
        if (p->lines[i].role == wanted) return i;
    return -1;
}

static void print_cell(FILE *out, int64_t ours, int paper) {
    if (paper > 0)
        fprintf(out, " %lld (%d) |", (long long)ours, paper);
    else
        fprintf(out, " %lld |", (long long)ours);
}

static void print_table(FILE *out, const results *r, int table) {
    fprintf(out, "| devices | memory optimisation | method |");
    for (int k = 0; k < PAPER_MODELS; ++k) fprintf(out, " %s |", paper_subjects[k].name);
    fprintf(out, "\n|---|---|---|---|---|---|---|\n");
    for (int p = 0; p < PARTS; ++p)
        for (int i = 0; parts[p].table == table && parts[p].lines[i].method.title != NULL; ++i) {
            fprintf(out, "| %u | %s | %s |", parts[p].stages, parts[p].optimised ? "yes" : "no",
                    parts[p].lines[i].method.title);
            for (int k = 0; k < PAPER_MODELS; ++k) print_cell(out, r->batch[p][i][k], parts[p].lines[i].paper[k]);
            fprintf(out, "\n");
        }
    fprintf(out, "\n");
}

typedef struct tally {
    double log_sum;
    int cells, reached, impossible;
} tally;

/* Our advantage over a baseline, beside the paper's own. A baseline that fits not even one sample is counted as one. */
static void print_advantage(FILE *out, const results *r, int p, int i, int ours, tally *t) {
    const part *at = &parts[p];
    int theirs = find(at, DAWNPIPER), limit = find(at, CEILING);
    fprintf(out, "| %d | %u | %s | %s |", at->table, at->stages, at->optimised ? "yes" : "no",
            at->lines[i].method.title);
    for (int k = 0; k < PAPER_MODELS; ++k) {
        int64_t least = at->table == 1 ? at->stages : 1;
        int64_t base = r->batch[p][i][k] > 0 ? r->batch[p][i][k] : least;
        double own = (double)r->batch[p][ours][k] / (double)base;
        double paper = (double)at->lines[theirs].paper[k] / at->lines[i].paper[k];
        bool reached = own >= paper * (1 - 1e-9);
        bool possible = limit < 0 || (double)r->batch[p][limit][k] >= paper * (double)base;
        fprintf(out, " %.2f (%.2f) %s", own, paper, reached ? "✓" : possible ? "✗" : "∅");
        if (!reached && limit >= 0) fprintf(out, " ≤ %.2f", (double)r->batch[p][limit][k] / (double)base);
        fprintf(out, " |");
        t->log_sum += log((own > 0 ? own : 0.01) / paper);
        t->cells += 1;
        t->reached += reached;
        t->impossible += !reached && !possible;
    }
    fprintf(out, "\n");
}

static void print_advantages(FILE *out, const results *r, int table, role wanted) {
    tally all = {0};
    fprintf(out, "| table | devices | memory optimisation | over |");
    for (int k = 0; k < PAPER_MODELS; ++k) fprintf(out, " %s |", paper_subjects[k].name);
    fprintf(out, "\n|---|---|---|---|---|---|---|---|\n");
    for (int p = 0; p < PARTS; ++p)
        for (int i = 0; parts[p].table == table && parts[p].lines[i].method.title != NULL; ++i)
            if (parts[p].lines[i].role == BASELINE && parts[p].lines[i].method.zero == 0)
                print_advantage(out, r, p, i, find(&parts[p], wanted), &all);
    fprintf(
        out,
        "\n%d of %d cells reach the paper's advantage (✓), in %d no plan can (∅); geometric mean of our advantage over "
        "the paper's: %.2f.\n\n",
        all.reached, all.cells, all.impossible, exp(all.log_sum / all.cells));
}

static void print_assumptions(FILE *out, const results *r) {
    fprintf(
        out,
        "# DawnPiper's tables\n\n"
        "Written by `./bazelw run //bench:paper_tables`. Figures in parentheses are the paper's (DawnPiper, section "
        "5).\n"
        "Nothing was run: these are plans for the device profile `%s`, from the models in\n"
        "[examples/plan](../../examples/plan/README.md), all methods under one memory model.\n\n"
        "## Assumptions\n\n"
        "- fp32, Adam, gradients accumulated over micro-batches; operators as PyTorch's eager mode runs them (nothing\n"
        "  fused, so attention keeps its probabilities), no dropout.\n"
        "- The paper does not state sequence lengths and image sizes. Each is the largest multiple of 16 (32 for "
        "images)\n"
        "  at which as many samples fit a device under ZeRO-2 on four devices as in its Table 1, within the positions\n"
        "  that the model has:",
        r->profile);
    for (int k = 0; k < PAPER_MODELS; ++k)
        fprintf(out, "%s %s %lld %s", k == 0 ? "" : ",", paper_subjects[k].name, (long long)r->sizes[k],
                paper_subjects[k].what);
    fprintf(
        out,
        ".\n"
        "- Synchronous methods have as many micro-batches as stages, and GPipe's schedule, also DawnPiper and auto; a "
        "line\n"
        "  of its own has auto with 1F1B. Their batch is the mini-batch. Asynchronous ones keep versions of their "
        "weights\n"
        "  (PipeDream); their batch is the micro-batch.\n"
        "- GPipe, PipeDream and vPipe cut and optimise whole layers, as published; 'by nodes' is the same at our "
        "grain.\n"
        "  ZeRO is a lower bound of its memory: one layer gathered at a time, no buffers of the library's own.\n\n");
}

static void print_reasons(FILE *out) {
    fprintf(out, "## Where the paper's advantage is not reached\n"
                 "\n"
                 "- **vPipe with swap and recompute (∅).** Built as published, it may swap or recompute every layer, "
                 "and what is\n"
                 "  left is what one layer's backward part holds at once: for BERT and T5 within 6 %% of the limit of "
                 "any plan,\n"
                 "  which their logits and the loss set. No plan leads by the paper's 1.20 to 1.83. In the paper both "
                 "vPipe and\n"
                 "  DawnPiper stay at a tenth to two thirds of what fits here, vPipe hardly above GPipe with "
                 "recompute; it does not say\n"
                 "  what holds them there. Asynchronous, the same is so for GPT-2, and for AmoebaNet on 8 devices.\n"
                 "- **The same, GPT-2 synchronous and AmoebaNet on 4 devices (✗).** The limit leaves room (1.13 to "
                 "1.18, and more\n"
                 "  than twice), so this is not shown to be impossible: capuchin does not find it. "
                 "The limit counts single nodes; a stage "
                 "must also hold\n"
                 "  its weights' gradients and whatever the copies have not taken away yet.\n"
                 "- **Without memory optimisation, asynchronous (✗).** No split of the nodes does it, in the order of "
                 "the file or\n"
                 "  any order that the planner tries: `./bazelw run //bench:paper_tables -- --splits BERT 4 "
                 "pipedream-async 33 34`\n"
                 "  finds one for 33 samples and none for 34, twice PipeDream's 17; for AmoebaNet none for 225 on 4 "
                 "devices and\n"
                 "  none for 271 on 8, where the paper's ratios over vPipe's 72 and 68 ask for 225 and 272. Our "
                 "batches are the\n"
                 "  paper's or larger (32, 204 and 244 for 32, 150 and 128); so are the baselines': vPipe, which "
                 "shares out time\n"
                 "  layer by layer, fits 72 and 68 samples of AmoebaNet here and 48 and 32 there.\n"
                 "- **Without memory optimisation, GPipe's schedule (∅).** Every stage holds all micro-batches, and "
                 "devices that\n"
                 "  were full to the last byte would not hold as much as the paper's ratio asks for: the transformers' "
                 "baselines waste\n"
                 "  6 to 9 %% here (figure 2), 28 %% in the paper's BERT. With 1F1B all of these cells are reached.\n"
                 "\n");
}

static void print_report(FILE *out, const results *r) {
    print_assumptions(out, r);
    fprintf(out, "## Table 1: largest batch, synchronous\n\n");
    print_table(out, r, 1);
    fprintf(out, "## Table 2: largest batch, asynchronous\n\n");
    print_table(out, r, 2);
    fprintf(
        out,
        "## Advantage of auto over the baselines\n\n"
        "In parentheses the paper's DawnPiper over the same baseline. Where that is not reached (✗), ≤ says how far "
        "ahead of\nthe baseline the limit of any plan is; ∅: not even the limit is as far ahead as the paper's "
        "figure.\n\n"
        "### Asynchronous\n\n");
    print_advantages(out, r, 2, OURS);
    fprintf(out, "### Synchronous, with 1F1B\n\n"
                 "The results of a step are those of GPipe's schedule to the bit; fewer micro-batches wait.\n\n");
    print_advantages(out, r, 1, OURS_1F1B);
    fprintf(out,
            "### Synchronous, with GPipe's schedule\n\n"
            "Every stage then holds all micro-batches, so that models of equal layers are balanced in memory however\n"
            "they are cut by time, and nothing is left to gain without memory optimisation.\n\n");
    print_advantages(out, r, 1, OURS);
    print_reasons(out);
    paper_figures_print(out, r->figures, FIGURE_4);
}

static ons_status *write_file(const results *r, const char *folder, const char *name,
                              void (*print)(FILE *out, const results *r)) {
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/results/%s", folder, name);
    FILE *out = fopen(path, "w");
    ONS_CHECK(out != NULL, ONS_IO_ERROR, "%s: cannot be written", path);
    print(out, r);
    ONS_CHECK(fclose(out) == 0, ONS_IO_ERROR, "%s: cannot be written", path);
    return NULL;
}

static void draw_figure(FILE *out, const results *r) { paper_figures_draw(out, r->figures); }

static ons_status *write_report(const results *r) {
    const char *folder = getenv("BUILD_WORKSPACE_DIRECTORY");
    if (r->stages_alone) {
        paper_stages_print(stdout, r->figures);
        return NULL;
    }
    if (r->figures_alone) {
        paper_figures_print(stdout, r->figures, FIGURE_4);
        return NULL;
    }
    if (folder == NULL) {
        print_report(stdout, r);
        return NULL;
    }
    ONS_TRY(write_file(r, folder, FIGURE_4, draw_figure));
    return write_file(r, folder, "dawnpiper.md", print_report);
}

/* Names of models choose some of them. */
static bool is_wanted(const char *name, int count, char **names) {
    for (int i = 0; i < count; ++i)
        if (strcmp(names[i], name) == 0) return true;
    return count == 0;
}

/* A process for each model, since they have nothing in common but the results, which lie in shared memory. */
static ons_status *measure_all(int count, char **names, results *r) {
    int failed = 0, started = 0;
    for (int k = 0; k < PAPER_MODELS; ++k) {
        if (!is_wanted(paper_subjects[k].name, count, names)) continue;
        pid_t child = fork();
        ONS_CHECK(child >= 0, ONS_OUT_OF_MEMORY, "no process for %s", paper_subjects[k].name);
        if (child > 0) {
            ++started;
            continue;
        }
        ons_status *status = measure(k, r);
        if (status != NULL) fprintf(stderr, "paper_tables: %s\n", ons_status_get_message(status));
        _exit(status != NULL);
    }
    for (int status; started > 0; --started) failed += wait(&status) < 0 || status != 0;
    ONS_CHECK(failed == 0, ONS_DEFECT, "%d of the models failed", failed);
    return NULL;
}

int main(int argc, char **argv) {
    results *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED) return 1;
    r->profile = "a100-40gb";
    r->figures_alone = argc > 1 && strcmp(argv[1], "--figures") == 0;
    r->stages_alone = argc > 1 && strcmp(argv[1], "--stages") == 0;
    int options = 1 + (r->figures_alone || r->stages_alone);
    bool splits = argc > 1 && strcmp(argv[1], "--splits") == 0;
    ons_status *status =
        splits ? paper_splits_print(argc - 2, argv + 2, r->profile) : measure_all(argc - options, argv + options, r);
    if (status == NULL && !splits) status = write_report(r);
    if (status == NULL) return 0;
    fprintf(stderr, "paper_tables: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

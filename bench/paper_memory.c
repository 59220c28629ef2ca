#include "bench/paper_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const paper_method gpipe = {"GPipe, nothing optimised", "gpipe", "none", &ons_generator_gpipe, 0, 0};
static const paper_method pipedream = {"PipeDream", "pipedream", "none", &ons_generator_pipedream, 0, 0};

#define MB 1e6
static const double limits[PAPER_LIMITS] = {10, 50, 80, 128, 150}; /* MB; the paper's text has the last four */

/* ---------------------------------------------------------------------------------------------------------- measure */

static ons_status *measure_stages(paper_model *m, const paper_method *method, uint32_t stages, paper_stages *each) {
    int64_t rows = 0;
    double samples;
    ONS_TRY(paper_largest(m, method, stages, &rows));
    return rows == 0 ? NULL : paper_look(m, method, stages, rows, &samples, each);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void distribute(double *values, uint32_t count, paper_distribution *d) {
    qsort(values, count, sizeof *values, by_value);
    for (uint32_t p = 0; p < PAPER_PERCENTS; ++p) d->at[p] = values[(uint64_t)p * (count - 1) / (PAPER_PERCENTS - 1)];
    for (int k = 0; k < PAPER_LIMITS; ++k) {
        uint32_t below = 0;
        while (below < count && values[below] <= limits[k] * MB) ++below;
        d->below[k] = (double)below / count;
    }
}

/* What a node's forward part makes, and what of it is left when those that it is the last to read are gone. Views make
 * nothing and are no nodes here. */
static ons_status *measure_nodes(paper_model *m, paper_memory *r) {
    const ons_workload *work;
    double *made, *left;
    r->node_rows = m->subject->zero2_samples;
    ONS_TRY(paper_work(m, r->node_rows, &work));
    ONS_NEW(made, m->arena, (size_t)work->node_count + 1);
    ONS_NEW(left, m->arena, (size_t)work->node_count + 1);
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (t->producer == ONS_NO_NODE) continue;
        made[t->producer] += (double)t->bytes;
        left[t->producer] += (double)t->bytes;
        uint32_t last = t->reader_count > 0 ? t->readers[t->reader_count - 1] : t->producer;
        if (t->saver_count == 0) left[last] -= (double)t->bytes;
    }
    for (uint32_t i = 0; i < work->node_count; ++i) {
        if (made[i] == 0) continue;
        made[r->node_count] = made[i];
        left[r->node_count++] = left[i];
    }
    ONS_CHECK(r->node_count > 0, ONS_DEFECT, "%s has no node that makes anything", m->subject->name);
    distribute(made, r->node_count, &r->activation);
    distribute(left, r->node_count, &r->consumed);
    return NULL;
}

ons_status *paper_memory_measure(paper_model *m, paper_memory *r) {
    ONS_TRY(measure_stages(m, &gpipe, 4, &r->gpipe));
    ONS_TRY(measure_stages(m, &pipedream, 8, &r->pipedream));
    return measure_nodes(m, r);
}

/* ------------------------------------------------------------------------------------------------------------ print */

static double waste(const paper_stages *s, uint32_t stages) {
    double sum = 0, most = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        sum += (double)s->bytes[i];
        most = fmax(most, (double)s->bytes[i]);
    }
    return most > 0 ? 1 - sum / (most * stages) : NAN;
}

static void print_peaks(FILE *out, const char *name, const paper_stages *s, uint32_t stages, int64_t batch,
                        const char *paper) {
    fprintf(out, "| %s | %lld |", name, (long long)batch);
    for (uint32_t i = 0; i < stages; ++i) fprintf(out, " %.1f |", (double)s->bytes[i] / 1073741824.0);
    fprintf(out, " %.0f %%%s |\n", 100 * waste(s, stages), paper);
}

static void print_head(FILE *out, const char *batch, uint32_t stages) {
    fprintf(out, "| model | %s |", batch);
    for (uint32_t i = 0; i < stages; ++i) fprintf(out, " G%u |", i + 1);
    fprintf(out, " waste |\n|---|---|");
    for (uint32_t i = 0; i <= stages; ++i) fprintf(out, "---|");
    fprintf(out, "\n");
}

static void print_distribution(FILE *out, const char *name, const char *what, const paper_memory *m,
                               const paper_distribution *d) {
    static const int shown[] = {50, 80, 90, 99, 100};
    fprintf(out, "| %s | %u | %s |", name, m->node_count, what);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; ++i) fprintf(out, " %.1f |", d->at[shown[i]] / MB);
    for (int k = 0; k < PAPER_LIMITS; ++k) fprintf(out, " %.0f %% |", 100 * d->below[k]);
    fprintf(out, "\n");
}

void paper_memory_print(FILE *out, const paper_memory *const memory[static PAPER_MODELS], const char *figure) {
    static const char *const in_gpipe[PAPER_MODELS] = {" (28 %)", "", "", " (34 %)"};
    static const char *const in_pipedream[PAPER_MODELS] = {" (> 40 %)", "", "", ""};
    fprintf(out,
            "## Figures 2 and 3: memory of every stage, and waste\n\n"
            "Peaks in GiB without memory optimisation, at the largest batch that fits; waste is 1 − Σ peak / (stages "
            "· largest\npeak). In parentheses what the paper's text says.\n\nGPipe, 4 devices:\n\n");
    print_head(out, "mini-batch", 4);
    for (int k = 0; k < PAPER_MODELS; ++k)
        print_peaks(out, paper_subjects[k].name, &memory[k]->gpipe, 4, 4 * memory[k]->gpipe.rows, in_gpipe[k]);
    fprintf(out, "\nPipeDream, 8 devices:\n\n");
    print_head(out, "micro-batch", 8);
    for (int k = 0; k < PAPER_MODELS; ++k)
        print_peaks(out, paper_subjects[k].name, &memory[k]->pipedream, 8, memory[k]->pipedream.rows, in_pipedream[k]);
    fprintf(
        out,
        "\n## Figure 4: memory of nodes\n\n"
        "Of every node that computes something (views do not): the activation memory that its forward part makes, "
        "and what it\n"
        "consumes, which is that less what it is the last to read. In MB, at the micro-batch that fits a device "
        "under ZeRO-2;\n"
        "the paper does not state its own. It has nearly 90 %% of the nodes' activation memory below 80 MB, in BERT "
        "over 80 %% of\nnodes at no more than 128 MB, and nearly 90 %% of the nodes' consumed memory under 150 "
        "MB.\n\n"
        "| model | nodes | memory | half take at most | 80 %% | 90 %% | 99 %% | all |");
    for (int k = 0; k < PAPER_LIMITS; ++k) fprintf(out, " ≤ %.0f MB |", limits[k]);
    fprintf(out, "\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < PAPER_MODELS; ++k) {
        char name[64];
        snprintf(name, sizeof name, "%s, %lld samples", paper_subjects[k].name, (long long)memory[k]->node_rows);
        print_distribution(out, name, "activation", memory[k], &memory[k]->activation);
        print_distribution(out, name, "consumed", memory[k], &memory[k]->consumed);
    }
    fprintf(out, "\n![shares of nodes by activation and consumed memory](%s)\n\n", figure);
}

/* ------------------------------------------------------------------------------------------------------------- draw */

enum { WIDTH = 380, HEIGHT = 240, LEFT = 48, TOP = 34, GAP = 60 };

typedef struct panel {
    const char *title;
    double least, most; /* MB */
    double left;        /* of its frame */
} panel;

static double across(const panel *p, double megabytes) {
    return p->left + WIDTH * (fmin(fmax(megabytes, p->least), p->most) - p->least) / (p->most - p->least);
}

static double up(double share) { return TOP + HEIGHT * (1 - share); }

static void draw_frame(FILE *out, const panel *p) {
    fprintf(out, "<rect x=\"%.0f\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"frame\"/>\n", p->left, TOP, WIDTH,
            HEIGHT);
    fprintf(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", p->left + WIDTH / 2.0, TOP - 14,
            p->title);
    for (int step = 0; p->least + 100 * step <= p->most; ++step) {
        double x = p->least + 100 * step;
        fprintf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"grid\"/>\n", across(p, x), TOP,
                across(p, x), TOP + HEIGHT);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", across(p, x), TOP + HEIGHT + 16,
                x);
    }
    for (int share = 0; share <= 100; share += 20) {
        fprintf(out, "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" class=\"grid\"/>\n", p->left,
                up(share / 100.0), p->left + WIDTH, up(share / 100.0));
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", p->left - 6,
                up(share / 100.0) + 4, share);
    }
    fprintf(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">MB</text>\n", p->left + WIDTH / 2.0,
            TOP + HEIGHT + 32);
}

static const char *const colours[PAPER_MODELS] = {"#1f6fb4", "#d1691a", "#2e8b57", "#a03070"};

static void draw_curve(FILE *out, const panel *p, const paper_distribution *d, int model) {
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[model]);
    double before = 0; /* the share up to here */
    for (int i = 0; i < PAPER_PERCENTS; ++i) {
        double x = across(p, d->at[i] / MB), share = (double)i / (PAPER_PERCENTS - 1);
        fprintf(out, "%.1f,%.1f ", x, up(before));
        if (d->at[i] > p->most * MB) break; /* the rest is beyond the frame */
        fprintf(out, "%.1f,%.1f ", x, up(share));
        before = share;
    }
    fprintf(out, "\"/>\n");
}

void paper_memory_draw(FILE *out, const paper_memory *const memory[static PAPER_MODELS]) {
    const panel panels[2] = {{"activation memory of nodes", 0, 500, LEFT},
                             {"consumed memory of nodes", -200, 300, LEFT + WIDTH + GAP}};
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<style>.frame{fill:#fff;stroke:#555}.grid{stroke:#ddd}text{fill:#333}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 64);
    for (int i = 0; i < 2; ++i) {
        draw_frame(out, &panels[i]);
        for (int k = 0; k < PAPER_MODELS; ++k)
            if (memory[k]->node_count > 0)
                draw_curve(out, &panels[i], i == 0 ? &memory[k]->activation : &memory[k]->consumed, k);
    }
    for (int k = 0; k < PAPER_MODELS; ++k)
        fprintf(out,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                LEFT + 160 * k, TOP + HEIGHT + 50, LEFT + 160 * k + 24, TOP + HEIGHT + 50, colours[k],
                LEFT + 160 * k + 30, TOP + HEIGHT + 54, paper_subjects[k].name);
    fprintf(out, "</svg>\n");
}

#include "bench/schedules_page.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------------- conditions */

static void print_processor(FILE *out) {
    char line[256];
    FILE *in = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL) found = strncmp(line, "model name", 10) == 0;
    if (in != NULL) fclose(in);
    const char *name = found ? strchr(line, ':') : NULL;
    if (name == NULL) name = ": a processor that does not say what it is\n";
    fprintf(out, "%.*s, %ld processors", (int)strcspn(name + 2, "\n"), name + 2, sysconf(_SC_NPROCESSORS_ONLN));
}

static void print_head(FILE *out) {
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out,
            "# Schedules\n\n"
            "Written by `./bazelw run //bench:schedules`. What was measured is the processor time of searches, of one "
            "thread,\non a machine that others used meanwhile, on %s on ",
            date);
    print_processor(out);
    fprintf(
        out,
        ".\nNothing was trained: steps, bubbles and memory are simulated, from workloads of whole operators "
        "(tests/rooms/planner/vision_work.h)\nwhose times follow from FLOPs and bytes at 60 TFLOP/s and 1.5 TB/s, on "
        "devices with the memory and links of a profile.\n\n"
        "- **Megatron**: as many layers in every stage, embedding with the first and head with the last; 1F1B, or "
        "interleaved\n  with two stages on a device. Nothing is recomputed.\n"
        "- **T-1F1B** (FlexPipe, section 7.1): 1F1B with embedding and head sharded over all devices, as if shards "
        "never waited for\n  each other: no such step is faster. Stages that devices share are not planned.\n"
        "- **Pfeife**: schedule vectors and cuts together, up to three loops (planner/search/pfeife.h).\n"
        "- **FlexPipe**: its space (planner/search/flexpipe_space.h) with limits in flight, cuts even in time; then "
        "weight gradients\n  put off into bubbles.\n"
        "- **auto**: the portfolio, with cuts, swapping and recomputation (planner/search/portfolio.h).\n\n");
}

/* ----------------------------------------------------------------------------------------------------- five systems */

static void print_five_row(FILE *out, const five_result *r, const five_row *row) {
    fprintf(out, "| %s | %u | %u | %.1f GB | %s | ", r->model, r->devices, r->micro_batches,
            1e-9 * (double)r->capacity_bytes, row->system);
    if (row->why == NULL)
        fprintf(out, "%s | %.2f ms | %.2f GB | %.1f %% | %.2f s |\n", row->choice, 1e3 * row->step_seconds,
                1e-9 * (double)row->bytes, 100 * row->bubble_share, row->search_seconds);
    else
        fprintf(out, "%s | — | — | — | %.2f s |\n", row->why, row->search_seconds);
}

static void print_five(FILE *out, const schedules_page *page) {
    fprintf(out,
            "## Five systems side by side\n\n"
            "Each as its paper has it, one stage or more on each device and no replicas, on the same models, devices "
            "and caps (bench/schedules_five.c).\nMemory: of the fullest device. —: it has no plan, for the reason in "
            "the column before. All steps are simulated alike.\n\n"
            "- **DawnPiper**: 1F1B, its binary partition, tensors swapped or recomputed where a stage does not fit. "
            "Schedules and branches are\n  not its subject.\n"
            "- **FlexPipe**: the fastest schedule of its space, weight gradients put off into bubbles, cuts even in "
            "time.\n"
            "- **Pfeife**: schedule vectors and cuts together, up to three loops.\n"
            "- **AutoPipe**: 1F1B, its partition by the master stage, then its Slicer; everything is recomputed in "
            "stages that do not fit\n  otherwise (its own runs recompute always).\n"
            "- **GraphPipe**: stages as a graph, lists by it, one size of micro-batches.\n"
            "- **auto**: what `--pipeline auto` chooses of all that the planner knows, with swapping and recomputation "
            "in any of it.\n\n"
            "MMT, DLRM and CANDLE-Uno are those of bench/stage_graph_models.h.\n\n"
            "| model | devices | m | cap | system | chose | step | memory | bubbles | search |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < page->five_count; ++i)
        for (uint32_t k = 0; k < FIVE_SYSTEMS; ++k) print_five_row(out, &page->five[i], &page->five[i].rows[k]);
    fprintf(out, "\n");
}

/* -------------------------------------------------------------------------------------------------------- the table */

static void print_row(FILE *out, const schedules_result *r, const schedules_row *row, double base) {
    fprintf(out, "| %s | %u | %u | %s%s%s | ", r->of->model, r->of->devices, r->of->micro_batches, row->system,
            row->choice != NULL ? ": " : "", row->choice != NULL ? row->choice : "");
    if (isinf(row->step_seconds))
        fprintf(out, "none fits | | ");
    else
        fprintf(out, "%s%.1f ms | %.2f | ", row->bound ? "at least " : "", 1e3 * row->step_seconds,
                base / row->step_seconds);
    fprintf(out, "%.1f %% | ", 100 * row->bubble_share);
    if (row->bytes > 0)
        fprintf(out, "%.1f GB%s | ", 1e-9 * (double)row->bytes, row->fits ? "" : ", does not fit");
    else
        fprintf(out, "| ");
    if (row->search_seconds >= 0)
        fprintf(out, "%.2f s |\n", row->search_seconds);
    else
        fprintf(out, "|\n");
}

static void print_systems(FILE *out, const schedules_page *page) {
    fprintf(out,
            "## Models, systems, devices\n\n"
            "m: micro-batches of a step. Speed-up: over Megatron's 1F1B. Memory: of the fullest device, at any time "
            "of the simulation.\n\n"
            "| model | devices | m | system | step | speed-up | bubbles | memory | search |\n"
            "|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < page->count; ++i)
        for (uint32_t k = 0; k < page->results[i].count; ++k)
            print_row(out, &page->results[i], &page->results[i].rows[k], page->results[i].rows[0].step_seconds);
    fprintf(out, "\n");
}

static void print_losers(FILE *out, const schedules_result *r) {
    fprintf(out,
            "## Who lost, and why\n\n%s on %u devices, %u micro-batches; with cuts of strategy auto unless the "
            "name says pfeife.\n\n| schedule | cuts | step | memory | |\n|---|---|---|---|---|\n",
            r->of->model, r->of->devices, r->of->micro_batches);
    for (uint32_t i = 0; i < r->portfolio.count; ++i) {
        const ons_portfolio_candidate *c = &r->portfolio.candidates[i];
        fprintf(out, "| %s | %s | ", c->name, c->strategy);
        if (isfinite(c->step_seconds))
            fprintf(out, "%.1f ms | %.1f GB | ", 1e3 * c->step_seconds, 1e-9 * (double)c->memory_bytes);
        else
            fprintf(out, "| | ");
        fprintf(out, "%s |\n", c->why);
    }
    fprintf(out, "\n");
}

/* ----------------------------------------------------------------------------------------------------------- papers */

static void print_flexpipe(FILE *out, const schedules_page *page) {
    fprintf(out,
            "## FlexPipe's search\n\n"
            "GPT of 5 billion parameters, batch 128, 80 GB. Points: pp (powers of two from 2) x mbs (powers of two) x "
            "48 schedule types;\nsection 6 has 64, with two bidirectional placements, which need copies of stages. "
            "What bounds and estimates show to be no\nfaster is not made or not simulated; tests hold the result to an "
            "exhaustive search at 2 to 32 devices. Refused: hangs with the room\nthat receivers have. Paper: table 5, "
            "on its authors' machine.\n\n"
            "| devices | points | made | different | refused | simulated | search | gradients apart | FlexPipe, "
            "paper | paper / search | Tessel, paper | Tessel-fast, paper "
            "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    static const char *const tessel[SCHEDULES_SEARCHES][2] = {
        {"1.29 s", "0.26 s"}, {"163.62 s", "11.1 s"}, {"fails", "729.74 s"}, {"fails", "fails"}, {"fails", "fails"}};
    for (uint32_t i = 0; i < SCHEDULES_SEARCHES; ++i) {
        const schedules_search *s = &page->searches[i];
        fprintf(out, "| %u | %lu | %lu | %lu | %lu | %lu | %.3f s | %.3f s | %.2f s | %.0f | %s | %s |\n", s->devices,
                s->points, s->made, s->different, s->refused, s->simulated, s->seconds, s->apart_seconds,
                s->paper_seconds, s->paper_seconds / s->seconds, tessel[i][0], tessel[i][1]);
    }
    fprintf(out,
            "\nTessel itself is not built here. Published speed-ups of FlexPipe (figures 12 and 13, 32 A800 of 80 GB): "
            "GPT of 5 B over Megatron\n1.14 to 1.91, over T-1F1B 1.20 to 1.28, over Tessel 1.13 to 1.30; of 16.1 "
            "B 1.31 to 2.28, 1.27 to 1.31, 1.24 to 1.49. Its\nvocabulary is sharded over all devices, which most "
            "of the first figure comes from.\n\n");
}

static void print_gains(FILE *out, const schedules_page *page) {
    fprintf(out,
            "ViT-g/14, 4 devices, 8 micro-batches (section 4.3), of the step of 1F1B with cuts even in time:\n\n"
            "| | step | less | paper |\n|---|---|---|---|\n"
            "| uneven cuts | %.3f | %.1f %% | |\n"
            "| and prefetch | %.3f | %.1f %% | 8 %% |\n"
            "| and loops, critical path | %.3f | %.1f %% | 16 %% |\n"
            "| the same simulated, with one place for messages | %.3f | %.1f %% | 16 %% |\n\n",
            page->uneven, 100 * (1 - page->uneven), page->prefetch, 100 * (1 - page->prefetch), page->looped,
            100 * (1 - page->looped), page->looped_simulated, 100 * (1 - page->looped_simulated));
}

static void print_fit(FILE *out, const fit_result *fit) {
    double worst = 0;
    for (uint32_t i = 0; i < fit->count; ++i)
        if (fit->rows[i].devices > 2) worst = fmax(worst, fabs(fit->rows[i].predicted_ms / fit->rows[i].paper_ms - 1));
    fprintf(
        out,
        "Table 5, its estimated times: a message of %.2f ms and %.2f ms for every part, both fitted to two devices, "
        "with the work of a\nmicro-batch from the row with one loop. Farthest of what is predicted: %.1f %%.\n\n"
        "| model | devices | loops | paper | here | |\n|---|---|---|---|---|---|\n",
        fit->link_ms, fit->part_ms, 100 * worst);
    for (uint32_t i = 0; i < fit->count; ++i)
        fprintf(out, "| %s | %u | %u | %.0f ms | %.0f ms | %s%+.1f %% |\n", fit->rows[i].model, fit->rows[i].devices,
                fit->rows[i].loops, fit->rows[i].paper_ms, fit->rows[i].predicted_ms,
                fit->rows[i].devices == 2 ? "fitted, " : "",
                100 * (fit->rows[i].predicted_ms / fit->rows[i].paper_ms - 1));
    fprintf(out, "\n");
}

static void print_pfeife(FILE *out, const schedules_page *page) {
    fprintf(out,
            "## Pfeife's search\n\n"
            "Three loops, all prefetch vectors of a system, one thread. The workloads stand for the paper's ViT of "
            "406 nodes and for\nStable Diffusion's U-Net of 1,645 (here a chain of 164 blocks with connections "
            "from each to its mirror image).\n\n"
            "| | nodes | cuts | schedules | splits | search | paper |\n|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < SCHEDULES_BEAMS; ++i) {
        const schedules_beam *b = &page->beams[i];
        fprintf(out, "| %s | %u | %u | %u | %lu | %.3f s | %s |\n", b->what, b->nodes, b->cuts, b->schedules, b->splits,
                b->seconds, b->paper);
    }
    fprintf(out, "\n");
    print_gains(out, page);
    print_fit(out, &page->fit);
    fprintf(out,
            "Two of the preset vectors of appendix B.2 contradict its rule: BFS (8, 4, 4, (4, 5, 6, 7)) runs 20 of 32 "
            "forward parts before\nthe first backward part, where breadth first needs B_l = 8; PipeDream has B = 7 "
            "below B_l = 8. The factor by which the gaps\nbehind a moved cut change is printed upside down (section "
            "3.4, step 3).\n");
}

void schedules_page_print(FILE *out, const schedules_page *page) {
    print_head(out);
    print_five(out, page);
    print_systems(out, page);
    print_losers(out, &page->results[1]);
    print_flexpipe(out, page);
    print_pfeife(out, page);
}

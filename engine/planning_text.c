#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/plan_libraries.h"
#include "engine/planning.h"

typedef struct writer {
    FILE *out;
    const ons_planning *p;
} writer;

static const char *size(int64_t bytes, char text[static ONS_BYTES_TEXT]) {
    return ons_bytes_print((double)bytes, text);
}

/* 0: there is none. */
static const char *limit(int64_t bytes, char text[static ONS_BYTES_TEXT]) {
    return bytes == 0 ? "any memory" : size(bytes, text);
}

/* Times of one machine or variant, in a plan whose scratch memory is this one's. */
static void note_other_kernels(const writer *w) {
    const char *there = w->p->input.costs.measured.libraries, *here = ons_libraries_text(w->p->arena);
    if (w->p->plan.reproducible || there == NULL || there[0] == '\0' || here == NULL || strcmp(there, here) == 0)
        return;
    fprintf(w->out, "note: these times were measured with other kernels than this machine's (there: %s; here: %s)\n\n",
            there, here);
}

static void describe_subject(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    char cap[ONS_BYTES_TEXT], took[32] = "";
    if (!plan->reproducible) snprintf(took, sizeof took, "; planned in %.3f s", plan->planning_seconds);
    fprintf(w->out, "%s: batch %" PRId64, plan->subject.model, plan->subject.batch);
    if (plan->subject.micro_batches > 1) fprintf(w->out, " in %" PRId64 " micro-batches", plan->subject.micro_batches);
    fprintf(w->out, ", %u stage%s of %s (%s free for each)\n", plan->pipeline.stages,
            plan->pipeline.stages == 1 ? "" : "s", w->p->profile.title, limit(plan->capacity_bytes, cap));
    fprintf(w->out, "schedule %s, partition %s (nodes in %s order), memory %s%s\n\n",
            plan->pipeline.generator->name, plan->partition, plan->order, plan->memory, took);
    if (w->p->config->profile != NULL && w->p->model != NULL)
        fprintf(w->out, "times from %s: of %u nodes measured, of %u by the model that was fitted to it\n\n",
                w->p->config->profile, w->p->input.costs.measured.measured, w->p->input.costs.measured.analytic);
    note_other_kernels(w);
}

static void count_decisions(const ons_plan_stage *stage, uint32_t *swapped, uint32_t *recomputed) {
    *swapped = *recomputed = 0;
    for (uint32_t i = 0; i < stage->decision_count; ++i) {
        *swapped += stage->decisions[i].decision == ONS_SWAP;
        *recomputed += stage->decisions[i].decision == ONS_RECOMPUTE;
    }
}

static void describe_stages(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    fprintf(w->out, "stage  nodes  micro-batch   memory      free        swapped  recomputed  first node\n");
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_plan_stage *s = &plan->stages[i];
        uint32_t swapped, recomputed;
        char memory[ONS_BYTES_TEXT], left[ONS_BYTES_TEXT], first[ONS_SHOWN_BYTES];
        count_decisions(s, &swapped, &recomputed);
        fprintf(w->out, "%5u  %5u  %8.3f ms  %-10s  %-10s  %7u  %10u  %s\n", i, s->node_count, 1e3 * s->seconds,
                size(s->memory_bytes, memory),
                plan->capacity_bytes == 0 ? "-" : size(plan->capacity_bytes - s->memory_bytes, left), swapped,
                recomputed, ons_shown(s->first_node, first));
    }
}

static void describe_memory(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    fprintf(w->out, "\nstage  weights     versions    gradients   optimiser   stashed     running     transfers\n");
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_stage_memory *m = &plan->stages[i].memory;
        const int64_t parts[] = {m->weights, m->versions, m->gradients, m->states, m->stash, m->peak, m->transfers};
        fprintf(w->out, "%5u", i);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; ++k) {
            char text[ONS_BYTES_TEXT];
            fprintf(w->out, "  %-10s", size(parts[k], text));
        }
        fputc('\n', w->out);
    }
}

/* Where the step decided against the slowest stage, what that would have cost. */
static void describe_choice(writer *w) {
    const ons_planned *planned = &w->p->planned;
    if (!planned->by_step || planned->rival.step_seconds <= w->p->plan.step_seconds) return;
    fprintf(w->out,
            "chosen by the step: the split whose slowest stage is fastest (%.6g ms a micro-batch) takes %.3f ms a "
            "step\n",
            1e3 * planned->rival.bottleneck_seconds, 1e3 * planned->rival.step_seconds);
}

ons_status *ons_planning_describe(const ons_planning *p, char **text) {
    size_t length;
    writer w = {.out = open_memstream(text, &length), .p = p};
    if (w.out == NULL) return ons_status_out_of_memory();
    describe_subject(&w);
    describe_stages(&w);
    describe_memory(&w);
    fprintf(w.out,
            "\nslowest stage %.3f ms a micro-batch; a step of %" PRId64 " samples takes %.3f ms: %.1f samples/s\n",
            1e3 * p->plan.bottleneck_seconds, p->plan.subject.batch, 1e3 * p->plan.step_seconds,
            (double)p->plan.subject.batch / p->plan.step_seconds);
    describe_choice(&w);
    if (p->report_text != NULL) fputs(p->report_text, w.out);
    return ons_text_close(w.out, text);
}

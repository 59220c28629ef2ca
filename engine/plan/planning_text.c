#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/config/plan_libraries.h"
#include "engine/plan/plan_subject.h"
#include "engine/plan/planning.h"
#include "planner/search/slices.h"

typedef struct writer {
    FILE *out;
    const ons_planning *p;
    ons_status *status;
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

/* Several stages lie on one: what is free is told by device then. */
static bool shares_devices(const ons_plan *plan) { return ons_schedule_most_local_stages(&plan->schedule) > 1; }

/* --slices */
static void describe_slices(const writer *w) {
    uint32_t count = ons_plan_count_slices(&w->p->plan);
    if (count > 0)
        fprintf(w->out, "in halves: the forward parts of %u micro-batch%s, so that the later stages start sooner\n\n",
                count, count == 1 ? "" : "es");
    else if (w->p->problem.sliced > 0)
        fprintf(w->out, "in halves: no forward part; %s\n\n",
                w->p->plan.pipeline.stages < ONS_SLICES_STAGES
                    ? "with fewer than three stages nothing is won by it"
                    : "stages that share a device are not sliced by themselves");
}

static void describe_subject(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    char cap[ONS_BYTES_TEXT], took[32] = "", stages[ONS_STAGES_TEXT];
    if (!plan->reproducible) snprintf(took, sizeof took, "; planned in %.3f s", plan->planning_seconds);
    fprintf(w->out, "%s: ", plan->subject.model);
    ons_plan_subject_print_batch(&plan->subject, w->out);
    bool alike = plan->capacities == NULL;
    fprintf(w->out, ", %s of %s (%s%s free %s each)\n",
            ons_stages_print(plan->pipeline.stages, plan->schedule.devices, stages),
            w->p->devices.kind_count > 0 ? w->p->devices.title : w->p->profile.title, alike ? "" : "up to ",
            limit(plan->capacity_bytes, cap), shares_devices(plan) ? "on" : "for");
    fprintf(w->out, "schedule %s, partition %s (nodes in %s order), memory %s%s\n\n", plan->pipeline.generator->name,
            plan->partition, plan->order, plan->memory, took);
    if (w->p->config->profile != NULL && w->p->model != NULL)
        fprintf(w->out, "times from %s: of %u nodes measured, of %u by the model that was fitted to it%s%s\n\n",
                w->p->config->profile, w->p->input.costs.measured.measured, w->p->input.costs.measured.analytic,
                w->p->config->device_profile == NULL ? "" : "; carried over to ",
                w->p->config->device_profile == NULL ? "" : w->p->profile.title);
    if (w->p->division != NULL) fprintf(w->out, "%s\n\n", w->p->division);
    note_other_kernels(w);
    describe_slices(w);
}

static void count_decisions(const ons_plan_stage *stage, uint32_t *swapped, uint32_t *recomputed) {
    *swapped = *recomputed = 0;
    for (uint32_t i = 0; i < stage->decision_count; ++i) {
        *swapped += stage->decisions[i].decision == ONS_SWAP;
        *recomputed += stage->decisions[i].decision == ONS_RECOMPUTE;
    }
}

static const char *print_free(const ons_plan *plan, uint32_t device, int64_t bytes, char text[static ONS_BYTES_TEXT]) {
    if (plan->capacity_bytes > 0) return size(ons_plan_capacity(plan, device) - bytes, text);
    snprintf(text, ONS_BYTES_TEXT, "-");
    return text;
}

/* Where a device's memory is known to the byte, all of it stands with the first of its stages. */
static bool stands_elsewhere(const ons_plan *plan, uint32_t stage) {
    return plan->stages[stage].memory_bytes == 0 &&
           ons_schedule_first_stage(&plan->schedule, plan->stages[stage].device) != stage;
}

static void describe_stages(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    bool shared = shares_devices(plan);
    fprintf(w->out, "stage  nodes  micro-batch   memory      %-10s  swapped  recomputed  first node\n",
            shared ? "device" : "free");
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_plan_stage *s = &plan->stages[i];
        uint32_t swapped, recomputed;
        char memory[ONS_BYTES_TEXT], left[ONS_BYTES_TEXT], first[ONS_SHOWN_BYTES];
        count_decisions(s, &swapped, &recomputed);
        if (shared)
            snprintf(left, sizeof left, "%u", s->device);
        else
            print_free(plan, s->device, s->memory_bytes, left);
        if (stands_elsewhere(plan, i))
            snprintf(memory, sizeof memory, "with %u", ons_schedule_first_stage(&plan->schedule, s->device));
        else
            size(s->memory_bytes, memory);
        fprintf(w->out, "%5u  %5u  %8.3f ms  %-10s  %-10s  %7u  %10u  %s\n", i, s->node_count, 1e3 * s->seconds, memory,
                left, swapped, recomputed, ons_shown(s->first_node, first));
    }
}

/* Where a device holds several stages: the memory of all of them. */
static void describe_devices(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    if (!shares_devices(plan)) return;
    fprintf(w->out, "\ndevice  memory      free        stages\n");
    for (uint32_t device = 0; device < plan->schedule.devices; ++device) {
        char memory[ONS_BYTES_TEXT], left[ONS_BYTES_TEXT];
        int64_t bytes = ons_plan_device_bytes(plan, device);
        fprintf(w->out, "%6u  %-10s  %-10s", device, size(bytes, memory), print_free(plan, device, bytes, left));
        const char *comma = "  ";
        for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
            if (!ons_schedule_holds(&plan->schedule, i, device)) continue;
            fprintf(w->out, "%s%u", comma, i);
            comma = ", ";
        }
        fputc('\n', w->out);
    }
}

/* Where stages take several micro-batches at once, or have replicas. */
static void describe_groupings(const writer *w) {
    const ons_schedule *s = &w->p->plan.schedule;
    if (!ons_schedule_is_grouped(s)) return;
    fprintf(w->out, "\nstage  takes at once  replicas  devices\n");
    for (uint32_t i = 0; i < s->stages; ++i) {
        ons_stage_grouping g = ons_schedule_grouping(s, i);
        char devices[32];
        uint32_t first = s->device_of[i], last = ons_schedule_device(s, i, g.copies - 1);
        if (g.copies == 1)
            snprintf(devices, sizeof devices, "%u", first);
        else
            snprintf(devices, sizeof devices, "%u%s%u", first, ons_grouping_stride(g) == 1 ? "-" : ", ", last);
        fprintf(w->out, "%5u  %13u  %8u  %s\n", i, g.size, g.copies, devices);
    }
}

static void describe_memory(const writer *w) {
    const ons_plan *plan = &w->p->plan;
    fprintf(w->out, "\nstage  weights     versions    gradients   optimiser   stashed     running     transfers\n");
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_stage_memory *m = &plan->stages[i].memory;
        if (stands_elsewhere(plan, i)) continue;
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
    if (!planned->by_step || ons_plan_count_slices(&w->p->plan) > 0) return; /* those steps are not in halves */
    if (planned->best_bottleneck.step_seconds <= w->p->plan.step_seconds) return;
    fprintf(w->out,
            "chosen by the step: the split whose slowest stage is fastest (%.6g ms a micro-batch) takes %.3f ms a "
            "step\n",
            1e3 * planned->best_bottleneck.bottleneck_seconds, 1e3 * planned->best_bottleneck.step_seconds);
}

/* The fastest ones that lost, and how many there were. */
static void describe_portfolio(writer *w) {
    enum { SHOWN = 4 };
    const ons_portfolio *r = &w->p->portfolio;
    uint32_t *order, count, shown = 0, of[ONS_REPEATED + 1] = {0};
    if (r->count == 0) return;
    if (w->status == NULL) w->status = ons_portfolio_rank(r, w->p->arena, &order, &count);
    if (w->status != NULL) return;
    for (uint32_t i = 0; i < r->count; ++i) ++of[r->candidates[i].outcome];
    fprintf(
        w->out,
        "\nschedule %s: the fastest of %u; %u do not fit, %u are not possible here, %u were not planned, as they are "
        "estimated to be no faster",
        r->candidates[r->taken].name, r->count - of[ONS_REPEATED], of[ONS_TOO_LARGE], of[ONS_IMPOSSIBLE],
        of[ONS_HOPELESS]);
    if (!w->p->plan.reproducible) fprintf(w->out, "; compared in %.2f s", r->seconds);
    fputc('\n', w->out);
    for (uint32_t i = 0; i < count && shown < SHOWN; ++i) {
        const ons_portfolio_candidate *c = &r->candidates[order[i]];
        if (order[i] == r->taken || c->outcome != ONS_SLOWER) continue;
        fprintf(w->out, "  %s: %s\n", c->name, c->why);
        ++shown;
    }
}

/* What came of one number of replicas. */
static void describe_degree(const writer *w, const ons_degree *d, bool taken) {
    const ons_trial *t = &d->trial;
    char bytes[ONS_BYTES_TEXT];
    size(t->memory_bytes, bytes);
    fprintf(w->out, "%8" PRId64 "  %6" PRId64 "  ", d->replicas, d->stages);
    if (t->why != NULL)
        fprintf(w->out, "not possible: %s\n", t->why);
    else if (!isfinite(t->step_seconds))
        fprintf(w->out, "does not fit; --memory %" PRId64 " (%s) would do\n", t->memory_bytes, bytes);
    else
        fprintf(w->out, "%13" PRId64 "  %6" PRId64 "  %10.3f ms  %9.1f  %s%s\n", t->micro_batches, t->batch,
                1e3 * t->step_seconds, ons_trial_speed(t), bytes, taken ? ": taken" : "");
}

/* --replicas auto */
static void describe_degrees(const writer *w) {
    const ons_degree_choice *choice = &w->p->degrees;
    if (choice->count == 0) return;
    fprintf(w->out, "\n%" PRId64 " devices shared between replicas and stages", choice->devices);
    if (!w->p->plan.reproducible) fprintf(w->out, "; compared in %.2f s", choice->seconds);
    fputs(":\nreplicas  stages  micro-batches   batch           step  samples/s  memory\n", w->out);
    for (uint32_t i = 0; i < choice->count; ++i) describe_degree(w, &choice->items[i], i == choice->taken);
}

ons_status *ons_planning_describe(const ons_planning *p, char **text) {
    size_t length;
    writer w = {.out = open_memstream(text, &length), .p = p};
    if (w.out == NULL) return ons_status_out_of_memory();
    int64_t batch = p->plan.subject.batch;
    describe_subject(&w);
    describe_stages(&w);
    describe_devices(&w);
    describe_groupings(&w);
    describe_memory(&w);
    fprintf(w.out,
            "\nslowest stage %.3f ms a micro-batch; a step of %" PRId64 " samples takes %.3f ms: %.1f samples/s\n",
            1e3 * p->plan.bottleneck_seconds, batch, 1e3 * p->plan.step_seconds, (double)batch / p->plan.step_seconds);
    describe_choice(&w);
    describe_portfolio(&w);
    describe_degrees(&w);
    if (p->report_text != NULL) fputs(p->report_text, w.out);
    ons_status *status = ons_text_close(w.out, text);
    if (w.status == NULL) return status;
    if (status == NULL) free(*text);
    ons_status_free(status);
    return w.status;
}

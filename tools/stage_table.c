#include "tools/stage_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "tools/progress.h"

/* "3.5 MiB (4)": bytes, and in how many values; "-" where there are none. */
static const char *print_values(int64_t bytes, int64_t values, char text[static ONS_SHORT_TEXT]) {
    char size[ONS_SHORT_TEXT];
    if (values == 0)
        snprintf(text, ONS_SHORT_TEXT, "-");
    else
        snprintf(text, ONS_SHORT_TEXT, "%.20s (%" PRId64 ")", ons_print_bytes(bytes, size), values);
    return text;
}

static const char *print_time(double seconds, char text[static ONS_SHORT_TEXT]) {
    if (isnan(seconds))
        snprintf(text, ONS_SHORT_TEXT, "-");
    else if (seconds < 1e-3)
        snprintf(text, ONS_SHORT_TEXT, "%.0f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, ONS_SHORT_TEXT, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, ONS_SHORT_TEXT, "%.3g s", seconds);
    return text;
}

static const char *print_share(double share, char text[static ONS_SHORT_TEXT]) {
    if (isnan(share))
        snprintf(text, ONS_SHORT_TEXT, "-");
    else
        snprintf(text, ONS_SHORT_TEXT, "%.0f %%", 100 * share);
    return text;
}

ons_status *ons_stages_begin(const ons_trainer *trainer, const ons_trainer_status *s) {
    int64_t count = ons_trainer_stage_count(trainer);
    char memory[ONS_SHORT_TEXT], swapped[ONS_SHORT_TEXT], again[ONS_SHORT_TEXT], first[ONS_SHOWN_BYTES];
    if (count == 0) return NULL;
    printf("%" PRId64 " stage%s, %s; of every micro-batch is copied to the host, or computed again (values):\n",
           s->stages, s->stages == 1 ? "" : "s", s->pipeline);
    printf("  stage      memory         copied          again  from node\n");
    for (int64_t i = 0; i < count; ++i) {
        ons_stage_report r;
        ons_status *status = ons_trainer_get_stage(trainer, i, &r);
        if (status != NULL) return status;
        printf("  %5" PRId64 "  %10s  %13s  %13s  %s\n", r.stage, ons_print_bytes(r.arena_bytes, memory),
               print_values(r.swapped_bytes, r.swapped_values, swapped),
               print_values(r.recomputed_bytes, r.recomputed_values, again), ons_shown(r.first_node, first));
    }
    fflush(stdout);
    return NULL;
}

static void print_end(const ons_stage_report *r) {
    char planned[ONS_SHORT_TEXT], came[ONS_SHORT_TEXT], idle[ONS_SHORT_TEXT], was_idle[ONS_SHORT_TEXT];
    char memory[ONS_SHORT_TEXT], taken[ONS_SHORT_TEXT];
    printf("  %5" PRId64 "  %9s %9s  %9s %9s  %9s %9s\n", r->stage, print_time(r->predicted_seconds, planned),
           print_time(r->measured_seconds, came), print_share(r->predicted_idle, idle),
           print_share(r->measured_idle, was_idle), ons_print_bytes(r->planned_bytes, memory),
           ons_print_bytes(r->taken_bytes, taken));
}

ons_status *ons_stages_end(const ons_trainer *trainer, const ons_trainer_status *s) {
    int64_t count = ons_trainer_stage_count(trainer);
    char planned[ONS_SHORT_TEXT], came[ONS_SHORT_TEXT];
    if (count == 0 || isnan(s->measured_step_seconds)) return NULL;
    printf("         micro-batch          idle                 memory\n"
           "  stage  predicted  measured  predicted  measured    planned     taken\n");
    for (int64_t i = 0; i < count; ++i) {
        ons_stage_report r;
        ons_status *status = ons_trainer_get_stage(trainer, i, &r);
        if (status != NULL) return status;
        print_end(&r);
    }
    printf("  a step: predicted %s, measured %s\n", print_time(s->predicted_step_seconds, planned),
           print_time(s->measured_step_seconds, came));
    return NULL;
}

void ons_memory_end(const ons_trainer_status *s) {
    char arena[ONS_SHORT_TEXT], reserve[ONS_SHORT_TEXT];
    if (s->free_bytes == 0) return;
    printf("GPU memory: %s for %s, %s for context and libraries; free %" PRId64 " bytes",
           ons_print_bytes(s->arena_bytes, arena), s->stages > 1 ? "the arenas" : "the arena",
           ons_print_bytes(s->reserve_bytes, reserve), s->free_bytes);
    if (s->free_bytes_early > 0) printf(", after the second step %" PRId64, s->free_bytes_early);
    printf("\n");
}

/* A step of sleeping layers beside the simulator's:
 *     steps PIPELINE STAGES [--OPTION VALUE]...
 * PIPELINE may be graphpipe. --branches 3,2,1: layers of branches between the first layer and the last; STAGES are as
 * many as there are layers. --devices D, --replicas R, --layers L of one stage, --micro-batches M, --slices N of them,
 * --steps N, --columns C; --forward, --input, --weight, --latency: milliseconds;
 * --bandwidth: bytes a second; --eager: bytes of the largest message that leaves without asking; --input-first 1: see
 * sleep_operator.h; --transport mpi: this is one of the processes that mpirun has started. It prints devices,
 * micro-batches, and in seconds what was simulated, the median of the steps and the shortest one; with --start 1 also
 * the shortest time from the first stage's first forward part to the last stage's, by the trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/onstage.h"
#include "planner/schedule/schedule.h"
#include "tests/rooms/timing/sleep_run.h"

enum { MOST_BRANCHES = 16 };

static uint32_t whole(const char *text) { return (uint32_t)strtoul(text, NULL, 10); }
static double milliseconds(const char *text) { return 1e-3 * strtod(text, NULL); }

/* "3,2,1" */
static bool take_branches(sleep_setting *s, const char *value) {
    static uint32_t branches[MOST_BRANCHES];
    const char *rest = value;
    while (*rest != '\0' && s->branch_count < MOST_BRANCHES) {
        char *end;
        branches[s->branch_count++] = (uint32_t)strtoul(rest, &end, 10);
        rest = *end == ',' ? end + 1 : end;
        if (end == value || (*end != ',' && *end != '\0')) return false;
    }
    s->branches = branches;
    return *rest == '\0';
}

static bool take(sleep_setting *s, const char *option, const char *value) {
    if (strcmp(option, "--branches") == 0) return take_branches(s, value);
    if (strcmp(option, "--devices") == 0) return s->devices = whole(value), true;
    if (strcmp(option, "--replicas") == 0) return s->replicas = whole(value), true;
    if (strcmp(option, "--layers") == 0) return s->layers = whole(value), true;
    if (strcmp(option, "--micro-batches") == 0) return s->micro_batches = whole(value), true;
    if (strcmp(option, "--slices") == 0) return s->slices = whole(value), true;
    if (strcmp(option, "--start") == 0) return s->traced = whole(value) != 0, true;
    if (strcmp(option, "--steps") == 0) return s->steps = whole(value), true;
    if (strcmp(option, "--columns") == 0) return s->columns = whole(value), true;
    if (strcmp(option, "--forward") == 0) return s->forward = milliseconds(value), true;
    if (strcmp(option, "--input") == 0) return s->input = milliseconds(value), true;
    if (strcmp(option, "--weight") == 0) return s->weight = milliseconds(value), true;
    if (strcmp(option, "--latency") == 0) return s->latency = milliseconds(value), true;
    if (strcmp(option, "--bandwidth") == 0) return s->bandwidth = strtod(value, NULL), true;
    if (strcmp(option, "--eager") == 0) return s->eager_bytes = whole(value), true;
    if (strcmp(option, "--input-first") == 0) return s->input_first = whole(value) != 0, true;
    if (strcmp(option, "--transport") == 0) return s->processes = strcmp(value, "mpi") == 0, true;
    return false;
}

static ons_status *find_devices(const sleep_setting *s, uint32_t *devices) {
    const ons_generator *generator;
    *devices = s->stages;
    if (strcmp(s->pipeline, "graphpipe") == 0) return NULL;
    ONS_TRY(ons_generator_parse(s->pipeline, &generator));
    const ons_pipeline pipeline = {generator, s->stages, s->micro_batches, s->devices, 1};
    *devices = ons_pipeline_devices(&pipeline);
    return NULL;
}

static ons_status *run(const sleep_setting *s) {
    sleep_times times;
    uint32_t devices;
    ONS_TRY(find_devices(s, &devices));
    ONS_TRY(sleep_run(s, &times));
    if (times.is_root)
        printf("%u %u %.6f %.6f %.6f", devices, s->micro_batches, times.simulated, times.measured, times.least);
    if (times.is_root && s->traced) printf(" %.6f", times.start);
    if (times.is_root) printf("\n");
    return NULL;
}

int main(int count, char **words) {
    ons_shorten_waits(words); /* as the command does */
    if (count < 3 || count % 2 == 0) {
        fprintf(stderr, "usage: steps PIPELINE STAGES [--OPTION VALUE]...\n");
        return ONS_INVALID_ARGUMENT;
    }
    sleep_setting s = {.pipeline = words[1],
                       .stages = whole(words[2]),
                       .columns = 16,
                       .steps = 6,
                       .forward = 0.020,
                       .input = 0.025,
                       .weight = 0.022,
                       .latency = 1e-6,
                       .bandwidth = 1e9};
    s.micro_batches = 2 * s.stages;
    for (int i = 3; i < count; i += 2)
        if (!take(&s, words[i], words[i + 1])) {
            fprintf(stderr, "steps: there is no option '%s'\n", words[i]);
            return ONS_INVALID_ARGUMENT;
        }
    ons_status *status = run(&s);
    ons_status_code code = ons_status_get_code(status);
    if (status != NULL) fprintf(stderr, "steps: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return (int)code;
}

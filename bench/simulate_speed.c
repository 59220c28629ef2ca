/* Tasks per second of the event simulator: ./bazelw run //bench:simulate_speed -- [TASKS]
 * A pipeline of 8 stages, as long as it takes: two computations and two transfers for each stage and micro-batch, with
 * a dependency on each side of a transfer. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "planner/simulate/simulate.h"

enum { STAGES = 8 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct streams {
    ons_resource_id compute[STAGES], send[STAGES], receive[STAGES];
} streams;

static ons_status *add_streams(ons_simulation *s, streams *x) {
    for (uint32_t i = 0; i < STAGES; ++i) {
        ONS_TRY(ons_simulation_add_resource(s, i, "compute", &x->compute[i]));
        ONS_TRY(ons_simulation_add_resource(s, i, "send", &x->send[i]));
        ONS_TRY(ons_simulation_add_resource(s, i, "receive", &x->receive[i]));
    }
    return NULL;
}

/* A transfer between neighbours, added with the computation that makes its value; the one that takes it is added later
 * and waits for it. */
static ons_status *add_transfer(ons_simulation *s, const streams *x, ons_action action, ons_task_id after, uint32_t to,
                                ons_task_id *id) {
    ons_task_spec spec = {.name = "transfer",
                          .action = action,
                          .resource = x->receive[to],
                          .second_resource = x->send[action.stage],
                          .seconds = 1e-4,
                          .start_bytes = 1024,
                          .end_bytes = -1024};
    ONS_TRY(ons_simulation_add_task(s, &spec, id));
    return ons_simulation_add_dependency(s, after, *id, 0);
}

static ons_status *add_action(ons_simulation *s, const streams *x, ons_action a, ons_task_id *activations,
                              ons_task_id *gradients) {
    bool forward = a.kind == ONS_ACTION_FORWARD;
    ons_task_id id;
    ons_task_spec spec = {.name = ons_action_name(a.kind),
                          .action = a,
                          .resource = x->compute[a.stage],
                          .second_resource = ONS_NO_RESOURCE,
                          .seconds = forward ? 1e-3 : 2e-3,
                          .start_bytes = forward ? 1 << 20 : 0,
                          .end_bytes = forward ? 0 : -(1 << 20)};
    ONS_TRY(ons_simulation_add_task(s, &spec, &id));
    ons_task_id from = forward ? activations[a.stage] : gradients[a.stage];
    if (from != ONS_NO_TASK) ONS_TRY(ons_simulation_add_dependency(s, from, id, 0));
    if (forward && a.stage + 1 < STAGES) return add_transfer(s, x, a, id, a.stage + 1, &activations[a.stage + 1]);
    if (!forward && a.stage > 0) return add_transfer(s, x, a, id, a.stage - 1, &gradients[a.stage - 1]);
    return NULL;
}

static ons_status *measure(ons_simulation *s, uint32_t micro_batches) {
    streams x;
    double begin = now();
    ONS_TRY(add_streams(s, &x));
    for (uint32_t i = 0; i < micro_batches; ++i) {
        ons_task_id activations[STAGES], gradients[STAGES];
        for (uint32_t stage = 0; stage < STAGES; ++stage) activations[stage] = gradients[stage] = ONS_NO_TASK;
        for (uint32_t stage = 0; stage < STAGES; ++stage)
            ONS_TRY(add_action(s, &x, (ons_action){.kind = ONS_ACTION_FORWARD, .stage = stage, .micro_batch = i},
                               activations, gradients));
        for (uint32_t stage = STAGES; stage-- > 0;)
            ONS_TRY(add_action(s, &x, (ons_action){.kind = ONS_ACTION_BACKWARD, .stage = stage, .micro_batch = i},
                               activations, gradients));
    }
    double added = now();
    ONS_TRY(ons_simulation_run(s));
    double done = now();
    uint32_t tasks = ons_simulation_task_count(s);
    printf("%u tasks: added in %.3f s (%.1f million a second), run in %.3f s (%.1f million a second)\n", tasks,
           added - begin, tasks / (added - begin) / 1e6, done - added, tasks / (done - added) / 1e6);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned long tasks = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000;
    unsigned long micro_batches = tasks / (4 * STAGES - 2);
    ons_simulation *s;
    ons_status *status = ons_simulation_new(&s);
    if (status == NULL) {
        status = measure(s, micro_batches < UINT32_MAX / 64 ? (uint32_t)micro_batches : UINT32_MAX / 64);
        ons_simulation_free(s);
    }
    if (status == NULL) return 0;
    fprintf(stderr, "%s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

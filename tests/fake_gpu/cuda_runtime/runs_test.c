/* Whole runs of `--device cuda` on the fake: what they leave, what they copy, and what becomes of them when the GPU, or
 * its driver, fails at any place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "tests/fake_gpu/cuda_runtime/fake_cuda.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"

enum { STEPS = 2 };

/* `options`: pairs, NULL ends them. */
static run start(const char *model, const char *const *options) {
    run r = run_golden(model);
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "batch", "8");
    set(&r, "micro-batches", "2");
    set_number(&r, "steps", STEPS);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    return r;
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_nothing_left(const char *what) {
    fake_cuda_left l = fake_cuda_get_left();
    cr_expect(fake_cuda_nothing_left(),
              "%s: %d streams, %d events, %d graphs, %d ready graphs, %d blocks and %d pinned ones are left", what,
              l.streams, l.events, l.graphs, l.executables, l.device_blocks, l.host_blocks);
}

/* ----------------------------------------------------------------------------------------------------------- steady */

/* From the second step on no memory is taken, and nothing is copied to the GPU that makes the host wait. */
static void expect_steady(const char *model, const char *const *options) {
    run r = start(model, options);
    run_open(&r);
    run_step(&r);
    fake_cuda_counts before = fake_cuda_get_counts();
    for (int i = 1; i < STEPS; ++i) run_step(&r);
    fake_cuda_counts after = fake_cuda_get_counts();
    cr_expect_eq(after.pageable_copies, before.pageable_copies, "%s: %lld copies of memory that is not pinned", model,
                 (long long)(after.pageable_copies - before.pageable_copies));
    cr_expect_eq(after.allocations, before.allocations);
    run_close(&r);
    expect_nothing_left(model);
}

Test(steady, one_stage, .timeout = 300) { expect_steady("mlp", OPTIONS("clip-norm", "1")); }

Test(steady, stages, .timeout = 300) { expect_steady("mlp", OPTIONS("stages", "4")); }

Test(steady, without_graphs, .timeout = 300) {
    setenv("ONSTAGE_CUDA_GRAPHS", "off", 1);
    expect_steady("gpt_tied", OPTIONS("stages", "2"));
}

Test(steady, with_graphs, .timeout = 300) {
    setenv("ONSTAGE_CUDA_GRAPHS", "on", 1);
    expect_steady("gpt_tied", OPTIONS("dropout", "0.1"));
}

Test(steady, convolutions, .timeout = 300) { expect_steady("cnn_dynamic", OPTIONS("stages", "2")); }

Test(steady, validation, .timeout = 300) {
    expect_steady("mlp", OPTIONS("rows", "0:32", "val-rows", "32:40", "val-every", "1"));
}

/* ----------------------------------------------------------------------------------------------------------- faults */

/* What a child's run came to. */
typedef enum outcome { TOLD = 10, WENT_WELL, NOT_REACHED, LEFT, SEVERAL_LINES } outcome;

static ons_status *train(run *r) {
    ons_step_report report;
    ons_status *status = run_try_open(r);
    while (status == NULL && !ons_trainer_done(r->trainer)) status = ons_trainer_step(r->trainer, &report);
    if (status == NULL) status = ons_trainer_finish(r->trainer);
    return status;
}

/* What the runs train. */
static const char *trained = "mlp";

static outcome child(fake_cuda_fault fault, int64_t at, const char *const *options, FILE *tells) {
    run r = start(trained, options);
    fake_cuda_fail(fault, at);
    ons_status *status = train(&r);
    bool told = status != NULL, one_line = !told || strchr(ons_status_get_message(status), '\n') == NULL;
    if (told) fprintf(tells, "%s", ons_status_get_message(status));
    fflush(tells);
    ons_status_free(status);
    run_close(&r);
    if (!fake_cuda_nothing_left()) {
        fake_cuda_left l = fake_cuda_get_left();
        fprintf(tells, " [%d streams, %d events, %d graphs, %d ready graphs, %d blocks, %d pinned blocks]", l.streams,
                l.events, l.graphs, l.executables, l.device_blocks, l.host_blocks);
        fflush(tells);
        return LEFT;
    }
    if (!one_line) return SEVERAL_LINES;
    return told ? TOLD : fake_cuda_is_to_fail(fault) ? NOT_REACHED : WENT_WELL;
}

/* In a process of its own, since a program's GPU stays failed. */
static outcome try_fault(fake_cuda_fault fault, int64_t at, const char *const *options, bool may_go_well) {
    enum { PATIENCE = 60 };
    char text[1024] = "";
    int status = 0, pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    fflush(NULL);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        alarm(PATIENCE);
        _exit((int)child(fault, at, options, fdopen(pipes[1], "w")));
    }
    close(pipes[1]);
    for (size_t length = 0; length + 1 < sizeof text;) {
        ssize_t got = read(pipes[0], text + length, sizeof text - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    close(pipes[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status), "fault %d at %lld: the program ends by signal %d%s; %s", (int)fault, (long long)at,
              WTERMSIG(status), WTERMSIG(status) == SIGALRM ? " (it hangs)" : "", text);
    outcome o = (outcome)WEXITSTATUS(status);
    cr_expect(o == TOLD || o == NOT_REACHED || (o == WENT_WELL && may_go_well), "fault %d at %lld: %s: %s", (int)fault,
              (long long)at,
              o == LEFT        ? "something is left"
              : o == WENT_WELL ? "nobody told it"
                               : "several lines",
              text);
    return o;
}

/* Every place, `stride` apart after the first `dense`, until the run does not come there. */
static void expect_told(fake_cuda_fault fault, int64_t dense, int64_t stride, const char *const *options,
                        bool may_go_well) {
    int64_t at = 1;
    while (try_fault(fault, at, options, may_go_well) != NOT_REACHED) at += at < dense ? 1 : stride;
    cr_expect_gt(at, 1, "no run comes to fault %d", (int)fault);
}

#define TWO_STAGES OPTIONS("stages", "2")
#define ONE_STAGE  OPTIONS("stages", "1")

Test(refused, memory, .timeout = 600) {
    expect_told(FAKE_CUDA_REFUSE_MEMORY, 100, 1, ONE_STAGE, false);
    expect_told(FAKE_CUDA_REFUSE_MEMORY, 100, 1, TWO_STAGES, false);
}

Test(refused, pinned_memory, .timeout = 600) {
    expect_told(FAKE_CUDA_REFUSE_HOST_MEMORY, 100, 1, ONE_STAGE, false);
    expect_told(FAKE_CUDA_REFUSE_HOST_MEMORY, 100, 1, TWO_STAGES, false);
}

Test(refused, streams_and_events, .timeout = 600) {
    expect_told(FAKE_CUDA_REFUSE_OBJECT, 10, 3, ONE_STAGE, false);
    expect_told(FAKE_CUDA_REFUSE_OBJECT, 1, 7, TWO_STAGES, false);
}

Test(refused, launches, .timeout = 600) {
    expect_told(FAKE_CUDA_REFUSE_LAUNCH, 1, 41, ONE_STAGE, true); /* while a step is recorded it only is not */
    expect_told(FAKE_CUDA_REFUSE_LAUNCH, 1, 61, TWO_STAGES, false);
}

/* Then steps are not recorded. */
Test(refused, graphs, .timeout = 600) {
    expect_told(FAKE_CUDA_REFUSE_CAPTURE, 10, 1, ONE_STAGE, true);
    expect_told(FAKE_CUDA_REFUSE_GRAPH, 10, 1, ONE_STAGE, true);
}

/* The run goes on, and says why in the step's warning, in its notes and in its log. */
static void expect_reason(fake_cuda_fault fault, int64_t at, const char *begin, const char *reason) {
    char path[PATH_BYTES];
    ons_trainer_status status;
    scratch_path(path, "refused.jsonl");
    run r = start("mlp", OPTIONS("log-json", path));
    run_open(&r);
    fake_cuda_fail(fault, at);
    ons_step_report first = run_step(&r);
    cr_assert_not_null(first.warning);
    cr_expect(strstr(first.warning, begin) == first.warning && strstr(first.warning, reason) != NULL, "%s",
              first.warning);
    cr_expect_null(run_step(&r).warning, "it is told once");
    must(ons_trainer_get_status(r.trainer, &status));
    cr_expect(strstr(status.notes, begin) != NULL && strstr(status.notes, reason) != NULL, "%s", status.notes);
    must(ons_trainer_finish(r.trainer));
    log_lines log = read_log(path);
    const ons_json *warning = ons_json_find(log.items[0], "warning");
    cr_expect(warning != NULL && strstr(warning->valuestring, reason) != NULL);
    log_free(&log);
    run_close(&r);
    unlink(path);
    expect_nothing_left("a run without graphs");
}

Test(refused, captures_say_why, .timeout = 300) {
    expect_reason(FAKE_CUDA_REFUSE_CAPTURE, 1, "steps are not repeated as CUDA graphs", "operation not supported");
}

Test(refused, graphs_say_why, .timeout = 300) {
    expect_reason(FAKE_CUDA_REFUSE_GRAPH, 1, "steps are not repeated as CUDA graphs", "out of memory");
}

/* The first recording stays. */
Test(refused, the_second_graph_says_why, .timeout = 300) {
    expect_reason(FAKE_CUDA_REFUSE_GRAPH, 2, "not all steps are repeated as CUDA graphs", "out of memory");
}

Test(broken, kernels, .timeout = 600) {
    expect_told(FAKE_CUDA_BREAK_KERNEL, 1, 47, ONE_STAGE, false);
    expect_told(FAKE_CUDA_BREAK_KERNEL, 1, 67, TWO_STAGES, false);
}

Test(broken, gpu_is_lost, .timeout = 600) {
    expect_told(FAKE_CUDA_LOSE_DEVICE, 20, 101, ONE_STAGE,
                true); /* when the last result is there nobody asks any more */
    expect_told(FAKE_CUDA_LOSE_DEVICE, 1, 149, TWO_STAGES, true);
}

Test(broken, gpu_is_lost_while_values_are_swapped, .timeout = 600) {
    char cap[32];
    ons_trainer_status status;
    int pipes[2];
    trained = "gpt_tied";
    cr_assert_eq(pipe(pipes), 0);
    fflush(NULL);
    if (fork() == 0) { /* apart: nothing of the GPU may have happened in this process */
        run r = start(trained, ONE_STAGE);
        run_open(&r);
        must(ons_trainer_get_status(r.trainer, &status));
        snprintf(cap, sizeof cap, "%lld", FAR_SLACK + (long long)status.predicted_bytes * 9 / 10);
        _exit(write(pipes[1], cap, sizeof cap) != sizeof cap);
    }
    cr_assert_eq(read(pipes[0], cap, sizeof cap), sizeof cap);
    const char *const *options = OPTIONS("memory-strategy", "capuchin", "memory", cap);
    cr_assert_eq(try_fault(FAKE_CUDA_LOSE_DEVICE, 1 << 20, options, false), NOT_REACHED,
                 "the cap is no cap to run under");
    expect_told(FAKE_CUDA_LOSE_DEVICE, 1, 701, options, true);
}

/* --------------------------------------------------------------------------------------------------------- refusals */

static void expect_refusal(int gpus, int driver, int major, const char *word) {
    fake_cuda_machine(gpus, driver, major);
    run r = start("mlp", ONE_STAGE);
    must_fail(run_try_open(&r), ONS_UNSUPPORTED, "--device cuda", "--device cpu", word, NULL);
    run_close(&r);
    expect_nothing_left(word);
}

Test(refusal, without_a_driver) { expect_refusal(1, 0, 9, "no NVIDIA driver"); }

Test(refusal, of_an_old_driver) { expect_refusal(1, 12040, 9, "12.4"); }

Test(refusal, without_a_gpu) { expect_refusal(0, 13000, 9, "no NVIDIA GPU"); }

Test(refusal, of_an_old_gpu) { expect_refusal(1, 13000, 7, "capability 7"); }

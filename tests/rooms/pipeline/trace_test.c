/* A trace of several stages: rows that a person finds again in every stage, and on each row one thing after the other.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/trace_rows.h"

enum { STAGES = 4, STEPS = 3 };

static run prepare(int64_t memory) {
    run r = run_golden("dynamo_gpt");
    set(&r, "optimizer", "adamw");
    set(&r, "threads", "1");
    set(&r, "micro-batches", "4");
    set(&r, "pipeline", "gpipe");
    set_number(&r, "stages", STAGES);
    set_number(&r, "steps", STEPS);
    if (memory > 0) set_number(&r, "memory", memory);
    return r;
}

static int64_t largest_stage(const run *r, int64_t *swapped) {
    int64_t largest = 0;
    *swapped = 0;
    for (int64_t i = 0; i < STAGES; ++i) {
        ons_stage_report stage;
        must(ons_trainer_get_stage(r->trainer, i, &stage));
        largest = stage.taken_bytes > largest ? stage.taken_bytes : largest;
        *swapped += stage.swapped_values;
    }
    return largest;
}

/* A run under a cap that makes stages copy to the host. How tight it must be for that depends on how many processors
 * the machine has: where all compute, computing again is cheaper for longer. */
static run open_capped(const char *path) {
    int64_t swapped;
    run r = prepare(0);
    run_open(&r);
    int64_t whole = largest_stage(&r, &swapped);
    run_close(&r);
    for (int64_t percent = 90; percent >= 50; percent -= 2) {
        int64_t cap = whole * percent / 100;
        r = prepare(cap);
        set(&r, "trace", path);
        ons_status *status = run_try_open(&r);
        if (status == NULL) {
            cr_assert_leq(largest_stage(&r, &swapped), cap);
            if (swapped > 0) return r;
        }
        ons_status_free(status);
        run_close(&r);
    }
    cr_assert_fail("nothing is copied under any cap");
    return r;
}

static void write_trace(const char *path) {
    run r = open_capped(path);
    for (int i = 0; i < STEPS; ++i) run_step(&r);
    must(ons_trainer_finish(r.trainer));
    run_close(&r);
}

/* Where a row of this kind stands among the rows of a stage. */
static int place_of(const char *name) {
    static const char *const kinds[] = {"compute", "swap out",      "swap in",     "forward from",
                                        "forward", "backward from", "backward to", "update"};
    for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); ++i)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0) return i;
    cr_assert_fail("an unknown row '%s'", name);
    return -1;
}

Test(trace, stages) {
    char path[PATH_BYTES];
    scratch_path(path, "trace.json");
    write_trace(path);
    trace_rows all = read_trace(path);
    int computing = 0, copying = 0, messages = 0;
    for (int i = 0; i < all.count; ++i) {
        const trace_row *r = &all.items[i];
        int place = place_of(r->name);
        computing += place == 0 && r->events > 0;
        copying += (place == 1 || place == 2) && r->events > 0;
        messages += place > 2 ? r->events : 0;
        if (i == 0 || r[-1].stage != r->stage)
            cr_assert_eq(place, 0, "stage %d begins with the row '%s'", r->stage, r->name);
        else
            cr_assert(r->thread > r[-1].thread && place >= place_of(r[-1].name), "stage %d: '%s' below '%s'", r->stage,
                      r->name, r[-1].name);
    }
    cr_assert_eq(computing, STAGES);
    cr_assert_geq(copying, 2, "copies to the host and back");
    cr_assert_geq(messages, STEPS * 4 * (STAGES - 1) * 2, "each micro-batch goes through all stages, and back");
}

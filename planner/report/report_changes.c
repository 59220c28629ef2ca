/* What makes a model fit: of each kind of change the smallest that does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/report/report.h"

enum { STAGES_MOST = 64, CHANGES_MOST = 32, RANK_FREE = 0, RANK_TRAINING = 1, RANK_HARDWARE = 2 };

typedef struct search {
    const ons_question *asked;
    ons_arena *arena;
    ons_report_rows *rows;
} search;

/* Keeps the question where the answer is yes; `fits` says which. */
static ons_status *add_if_feasible(const search *s, const ons_question *q, int rank, const char *what, bool *fits) {
    ons_report_row row = {.what = what, .question = *q, .rank = rank};
    if (what == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_what_if(q, &row.answer));
    *fits = row.answer.feasible;
    if (*fits && s->rows->count < CHANGES_MOST) s->rows->items[s->rows->count++] = row;
    return NULL;
}

static ons_status *try_memory_strategies(const search *s) {
    static const char *const names[] = {"recompute-all", "capuchin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        ons_question q = *s->asked;
        bool fits;
        if (strcmp(q.memory->name, names[i]) == 0) continue;
        q.memory = ons_memory_strategy_find(names[i]);
        ONS_TRY(add_if_feasible(s, &q, RANK_FREE, ons_arena_format(s->arena, "--memory-strategy %s", names[i]), &fits));
    }
    return NULL;
}

/* "--stages 6 instead of 4", with the devices where they were said. */
static const char *describe_stages(const search *s, const ons_question *q) {
    if (s->asked->devices == 0)
        return ons_arena_format(s->arena, "--stages %u instead of %u", q->stages, s->asked->stages);
    return ons_arena_format(s->arena, "--stages %u --devices %u instead of %u and %u", q->stages, q->devices,
                            s->asked->stages, s->asked->devices);
}

/* Tries the batch in more micro-batches. */
static ons_status *try_micro_batches(const search *s) {
    ons_question q = *s->asked;
    bool fits = false;
    for (int64_t m = q.micro_batches + 1; m <= q.batch && !fits; ++m) {
        int64_t rows = ons_question_rows(&q);
        q.micro_batches = m;
        if (ons_question_rows(&q) == rows) continue; /* the largest is no smaller than with fewer */
        ONS_TRY(add_if_feasible(
            s, &q, RANK_FREE,
            ons_arena_format(s->arena, "--micro-batches %" PRId64 " instead of %" PRId64, m, s->asked->micro_batches),
            &fits));
    }
    return NULL;
}

static ons_status *try_batch(const search *s) {
    ons_question q = *s->asked;
    ons_answer answer;
    bool fits;
    ONS_TRY(ons_what_if_largest(s->asked, &q.batch, &answer));
    if (q.batch == 0 || q.batch >= s->asked->batch) return NULL;
    return add_if_feasible(
        s, &q, RANK_TRAINING,
        ons_arena_format(s->arena, "--batch %" PRId64 " instead of %" PRId64, q.batch, s->asked->batch), &fits);
}

static ons_status *try_stages(const search *s) {
    ons_question q = *s->asked;
    bool fits = false;
    for (uint32_t stages = q.stages + 1; stages <= STAGES_MOST && !fits; ++stages) {
        q = *s->asked;
        ons_question_set_stages(&q, stages);
        if (s->asked->devices > 0 && q.devices == 0) continue; /* not as many on each */
        q.micro_batches = ons_report_micro_batches(s->asked, stages);
        ONS_TRY(add_if_feasible(s, &q, RANK_HARDWARE, describe_stages(s, &q), &fits));
    }
    return NULL;
}

/* Tries the devices in fewer replicas of more stages. */
static ons_status *try_layouts(const search *s) {
    uint32_t own = ons_question_devices(s->asked), asked = ons_question_replicas(s->asked);
    bool fits = false;
    for (uint32_t replicas = asked - 1; replicas > 0 && !fits; --replicas) {
        uint64_t devices = (uint64_t)own * asked / replicas;
        if ((uint64_t)own * asked % replicas != 0 || devices > STAGES_MOST) continue;
        ons_question q = ons_report_layout(s->asked, (uint32_t)devices, replicas);
        char share[32] = "";
        if (q.stages != q.devices) snprintf(share, sizeof share, " --devices %u", q.devices);
        const char *what = ons_arena_format(s->arena, "--stages %u%s --replicas %u instead of %u and %u", q.stages,
                                            share, replicas, s->asked->stages, asked);
        ONS_TRY(add_if_feasible(s, &q, RANK_FREE, what, &fits));
    }
    return NULL;
}

static ons_status *try_device(const search *s, const ons_what_if_device *device) {
    ons_question q = *s->asked;
    bool fits;
    if (device->capacity_bytes <= q.capacity_bytes) return NULL;
    q.device = device;
    q.capacity_bytes = device->capacity_bytes;
    return add_if_feasible(
        s, &q, RANK_HARDWARE,
        ons_arena_format(s->arena, "--device-profile %s (%s)", device->profile->name, device->profile->title), &fits);
}

/* Money decides, where the asked device's price is known: what has none comes last. Else settings come before a smaller
 * batch, that before hardware, and there the smallest first; then the faster one. */
static int compare(const void *a, const void *b, void *has_prices) {
    const ons_report_row *x = a, *y = b;
    double left = ons_what_if_money(&x->question, &x->answer), right = ons_what_if_money(&y->question, &y->answer);
    if (*(const bool *)has_prices && left != right) {
        if (left <= 0 || right <= 0) return left > 0 ? -1 : 1;
        return left < right ? -1 : 1;
    }
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->rank == RANK_HARDWARE) {
        double all_left = (double)x->question.capacity_bytes * (double)ons_question_all_devices(&x->question);
        double all_right = (double)y->question.capacity_bytes * (double)ons_question_all_devices(&y->question);
        if (all_left != all_right) return all_left < all_right ? -1 : 1;
    }
    if (x->answer.samples_per_second != y->answer.samples_per_second)
        return x->answer.samples_per_second > y->answer.samples_per_second ? -1 : 1;
    return strcmp(x->what, y->what);
}

ons_status *ons_report_find_changes(const ons_report_options *options, const ons_question *asked, ons_arena *arena,
                                    ons_report_rows *rows) {
    search s = {asked, arena, rows};
    *rows = (ons_report_rows){0};
    ONS_NEW(rows->items, arena, CHANGES_MOST);
    ONS_TRY(try_memory_strategies(&s));
    ONS_TRY(try_micro_batches(&s));
    ONS_TRY(try_batch(&s));
    ONS_TRY(try_stages(&s));
    ONS_TRY(try_layouts(&s));
    for (uint32_t i = 0; i < options->device_count; ++i) ONS_TRY(try_device(&s, &options->devices[i]));
    bool has_prices = asked->device->money_per_hour > 0;
    qsort_r(rows->items, rows->count, sizeof *rows->items, compare, &has_prices);
    return NULL;
}

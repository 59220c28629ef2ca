/* What keeps copies of stages from finding each other is found before they run. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/stages/local_stages.h"
#include "runtime/verify/verify_stages.h"
#include "tests/rooms/pipeline/copies.h"
#include "tests/rooms/pipeline/pipeline_run.h"
#include "tests/rooms/pipeline/stage_size_lists.h"

enum { DEVICES = 6, STAGES = 3, MICRO_BATCHES = 6 };
static const uint32_t copies[STAGES] = {2, 1, 3}, sizes[STAGES] = {3, 2, 1};

/* What the runs looked at are of. */
typedef struct looking {
    const uint32_t *sizes; /* of micro-batches, as `copies`; NULL: all are of one size */
    int looked;
} looking;

/* A pass of a whole step, as a run verifies it. */
typedef struct pass {
    ons_arena *arena;
    ons_schedule schedule;
    uint32_t *sizes; /* of devices */
    ons_stage_program own[DEVICES];
    const ons_stage_program *programs[DEVICES];
    ons_verify_share shares[DEVICES];
    ons_verify_options options;
} pass;

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static void make_schedule(const looking *l, pass *f) {
    const stage_size_lists paced = {STAGES, MICRO_BATCHES, l->sizes, copies, 1};
    must(l->sizes == NULL ? copies_schedule(copies, STAGES, MICRO_BATCHES, false, f->arena, &f->schedule)
                          : stage_size_lists_make(&paced, f->arena, &f->schedule));
    must(ons_units_sizes(&f->schedule, f->arena, &f->sizes));
}

static void take(const ons_local_stages *local_stages, const looking *l, pass *f) {
    const ons_device_groups *groups = ons_local_stages_groups(local_stages);
    *f = (pass){.arena = ons_arena_new()};
    make_schedule(l, f);
    for (uint32_t i = 0; i < DEVICES; ++i) {
        const ons_local_stage *stage = ons_local_stages_get(local_stages, i);
        f->own[i] = stage->training.programs[ONS_WHOLE].stage;
        f->programs[i] = &f->own[i];
        f->shares[i] = (ons_verify_share){.group = groups->of_device[i], .copy = stage->rank_group.own};
        f->shares[i].copies = copies[f->shares[i].group];
        f->shares[i].number = f->shares[i].copy;
        f->shares[i].micro_batches = MICRO_BATCHES / f->shares[i].copies / ons_units_size(f->sizes, i);
        f->shares[i].first_count = f->shares[i].micro_batches;
    }
    f->options = (ons_verify_options){.stages = DEVICES,
                                      .groups = groups->items,
                                      .shares = f->shares,
                                      .programs = f->programs,
                                      .lists = f->schedule.lists,
                                      .sizes = f->sizes,
                                      .micro_batches = MICRO_BATCHES,
                                      .updates = true};
}

static void must_be_found(pass *f, const char *what) {
    ons_status *status = ons_verify_stages(&f->options);
    cr_expect_not_null(status, "%s is not found", what);
    if (status != NULL) cr_expect_eq(ons_status_get_code(status), ONS_DEFECT, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* As the receiver has it: fewer places than one. */
static void take_places(pass *f, uint32_t device) {
    const ons_cut_stage *cut = f->own[device].cut;
    ONS_VECTOR(uint32_t) none = {0};
    cr_assert(ons_vector_reserve(&none, cut->receive_count + 1));
    memset(none.items, 0, (cut->receive_count + 1) * sizeof *none.items);
    f->own[device].rings = none.items;
    must_be_found(f, "a copy without room for messages");
    ons_vector_free(&none);
}

/* The last micro-batch is left out of a copy's list, and the copy knows it. */
static void drop_last(pass *f, uint32_t device) {
    ons_action_list shorter;
    uint32_t left = f->shares[device].micro_batches - 1;
    must(ons_device_list_shorten(&f->schedule.lists[device], left, f->arena, &shorter));
    f->schedule.lists[device] = shorter;
    f->shares[device].micro_batches = f->shares[device].first_count = left;
    must_be_found(f, "a copy with a micro-batch too few");
}

static void look(void *context, const struct ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    (void)pipeline;
    looking *l = context;
    pass f;
    for (uint32_t device = 0; device < DEVICES; ++device, ++l->looked) {
        take(local_stages, l, &f);
        must(ons_verify_stages(&f.options));
        f.shares[device].number += 1;
        must_be_found(&f, "a copy with others' micro-batches");
        ons_arena_free(f.arena);

        take(local_stages, l, &f);
        take_places(&f, device);
        ons_arena_free(f.arena);

        take(local_stages, l, &f);
        drop_last(&f, device);
        ons_arena_free(f.arena);
    }
}

static void try_copies(const uint32_t *of_stage) {
    looking l = {of_stage, 0};
    pipeline_record record;
    const pipeline_setting s = {.model = "mlp",
                                .micro_batches = MICRO_BATCHES,
                                .steps = 1,
                                .stages = STAGES,
                                .copies = copies,
                                .sizes = of_stage,
                                .in_flight = 1,
                                .kind = &ons_generator_one_f_one_b,
                                .look = look,
                                .context = &l};
    must(pipeline_run(&s, &record));
    pipeline_record_free(&record);
    cr_expect_eq(l.looked, DEVICES);
}

Test(verify, copies_that_do_not_find_each_other) { try_copies(NULL); }

Test(verify, copies_of_stages_with_sizes_that_do_not_find_each_other) { try_copies(sizes); }

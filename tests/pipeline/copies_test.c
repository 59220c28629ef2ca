/* Stages with copies that take micro-batches in turn, against training in sequence with the same groups
 * (tests/pipeline/grouped.h): losses, norms, weights, states and statistics have the same bits, and those of all copies
 * are the same. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "tests/pipeline/pipeline_run.h"

enum { STAGES_MOST = 3 };

static const uint32_t all_copies[][STAGES_MOST] = {{2, 1}, {1, 2}, {2, 2}, {3, 1, 2}, {1, 3, 2}, {2, 6, 3}};
enum { KINDS = sizeof all_copies / sizeof *all_copies };

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %u stages with %u, %u and %u copies, %u micro-batches, %u more samples: %s", s->model,
                   s->stages, s->copies[0], s->copies[1], s->copies[2], s->micro_batches, s->more,
                   ons_status_get_message(status));
}

static void compare(pipeline_setting s) {
    pipeline_record whole, cut;
    s.grouped = false;
    must(pipeline_run(&s, &cut), &s);
    s.grouped = true;
    s.late = false;
    must(pipeline_run(&s, &whole), &s);
    must(pipeline_compare(&whole, &cut), &s);
    pipeline_record_free(&whole);
    pipeline_record_free(&cut);
}

static void try_copies(pipeline_setting s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; ++i) {
        s.copies = all_copies[i];
        s.stages = s.copies[2] > 0 ? 3 : 2;
        s.seed = i;
        s.kind = i % 2 == 0 ? &ons_generator_one_f_one_b : &ons_generator_gpipe;
        compare(s);
    }
}

Test(copies, multilayer_perceptron) {
    try_copies((pipeline_setting){.model = "mlp", .micro_batches = 6, .steps = 4}, 0, KINDS);
}

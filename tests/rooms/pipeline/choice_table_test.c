/* A plan and a checkpoint of a program that has another table of choices: told as another library's version is. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/common/choice/choices.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "kernels/kernels.h"
#include "tests/rooms/training/fixture.h"

/* The committed table and an entry for a product that no model here has. */
static const char *use_other_table(void) {
    static ons_choice_entry entries[4096];
    static char onednn[ONS_ONEDNN_VERSION_TEXT], digest[ONS_CHOICE_DIGEST_TEXT];
    static ons_choice_table table;
    const ons_choice_table *committed = ons_choice_table_committed();
    cr_assert_lt(committed->count, sizeof entries / sizeof entries[0]);
    ons_onednn_version(onednn);
    memcpy(entries, committed->entries, committed->count * sizeof entries[0]);
    entries[committed->count] = (ons_choice_entry){.variant = ons_cpu_variant(),
                                                   .onednn = onednn,
                                                   .threads = 1,
                                                   .way = ONS_PRODUCT_TURNED,
                                                   .sizes = {1, 12345, 12345, 12345},
                                                   .share = 0.5};
    table = (ons_choice_table){.entries = entries, .count = committed->count + 1};
    ons_choice_table_replace(&table);
    ons_choice_table_digest(&table, ons_cpu_variant(), onednn, digest);
    return digest;
}

static const char *notes_of(const run *r) {
    ons_trainer_status status;
    must(ons_trainer_get_status(r->trainer, &status));
    return status.notes;
}

static run new_run(void) {
    run r = run_golden("mlp");
    set(&r, "optimizer", "sgd");
    set(&r, "steps", "4");
    return r;
}

Test(choice_table, of_a_plan_is_noted) {
    char path[PATH_BYTES], wanted[128];
    scratch_path(path, "plan.json");
    run r = new_run();
    ons_planning *planning;
    must(ons_planning_new(r.model_path, r.config, &planning));
    must(ons_planning_write(planning, path));
    ons_planning_free(planning);
    set(&r, "plan", path);
    run_open(&r);
    cr_expect_null(strstr(notes_of(&r), "planned with"), "notes: '%s'", notes_of(&r));
    run_close(&r);

    const char *digest = use_other_table();
    r = new_run();
    set(&r, "plan", path);
    run_open(&r);
    cr_expect_not_null(strstr(notes_of(&r), "planned with table of choices "), "notes: '%s'", notes_of(&r));
    snprintf(wanted, sizeof wanted, ", here %s\n", digest);
    cr_expect_not_null(strstr(notes_of(&r), wanted), "notes: '%s'", notes_of(&r));
    run_close(&r);
    unlink(path);
}

Test(choice_table, of_a_checkpoint_is_noted) {
    char folder[PATH_BYTES];
    scratch_path(folder, "checkpoint");
    run r = new_run();
    set(&r, "checkpoint", folder);
    set(&r, "checkpoint-every", "1");
    run_open(&r);
    (void)run_step(&r);
    run_close(&r);

    const char *digest = use_other_table();
    r = new_run();
    set(&r, "checkpoint", folder);
    set(&r, "checkpoint-every", "1");
    set(&r, "resume", "true");
    run_open(&r);
    cr_expect_not_null(strstr(notes_of(&r), "computed by other kernels"), "notes: '%s'", notes_of(&r));
    cr_expect_not_null(strstr(notes_of(&r), digest), "notes: '%s'", notes_of(&r));
    run_close(&r);
}

/* runtime/checkpoint/removal.h: names go at once, space when it is waited for. */
#include <criterion/criterion.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/checkpoint/removal.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(removal, .init = scratch_make, .fini = scratch_remove);

/* What this process keeps open. */
static int descriptors(void) { return scratch_count("/proc/self/fd", ""); }

static void add_files(ons_removal *removal, int count) {
    char name[] = "0.data";
    for (int i = 0; i < count; ++i, ++name[0]) {
        scratch_write(scratch_path(name), "x", 1);
        ons_removal_add(removal, scratch_path(name));
    }
}

Test(removal, names_go_at_once_and_space_later) {
    int before = descriptors();
    for (int round = 0; round < 3; ++round) {
        ons_removal removal = {0};
        add_files(&removal, 3);
        cr_expect_eq(scratch_count(scratch_path(""), ".data"), 0);
        cr_expect_geq(descriptors(), before + 3, "what has no name is held");
        ons_removal_end(&removal);
    }
    ons_removal_wait();
    cr_expect_eq(descriptors(), before);
    ons_removal_wait();
}

Test(removal, what_is_not_there_and_what_is_pointed_to) {
    int before = descriptors();
    ons_removal removal = {0};
    scratch_write(scratch_path("kept"), "x", 1);
    cr_assert_eq(symlink("kept", scratch_path("link")), 0);
    ons_removal_add(&removal, scratch_path("missing"));
    ons_removal_add(&removal, scratch_path("link"));
    ons_removal_end(&removal);
    ons_removal_wait();
    cr_expect_eq(scratch_count(scratch_path(""), "link"), 0);
    cr_expect_eq(scratch_count(scratch_path(""), "kept"), 1);
    cr_expect_eq(descriptors(), before);
}

Test(removal, without_a_descriptor_to_spare) {
    scratch_write(scratch_path("0.data"), "x", 1);
    ons_removal removal = {0};
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 4096});
    ons_removal_add(&removal, scratch_path("0.data"));
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){4096, 4096});
    cr_expect_eq(removal.held.count, 0);
    cr_expect_eq(scratch_count(scratch_path(""), ".data"), 0);
    ons_removal_end(&removal);
}

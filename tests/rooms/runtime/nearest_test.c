/* base/nearest.h: which name is taken for the one that was meant. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/nearest.h"

static const char *meant(const char *typed, const char *const *names) {
    static ons_nearest nearest;
    nearest = ons_nearest_to(typed);
    for (; *names != NULL; ++names) ons_nearest_try(&nearest, *names);
    return nearest.best == NULL ? "" : nearest.best;
}

static const char *const options[] = {"batch", "beta1", "beta2", "memory", "metric", "lr", "micro-batches", NULL};

Test(nearest, changed_added_left_out_exchanged) {
    cr_assert_str_eq(meant("bitch", options), "batch");
    cr_assert_str_eq(meant("memmory", options), "memory");
    cr_assert_str_eq(meant("metic", options), "metric");
    cr_assert_str_eq(meant("bacth", options), "batch");
    cr_assert_str_eq(meant("micro_batchs", options), "micro-batches");
}

Test(nearest, first_of_equals) { cr_assert_str_eq(meant("beta3", options), "beta1"); }

Test(nearest, nothing_is_near) {
    cr_assert_str_eq(meant("frobnicate", options), "");
    cr_assert_str_eq(meant("", options), "");
    cr_assert_str_eq(meant("xy", options), "");
}

Test(nearest, long_names_are_passed_over) {
    char typed[2 * ONS_NEAREST_LENGTH_MAX];
    memset(typed, 'a', sizeof typed - 1);
    typed[sizeof typed - 1] = '\0';
    const char *const one[] = {typed + 1, NULL};
    cr_assert_str_eq(meant(typed, one), "");
    const char *const most[] = {typed + ONS_NEAREST_LENGTH_MAX - 1, NULL}; /* exactly as long as is looked at */
    cr_assert_str_eq(meant(typed + ONS_NEAREST_LENGTH_MAX - 1, most), most[0]);
}

Test(nearest, the_hint_ends_a_sentence) {
    ons_nearest nearest = ons_nearest_to("bacth");
    cr_assert_str_eq(ons_nearest_hint(&nearest), "");
    ons_nearest_try(&nearest, "batch");
    cr_assert_str_eq(ons_nearest_hint(&nearest), " (did you mean 'batch'?)");
}

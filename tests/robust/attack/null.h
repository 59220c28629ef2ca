/* Expectations of functions that are given NULL. */
#ifndef ONSTAGE_TESTS_ROBUST_ATTACK_NULL_H
#define ONSTAGE_TESTS_ROBUST_ATTACK_NULL_H

#include <criterion/criterion.h>
#include <string.h>

#include "include/onstage.h"

static void refused(ons_status *status, const char *function, const char *argument) {
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT, "%s takes NULL for '%s'", function, argument);
    const char *message = ons_status_get_message(status);
    cr_expect_not_null(strstr(message, function), "%s lacks %s", message, function);
    cr_expect_not_null(strstr(message, argument), "%s lacks %s", message, argument);
    ons_status_free(status);
}

/* Something that is not NULL and must not be looked at. */
static char place[256];
#define SOME ((void *)place)

#endif

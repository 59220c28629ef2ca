/* base/environment.h: the program's own variables take the words that their table has. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "engine/config/config.h"

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static void must_refuse(ons_status *status, const char *name, const char *value, const char *values) {
    cr_assert_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT, "%s=%s is taken", name, value);
    const char *message = ons_status_get_message(status);
    cr_expect(strstr(message, name) != NULL && strstr(message, value) != NULL && strstr(message, values) != NULL, "%s",
              message);
    ons_status_free(status);
}

static bool is_checked(const ons_variable_description *v) {
    return strncmp(v->name, "ONSTAGE_", 8) == 0 && strchr(v->values, '|') != NULL;
}

Test(environment, each_word_of_the_table_is_taken) {
    for (size_t i = 0; i < ONS_VARIABLE_COUNT; ++i) {
        if (!is_checked(&ons_variables[i])) continue;
        char words[64], *rest = NULL;
        cr_assert_lt(snprintf(words, sizeof words, "%s", ons_variables[i].values), sizeof words);
        for (char *word = strtok_r(words, "|", &rest); word != NULL; word = strtok_r(NULL, "|", &rest)) {
            setenv(ons_variables[i].name, word, 1);
            must(ons_environment_check());
        }
        setenv(ons_variables[i].name, "", 1);
        must(ons_environment_check());
        unsetenv(ons_variables[i].name);
    }
}

Test(environment, another_word_is_refused) {
    static const char *const others[] = {"maybe", "o", "of", "offf", "on|off", "|", "ON"};
    uint32_t checked = 0;
    for (size_t i = 0; i < ONS_VARIABLE_COUNT; ++i)
        for (size_t k = 0; k < sizeof others / sizeof *others && is_checked(&ons_variables[i]); ++k, ++checked) {
            setenv(ons_variables[i].name, others[k], 1);
            must_refuse(ons_environment_check(), ons_variables[i].name, others[k], ons_variables[i].values);
            unsetenv(ons_variables[i].name);
        }
    cr_expect_gt(checked, 0);
}

/* A library's own are the library's business. */
Test(environment, variables_of_others_are_left_alone) {
    setenv("OMP_WAIT_POLICY", "maybe", 1);
    must(ons_environment_check());
}

Test(environment, a_run_refuses_it_before_anything_else) {
    ons_config *config;
    setenv("ONSTAGE_MPI_READS", "maybe", 1);
    must_refuse(ons_config_new(&config), "ONSTAGE_MPI_READS", "maybe", "on|off");
    setenv("ONSTAGE_MPI_READS", "off", 1);
    must(ons_config_new(&config));
    ons_config_free(config);
}

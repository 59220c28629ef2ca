/* Every pointer that a public function takes, as NULL: refused with a message that names it. */
#include "tests/robust/attack/null.h"

Test(null, configuration) {
    ons_config *config = NULL;
    ons_array_view array = {.element_type = ONS_ELEMENT_FLOAT32, .rank = 1};
    int64_t dims[] = {1};
    refused(ons_config_new(NULL), "ons_config_new", "config");
    cr_assert_null(ons_config_new(&config));
    refused(ons_config_set(NULL, "batch", "1"), "ons_config_set", "config");
    refused(ons_config_set(config, NULL, "1"), "ons_config_set", "option");
    refused(ons_config_set(config, "batch", NULL), "ons_config_set", "value");
    refused(ons_config_array(NULL, "x", false, &array), "ons_config_array", "config");
    refused(ons_config_array(config, NULL, false, &array), "ons_config_array", "name");
    refused(ons_config_array(config, "x", false, NULL), "ons_config_array", "array");
    refused(ons_config_array(config, "x", false, &array), "ons_config_array", "dims");
    array.dims = dims;
    refused(ons_config_array(config, "x", false, &array), "ons_config_array", "data");
    cr_expect_null(ons_config_get(NULL, "loss"));
    cr_expect_null(ons_config_get(config, NULL));
    cr_expect_not(ons_config_is_changed(NULL, "loss") || ons_config_is_changed(config, NULL));
    ons_config_free(config);
    ons_config_free(NULL);
}

Test(null, models) {
    refused(ons_model_load(NULL, NULL, SOME), "ons_model_load", "path");
    refused(ons_model_load("x", NULL, NULL), "ons_model_load", "model");
    refused(ons_model_check(NULL, SOME, SOME), "ons_model_check", "path");
    refused(ons_model_check("x", NULL, SOME), "ons_model_check", "config");
    refused(ons_model_check("x", SOME, NULL), "ons_model_check", "check");
    refused(ons_model_inspect(NULL, SOME, SOME), "ons_model_inspect", "model");
    refused(ons_model_inspect(SOME, NULL, SOME), "ons_model_inspect", "config");
    refused(ons_model_inspect(SOME, SOME, NULL), "ons_model_inspect", "inspection");
    refused(ons_model_evaluate(NULL, SOME, NULL, NULL, SOME), "ons_model_evaluate", "model");
    refused(ons_model_evaluate(SOME, NULL, NULL, NULL, SOME), "ons_model_evaluate", "config");
    refused(ons_model_evaluate(SOME, SOME, NULL, NULL, NULL), "ons_model_evaluate", "evaluation");
    refused(ons_model_profile(NULL, SOME, NULL, NULL, SOME), "ons_model_profile", "model");
    refused(ons_model_profile(SOME, NULL, NULL, NULL, SOME), "ons_model_profile", "config");
    refused(ons_model_profile(SOME, SOME, NULL, NULL, NULL), "ons_model_profile", "profile");
    refused(ons_profile_write(NULL, "x"), "ons_profile_write", "profile");
    refused(ons_profile_write(SOME, NULL), "ons_profile_write", "path");
    ons_model_free(NULL);
    ons_check_free(NULL);
    ons_inspection_free(NULL);
    ons_profile_free(NULL);
}

Test(null, training) {
    refused(ons_trainer_new(NULL, SOME, SOME), "ons_trainer_new", "model");
    refused(ons_trainer_new(SOME, NULL, SOME), "ons_trainer_new", "config");
    refused(ons_trainer_new(SOME, SOME, NULL), "ons_trainer_new", "trainer");
    refused(ons_trainer_step(NULL, SOME), "ons_trainer_step", "trainer");
    refused(ons_trainer_step(SOME, NULL), "ons_trainer_step", "report");
    refused(ons_trainer_evaluate(NULL, SOME), "ons_trainer_evaluate", "trainer");
    refused(ons_trainer_evaluate(SOME, NULL), "ons_trainer_evaluate", "evaluation");
    refused(ons_trainer_save(NULL, "x"), "ons_trainer_save", "trainer");
    refused(ons_trainer_checkpoint(NULL), "ons_trainer_checkpoint", "trainer");
    refused(ons_trainer_finish(NULL), "ons_trainer_finish", "trainer");
    refused(ons_trainer_get_status(NULL, SOME), "ons_trainer_get_status", "trainer");
    refused(ons_trainer_get_status(SOME, NULL), "ons_trainer_get_status", "status");
    refused(ons_trainer_get_stage(NULL, 0, SOME), "ons_trainer_get_stage", "trainer");
    refused(ons_trainer_get_stage(SOME, 0, NULL), "ons_trainer_get_stage", "report");
    refused(ons_trainer_read(NULL, "w", SOME, 1), "ons_trainer_read", "trainer");
    refused(ons_trainer_read(SOME, NULL, SOME, 1), "ons_trainer_read", "initialiser");
    refused(ons_trainer_read(SOME, "w", NULL, 1), "ons_trainer_read", "values");
    cr_expect(ons_trainer_done(NULL));
    cr_expect_not(ons_trainer_stopping(NULL));
    cr_expect_eq(ons_trainer_stage_count(NULL), 0);
    ons_trainer_request_stop(NULL);
    ons_trainer_free(NULL);
}

Test(null, plans) {
    refused(ons_planning_new(NULL, NULL, SOME), "ons_planning_new", "config");
    refused(ons_planning_new(NULL, SOME, NULL), "ons_planning_new", "planning");
    refused(ons_planning_write(NULL, "x"), "ons_planning_write", "planning");
    refused(ons_planning_write(SOME, NULL), "ons_planning_write", "path");
    refused(ons_replay_new(NULL, SOME, SOME), "ons_replay_new", "path");
    refused(ons_replay_new("x", NULL, SOME), "ons_replay_new", "config");
    refused(ons_replay_new("x", SOME, NULL), "ons_replay_new", "replay");
    cr_expect_str_eq(ons_planning_text(NULL), "");
    cr_expect_str_eq(ons_replay_text(NULL), "");
    ons_planning_free(NULL);
    ons_replay_free(NULL);
}

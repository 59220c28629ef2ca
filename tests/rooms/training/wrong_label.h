/* A label that there is not, in training that updates in stages or not, here or on a device. */
#ifndef ONSTAGE_TESTS_ROOMS_TRAINING_WRONG_LABEL_H
#define ONSTAGE_TESTS_ROOMS_TRAINING_WRONG_LABEL_H

/* The golden model mlp finds it in step 3, tells step, node and label, and has changed no weight. `options`: further
 * ones as pairs, NULL ends them; `what` is for the message. */
void expect_wrong_label_changes_nothing(const char *const *options, const char *what);

#endif

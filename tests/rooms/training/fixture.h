/* Training the golden models through the public interface: what the tests of whole training runs share. */
#ifndef ONSTAGE_TESTS_ROOMS_TRAINING_FIXTURE_H
#define ONSTAGE_TESTS_ROOMS_TRAINING_FIXTURE_H

#include "base/json.h"
#include "include/onstage.h"

enum { PATH_BYTES = 512 };

/* Fails the test with the status's message. */
void must(ons_status *status);
/* Fails the test unless `status` is of this kind and all words (NULL ends them) are in its message. Frees the status.
 */
void must_fail(ons_status *status, ons_status_code code, ...) __attribute__((sentinel));

/* A path in the test's own folder; ends with the program's id, so that no two tests meet. */
void scratch_path(char path[static PATH_BYTES], const char *name);

typedef struct run {
    char model_path[PATH_BYTES];
    ons_config *config;
    ons_model *model;     /* NULL before run_open */
    ons_trainer *trainer; /* NULL before run_open */
} run;

/* Options as golden.json has them: data, loss, batch, no shuffling; optimiser and steps are the caller's. */
run run_golden(const char *model);
/* Options of golden.json but for the data. */
run run_without_data(const char *model);
void set(const run *r, const char *option, const char *value);
void set_number(const run *r, const char *option, long long value);
/* Loads the model and makes the trainer. */
void run_open(run *r);
ons_status *run_try_open(run *r);
ons_step_report run_step(const run *r);
void run_close(run *r);

/* The file tests/agreement/golden/MODEL/golden.json; freed with ons_json_free. */
ons_json *read_golden(const char *model);

/* All trained weights and running statistics, one after the other in the order of the file. */
typedef struct weights {
    float *values;
    size_t count;
} weights;
weights read_weights(const run *r);
void weights_free(weights *w);
bool weights_equal(const weights *a, const weights *b); /* to the bit */

/* Lines of a log, each a JSON object. */
typedef struct log_lines {
    ons_json **items;
    size_t count;
} log_lines;
log_lines read_log(const char *path);
void log_free(log_lines *log);
double log_number(const log_lines *log, size_t line, const char *name);

/* The rows of an .npy file with float32 or int64 elements, read into memory of the caller. */
typedef struct array {
    ons_array_view view;
    int64_t dims[8];
    void *data;
    size_t bytes;
} array;
array read_npy(const char *path);
void array_free(array *a);

/* Whole contents of a file. */
typedef struct contents {
    unsigned char *bytes;
    size_t size;
} contents;
contents read_file(const char *path);
bool same_contents(const char *left, const char *right);

#endif

/* Files that a run writes, checked before it begins: hours of work must not end with a result that cannot be written,
 * or that has taken the place of the data. */
#ifndef ONSTAGE_ENGINE_MODEL_RESULTS_H
#define ONSTAGE_ENGINE_MODEL_RESULTS_H

#include "engine/model/model.h"

/* Fails with the option named where a file cannot be written (its folder is missing or locked, it is a folder itself),
 * or where it is one that the run reads. --out may take the place of the model. */
ons_status *ons_check_results(const ons_model *model, const ons_config *config);
/* A single result, and the file `reads` that it must not take the place of; the message calls its reader `reader`. */
ons_status *ons_check_output(const char *option, const char *path, const char *reader, const char *reads);
/* What `onstage simulate` writes: none of it takes the place of the plan, or of another. */
ons_status *ons_check_replay(const char *plan, const ons_config *config);
/* What `onstage plan` and `onstage profile` write, --out and --report: neither takes the place of a file that they
 * read. `model` is NULL for a cost graph. */
ons_status *ons_check_report(const ons_model *model, const ons_config *config);

/* Whether both paths lead to one regular file: devices and pipes hold something else each time. */
bool ons_is_same_file(const char *left, const char *right);

#endif

/* Whether any split of a model's nodes fits without memory optimisation: what no search can better. */
#ifndef ONSTAGE_BENCH_PAPER_SPLITS_H
#define ONSTAGE_BENCH_PAPER_SPLITS_H

#include "bench/paper_models.h"

/* In the file's order of the nodes and in those that the planner tries: a stage after the other, from every place where
 * the one before can end. A stage is not made longer once it needs half as much again as a device has, although a
 * longer one may need a little less. */
ons_status *paper_any_split_fits(paper_model *model, const ons_generator *kind, uint32_t stages, int64_t rows,
                                 bool *fits);

/* MODEL STAGES SCHEDULE FROM TO [STEP]: a line for each micro-batch. */
ons_status *paper_splits_print(int count, char **arguments, const char *profile);

#endif

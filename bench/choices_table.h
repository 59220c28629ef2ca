/* What bench/choices.c has measured, and the table that follows from it (kernels/common/choice/table.inc). */
#ifndef ONSTAGE_BENCH_CHOICES_TABLE_H
#define ONSTAGE_BENCH_CHOICES_TABLE_H

#include "base/status.h"
#include "base/vector.h"
#include "kernels/common/choice/choices.h"

/* A question and how long its ways took, over the time of the rule's way: the worst of all times that it was measured.
 * 0: not possible. */
typedef struct ons_choice_result {
    ons_choice_question question;
    double shares[ONS_WAY_COUNT];
} ons_choice_result;

typedef struct ons_choice_results {
    ONS_VECTOR(ons_choice_result) all;
} ons_choice_results;

/* The share below which a way is ahead of the rule beyond noise. */
#define ONS_CHOICE_AHEAD 0.95

/* The fastest way that is ahead of the rule every time; the rule where there is none. */
ons_way ons_choice_winner(const ons_choice_result *result);

/* Writes the whole table: entries of other machines and of questions that were not measured stay as they are. Sizes
 * near each other share an entry where a way is ahead for one of them and behind for none. */
ons_status *ons_choice_table_write(const char *path, const ons_choice_results *results);

#endif

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
    double seconds; /* that the rule's way took at least */
} ons_choice_result;

typedef struct ons_choice_results {
    ONS_VECTOR(ons_choice_result) all;
} ons_choice_results;

/* A way is ahead of the rule where its share is no more than that, beyond noise, and what it saves worth an entry. */
#define ONS_CHOICE_AHEAD       0.95
#define ONS_CHOICE_WORTH_SAVED 1e-5 /* seconds */

/* The fastest way that is ahead of the rule every time; the rule where there is none. */
ons_way ons_choice_winner(const ons_choice_result *result);

typedef struct ons_choice_entries {
    ONS_VECTOR(ons_choice_entry) all;
} ons_choice_entries;

/* The old table with what was measured for a variant and a version of oneDNN, in order; the caller frees its items,
 * whose texts are those of `old` and the caller's. Entries of others and of questions that were not measured stay.
 * Sizes near each other share an entry where a way is ahead for one of them and behind for none. */
ons_status *ons_choice_table_merge(const ons_choice_table *old, const ons_choice_results *results, const char *variant,
                                   const char *onednn, ons_choice_entries *merged);

/* The file that the program includes. */
ons_status *ons_choice_table_write(const char *path, const ons_choice_entries *entries);

#endif

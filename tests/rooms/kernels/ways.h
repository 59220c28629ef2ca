/* The ways in which a case's node can be computed (kernels/common/choice/choices.h), and a table that has it computed
 * in one of them. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_WAYS_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_WAYS_H

#include "kernels/common/choice/choices.h"
#include "tests/rooms/kernels/fixture.h"

enum { ONS_QUESTIONS_MAX = 16 };

typedef struct ons_questions {
    uint32_t count;
    ons_choice_question items[ONS_QUESTIONS_MAX];
    ons_way ways[ONS_QUESTIONS_MAX]; /* that the committed table gives, or the rule */
} ons_questions;

bool ons_questions_are_same(const ons_choice_question *a, const ons_choice_question *b);

/* What the node asks the table while its layouts are chosen and it is prepared, each question once, on the CPU. The
 * committed table is in use before and after. */
ons_status *ons_questions_of(ons_fixture *fixture, int threads, ons_questions *questions);

/* A table that answers the question with this way, and others as the committed one does; in `arena`. */
ons_status *ons_table_with_way(ons_arena *arena, const ons_choice_question *question, ons_way way,
                               ons_choice_table *table);

#endif

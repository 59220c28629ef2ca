/* Which of several ways computes a node, where more than one can (choices.inc).
 *
 * What decides is a table that was measured beforehand (table.inc, written by bench/choices.c), and for what it does
 * not have the rule that the kernel brings. Nothing is timed when a program is made or runs: the same build, machine,
 * threads and shapes have the same ways, and so the same bits.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CHOICE_CHOICES_H
#define ONSTAGE_KERNELS_COMMON_CHOICE_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/at_least.h"

enum { ONS_CHOICE_SIZES = 8 };

typedef enum ons_choice_point {
#define ONS_CHOICE(POINT, SIZES) ONS_CHOICE_##POINT,
#define ONS_WAY(POINT, WAY)
#include "kernels/common/choice/choices.inc"
#undef ONS_CHOICE
#undef ONS_WAY
    ONS_CHOICE_COUNT
} ons_choice_point;

/* The ways of all choices. */
typedef enum ons_way {
#define ONS_CHOICE(POINT, SIZES)
#define ONS_WAY(POINT, WAY) ONS_##POINT##_##WAY,
#include "kernels/common/choice/choices.inc"
#undef ONS_CHOICE
#undef ONS_WAY
    ONS_WAY_COUNT
} ons_way;

typedef struct ons_choice_description {
    const char *name, *sizes; /* "PRODUCT", "batch m n k …" */
} ons_choice_description;
extern const ons_choice_description ons_choice_points[ONS_CHOICE_COUNT];

typedef struct ons_way_description {
    ons_choice_point point;
    const char *name; /* "SGEMM" */
} ons_way_description;
extern const ons_way_description ons_ways[ONS_WAY_COUNT];

/* A set of ways. */
#define ONS_WAY_BIT(WAY) (1u << (WAY))

typedef struct ons_choice_question {
    ons_choice_point point;
    int threads; /* that compute the node; 0: not known yet */
    int64_t sizes[ONS_CHOICE_SIZES];
    uint32_t possible; /* bits of the ways that can compute the node */
    ons_way rule;      /* the way, of those possible, for nodes that the table does not have */
} ons_choice_question;

/* The way of the first entry of the table that has exactly these sizes, else of the first one whose sizes are near,
 * among those of this variant of our kernels, this version of oneDNN, about as many threads, and of ways that are
 * possible; else the rule. */
ons_way ons_choose(const ons_choice_question *question);

/* ------------------------------------------------------------------------------------------------------- the table */

typedef struct ons_choice_entry {
    const char *variant, *onednn; /* "v4", "2.6.3" */
    int threads;
    bool near; /* stands for sizes like these, too, not for these alone */
    ons_way way;
    int64_t sizes[ONS_CHOICE_SIZES];
    double share; /* for people: the way's time over that of the rule's when it was measured */
} ons_choice_entry;

typedef struct ons_choice_table {
    const ons_choice_entry *entries;
    size_t count;
    /* For who measures: told of every question that more than one way could answer. NULL: nobody. */
    void (*asked)(void *context, const ons_choice_question *question, ons_way way);
    void *context;
} ons_choice_table;

/* The committed one. */
const ons_choice_table *ons_choice_table_committed(void);

/* What a table's way is for this question, as ons_choose says for this machine's variant and oneDNN. */
ons_way ons_choice_find(const ons_choice_table *table, const char *variant, const char *onednn,
                        const ons_choice_question *question);

/* Two numbers are near each other where the same power of two is nearest to both by ratio; 0 and 1 to themselves. */
int ons_choice_bucket(int64_t number);
bool ons_choice_near(const int64_t a[ONS_AT_LEAST(ONS_CHOICE_SIZES)], const int64_t b[ONS_AT_LEAST(ONS_CHOICE_SIZES)]);

/* Digest of the entries that hold for a variant and a version of oneDNN, in eight hexadecimal digits; "none" where
 * there are none, so that what was measured for other machines changes nothing. */
enum { ONS_CHOICE_DIGEST_TEXT = 16 };
void ons_choice_table_digest(const ons_choice_table *table, const char *variant, const char *onednn,
                             char text[ONS_AT_LEAST(ONS_CHOICE_DIGEST_TEXT)]);

/* For tests and for who measures, before anything else asks: this table instead of the committed one; NULL: that one
 * again. `table` is the caller's and stays. */
void ons_choice_table_replace(const ons_choice_table *table);
/* The one in use. */
const ons_choice_table *ons_choice_table_used(void);

#endif

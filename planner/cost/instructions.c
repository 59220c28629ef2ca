#include "planner/cost/instructions.h"

#include <math.h>
#include <string.h>

/* The sets of the survey, in the order of its columns. */
#define SET(NAME, FLOPS, BANDWIDTH) COLUMN_##NAME,
#define NODE(OPERATOR, MATRIX, FLOPS, BYTES, WRITTEN, ...)
enum {
#include "planner/cost/instruction_survey.inc"
    COLUMNS
};
#undef SET
#undef NODE

#define SET(NAME, FLOPS, BANDWIDTH) {#NAME, FLOPS, BANDWIDTH, COLUMN_##NAME},
#define NODE(OPERATOR, MATRIX, FLOPS, BYTES, WRITTEN, ...)
static const ons_instruction_set sets[] = {
#include "planner/cost/instruction_survey.inc"
};
#undef SET
#undef NODE

#define SET(NAME, FLOPS, BANDWIDTH)
#define NODE(OPERATOR, MATRIX, FLOPS, BYTES, WRITTEN, ...)                                                             \
    {OPERATOR, {.flops = FLOPS, .bytes = BYTES, .written = WRITTEN, .matrix = MATRIX}, {__VA_ARGS__}},
static const struct surveyed {
    const char *operator_name;
    ons_node_amount amount;
    double seconds[COLUMNS];
} nodes[] = {
#include "planner/cost/instruction_survey.inc"
};
#undef SET
#undef NODE

enum { NODES = sizeof nodes / sizeof nodes[0] };

const ons_instruction_set *ons_instruction_set_find(const char *name) {
    for (int i = 0; name != NULL && i < COLUMNS; ++i)
        if (strcmp(sets[i].name, name) == 0) return &sets[i];
    return NULL;
}

/* In powers of 2; 0 and 1 are the same. */
static double gap(double a, double b) { return log2((a + 1) / (b + 1)); }

/* By how large they are, how much is computed for a byte, and how much of it is written. Falls with the fourth power of
 * the distance, so that many problems far away do not outweigh a few near ones; within half a power of 2 all count
 * alike, which is the grain of the table. */
static double nearness(const ons_node_amount *a, const ons_node_amount *b) {
    double size = gap(a->bytes, b->bytes), intensity = gap(a->flops, b->flops) - size;
    double written = gap(a->written, b->written) - size;
    double squares = 0.25 + size * size + intensity * intensity + written * written;
    return 1 / (squares * squares);
}

static bool is_surveyed(const char *operator_name) {
    for (int i = 0; i < NODES; ++i)
        if (strcmp(nodes[i].operator_name, operator_name) == 0) return true;
    return false;
}

/* Every problem counts as long as every other, however long it takes, and as long there and back. One that is there
 * with the one set alone takes nothing with the other. */
double ons_instructions_factor(const ons_instruction_set *from, const ons_instruction_set *to,
                               const char *operator_name, const ons_node_amount *amount) {
    bool known = is_surveyed(operator_name);
    double before = 0, after = 0;
    for (int i = 0; i < NODES; ++i) {
        bool counts =
            known ? strcmp(nodes[i].operator_name, operator_name) == 0 : nodes[i].amount.matrix == amount->matrix;
        if (!counts) continue;
        double old = nodes[i].seconds[from->column], new = nodes[i].seconds[to->column];
        double weight = nearness(&nodes[i].amount, amount) / (old + new);
        before += weight * old;
        after += weight * new;
    }
    return before > 0 && after > 0 ? after / before : 1;
}

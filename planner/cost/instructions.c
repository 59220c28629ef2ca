#include "planner/cost/instructions.h"

#include <math.h>
#include <string.h>

enum { SETS_MOST = 3 };

/* A problem, and what it takes with each set of its survey, in their order. */
typedef struct surveyed {
    const char *operator_name;
    ons_node_amount amount;
    double seconds[SETS_MOST];
} surveyed;

#define SET(NAME, FLOPS, BANDWIDTH) {#NAME, FLOPS, BANDWIDTH},
#define NODE(OPERATOR, MATRIX, FLOPS, BYTES, WRITTEN, ...)
static const ons_instruction_set amd_epyc_sets[] = {
#include "planner/cost/surveys/amd_epyc.inc"
};
static const ons_instruction_set intel_xeon_sets[] = {
#include "planner/cost/surveys/intel_xeon.inc"
};
#undef SET
#undef NODE

#define SET(NAME, FLOPS, BANDWIDTH)
#define NODE(OPERATOR, MATRIX, FLOPS, BYTES, WRITTEN, ...)                                                             \
    {OPERATOR, {.flops = FLOPS, .bytes = BYTES, .written = WRITTEN, .matrix = MATRIX}, {__VA_ARGS__}},
static const surveyed amd_epyc_nodes[] = {
#include "planner/cost/surveys/amd_epyc.inc"
};
static const surveyed intel_xeon_nodes[] = {
#include "planner/cost/surveys/intel_xeon.inc"
};
#undef SET
#undef NODE

#define COUNT_OF(ARRAY) ((int)(sizeof(ARRAY) / sizeof(ARRAY)[0]))
#define SURVEY(MACHINE)                                                                                                \
    { MACHINE##_sets, COUNT_OF(MACHINE##_sets), MACHINE##_nodes, COUNT_OF(MACHINE##_nodes) }

static const struct ons_instruction_survey {
    const ons_instruction_set *sets;
    int set_count;
    const surveyed *nodes;
    int node_count;
} surveys[] = {SURVEY(amd_epyc), SURVEY(intel_xeon)};

static const ons_instruction_set *find_set(const struct ons_instruction_survey *survey, const char *name) {
    for (int i = 0; name != NULL && i < survey->set_count; ++i)
        if (strcmp(survey->sets[i].name, name) == 0) return &survey->sets[i];
    return NULL;
}

bool ons_instruction_change_find(const char *from, const char *to, double gain, ons_instruction_change *change) {
    double nearest = INFINITY;
    for (int i = 0; i < COUNT_OF(surveys); ++i) {
        const ons_instruction_set *old = find_set(&surveys[i], from), *new = find_set(&surveys[i], to);
        if (old == NULL || new == NULL) continue;
        double distance = fabs(log(new->matrix_flops / old->matrix_flops / gain));
        if (distance >= nearest) continue;
        nearest = distance;
        *change = (ons_instruction_change){&surveys[i], old, new};
    }
    return isfinite(nearest);
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

static bool is_surveyed(const struct ons_instruction_survey *survey, const char *operator_name) {
    for (int i = 0; i < survey->node_count; ++i)
        if (strcmp(survey->nodes[i].operator_name, operator_name) == 0) return true;
    return false;
}

/* Every problem counts as long as every other, however long it takes, and as long there and back. One that is there
 * with the one set alone takes nothing with the other. */
double ons_instruction_change_factor(const ons_instruction_change *change, const char *operator_name,
                                     const ons_node_amount *amount) {
    const struct ons_instruction_survey *survey = change->survey;
    bool known = is_surveyed(survey, operator_name);
    double before = 0, after = 0;
    for (int i = 0; i < survey->node_count; ++i) {
        const surveyed *node = &survey->nodes[i];
        bool counts = known ? strcmp(node->operator_name, operator_name) == 0 : node->amount.matrix == amount->matrix;
        if (!counts) continue;
        double old = node->seconds[change->from - survey->sets], new = node->seconds[change->to - survey->sets];
        double weight = nearness(&node->amount, amount) / (old + new);
        before += weight * old;
        after += weight * new;
    }
    return before > 0 && after > 0 ? after / before : 1;
}

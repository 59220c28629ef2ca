/* Random training graphs: views of views, nodes of several outputs, weights and branches shared, statistics, dropout,
 * what the host reads from any place; some in half types, with half weights that updates write. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_CUT_RANDOM_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_CUT_RANDOM_H

#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/graph/fixture.h"

enum { CUT_RANDOM_VALUES = 64, CUT_RANDOM_WEIGHTS = 64, CUT_RANDOM_KEPT = 8 };

typedef struct cut_random {
    scene *s;
    cut_case c;                             /* with graph, arena, random numbers and place for stages */
    ons_value_id values[CUT_RANDOM_VALUES]; /* of the forward part, all of one shape */
    uint32_t value_count;
    ons_value_id weights[CUT_RANDOM_WEIGHTS];
    uint32_t weight_count;
    ons_value_id kept[CUT_RANDOM_KEPT]; /* what the host reads; the first is the loss */
    uint32_t kept_count;
} cut_random;

cut_random cut_random_open(uint64_t seed);
void cut_random_close(cut_random *m);

/* By origin, as a planner would, or anyhow. */
void cut_random_choose_stages(cut_random *m, uint32_t stages);

#endif

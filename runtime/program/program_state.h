/* What the files of a program share (program.c, program_run.c); nobody else includes this. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_PROGRAM_STATE_H
#define ONSTAGE_RUNTIME_PROGRAM_PROGRAM_STATE_H

#include "runtime/program/launch_groups.h"
#include "runtime/program/program.h"

typedef struct prepared {
    const ons_kernel *kernel; /* NULL: nothing runs */
    void *state;
    void (*destroy)(void *state);
    const char *implementation;
    const ons_operands *operands;
} prepared;

typedef struct launch {
    const ons_kernel *kernel;
    ons_node_id node;
    uint32_t position;
    uint64_t node_key;
    const void **inputs;
    void **outputs;
    void *scratch;
    const void *state;
    bool moves;     /* some operand has several places */
    uint32_t end;   /* launches up to there can be one launch with it */
    double touched; /* bytes */
} launch;

/* What chooses among the places of a buffer. */
typedef enum place_kind { PLACE_FIXED, PLACE_BY_SLOT, PLACE_IN_RING, PLACE_BY_VERSION } place_kind;

typedef struct place {
    char *first;
    int64_t stride;
    uint32_t count;
    place_kind kind;
} place;

struct ons_program {
    ons_arena *arena;
    const ons_graph *graph;
    const ons_registry *registry;
    prepared *prepared; /* of each node */
    int64_t *scratch;   /* of each node */
    bool *idle;         /* of each node: it does not run */
    ons_execution_order execution_order;
    ons_liveness liveness;
    ons_arena_layout layout;
    const ons_backend *backend;
    bool discrete_memory;
    ons_update_shard shard;
    int64_t *held_elements; /* of each value, see ons_liveness_options; NULL: all */
    uint32_t versions;
    bool *versioned; /* of each buffer */
    uint32_t *rings; /* of each buffer */
    launch *launches;
    uint32_t launch_count;
    uint32_t *launch_at; /* of each position, and of the end: the first launch from there on */
    ons_launch_groups launch_groups;
    ons_launch *launch_group; /* for the largest group */
    const ons_halves *halves; /* NULL: the program is no half */
    uint32_t half;
    const ons_program *whole;
    bool *own;     /* of each buffer of a half: it lies in the forward part's scratch memory */
    place *places; /* of each buffer */
    void *transient;
    /* Under the address sanitizer alone (runtime/program/poison.h): buffers by the position behind which nobody needs
     * them, and where those of each position begin among them. NULL: nothing is poisoned. */
    ons_buffer_id *dying;
    uint32_t *dying_at;
};

/* Tests whether the node is an update that other replicas compute other slices of. */
static inline bool ons_program_divides(const ons_program *p, const ons_node *node) {
    return ons_update_shard_divides(&p->shard) && ons_update_shard_takes(node);
}

/* Tests whether a node that a step runs makes the value. */
static inline bool ons_program_makes(const ons_program *p, ons_value_id value) {
    ons_node_id maker = ons_graph_value(p->graph, value)->producer;
    return maker != ONS_NONE && ons_program_runs(p, maker);
}

/* Bytes that a scratch buffer has in excess, as the backend may want its beginning at multiples of more than those at
 * which buffers begin; 0 where it wants less. */
static inline int64_t ons_program_scratch_slack(const ons_program *p) {
    int64_t wanted = p->backend->scratch_alignment;
    return wanted > ONS_ARENA_ALIGNMENT ? wanted - ONS_ARENA_ALIGNMENT : 0;
}

/* Finds where a buffer lies; `fresh`: the version that an update writes. */
void *ons_program_buffer_address(const ons_program *p, ons_buffer_id id, const ons_part_place *part_place, bool fresh);

/* program_poison.c. The last two do nothing where the program poisons nothing; `part_place` NULL: the first. */
ons_status *ons_program_note_deaths(ons_program *p, const ons_program_options *options);
/* What a launch writes holds something from here on. */
void ons_program_revive_written(const ons_program *p, const launch *l, const ons_part_place *part_place);
/* What nobody needs behind positions [first, end) holds nothing. */
void ons_program_bury_dead(const ons_program *p, uint32_t first, uint32_t end, const ons_part_place *part_place);

/* Gives a launch the addresses of a place; NULL: the first. */
void ons_program_resolve(const ons_program *p, launch *l, const ons_part_place *part_place);

#endif

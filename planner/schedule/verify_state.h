/* What the two halves of the check of a schedule share: verify.c (positions, edges, and rules on them) and
 * verify_messages.c (devices run their lists). */
#ifndef ONSTAGE_PLANNER_SCHEDULE_VERIFY_STATE_H
#define ONSTAGE_PLANNER_SCHEDULE_VERIFY_STATE_H

#include "planner/schedule/schedule.h"

#define ONS_BIT(kind) (1u << (kind))
enum {
    ONS_COMMUNICATION = ONS_BIT(ONS_ACTION_SEND_ACTIVATION) | ONS_BIT(ONS_ACTION_RECEIVE_ACTIVATION) |
                        ONS_BIT(ONS_ACTION_SEND_GRADIENT) | ONS_BIT(ONS_ACTION_RECEIVE_GRADIENT),
};

/* How far a device has come. */
typedef struct ons_device_state {
    uint32_t next; /* in its list */
    bool come;     /* what the next action reads has been begun */
    bool queued;
} ons_device_state;

/* The messages of one kind over an edge, which pass in ascending order. Of a copy of the sender: units that it has
 * sent, and of these those that had room at the other end. Of a copy of the receiver: its micro-batches for which it
 * has come to the action that reads them (or to the receive that the list names). */
typedef struct ons_message_channel {
    uint32_t sent, placed, wanted;
} ons_message_channel;

typedef struct ons_verifier {
    const ons_schedule *s;
    const ons_stage_edge *edges;
    uint32_t edge_count;
    uint32_t *device_of;           /* [stage]: of its first copy */
    uint32_t *positions;           /* [stage][number][kind]: 1 + position in the device's list; 0: absent */
    bool explicit;                 /* the lists name sends and receives */
    uint32_t *begin, *of;          /* edges of a stage: of[begin[stage]] to of[begin[stage + 1] - 1] */
    uint32_t *first_channel;       /* [edge] */
    ons_message_channel *channels; /* [first_channel + copy][0: activation, 1: gradient] */
    ons_device_state *devices;
    uint32_t *queue, queued; /* devices that may be able to go on */
} ons_verifier;

static inline uint32_t ons_verifier_device_of(const ons_verifier *v, uint32_t stage, uint32_t copy) {
    return (uint32_t)(v->device_of[stage] + copy * ons_grouping_stride(ons_schedule_grouping(v->s, stage)));
}

/* The copy of the stage that lies on the device; ONS_NO_COPY: none. */
static inline uint32_t ons_verifier_copy_on(const ons_verifier *v, uint32_t stage, uint32_t device) {
    uint32_t copies = ons_schedule_grouping(v->s, stage).copies, copy = 0;
    while (copy < copies && ons_verifier_device_of(v, stage, copy) != device) ++copy;
    return copy < copies ? copy : ONS_NO_COPY;
}

/* Whether both ends of an edge are on one device. */
static inline bool ons_verifier_is_local(const ons_verifier *v, const ons_stage_edge *e) {
    return v->device_of[e->from] == v->device_of[e->to];
}

/* Runs all lists as far as they go; fails where they hang, and says who waits for what. */
ons_status *ons_schedule_run_lists(ons_verifier *v, ons_arena *arena);

#endif

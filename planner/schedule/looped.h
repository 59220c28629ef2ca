/* Pfeife's schedules ("Pfeife: Automatic Pipeline Parallelism for PyTorch", Jhoo et al., 2025, section 3.4 and appendix
 * B): looped 1F1B with prefetch, given by (B, N_l, B_l, B_f).
 *
 *   B    micro-batches of a step
 *   N_l  loops: stages on a device; stage l * D + d is on device d of D
 *   B_l  micro-batches that go through a stage before the device turns to its next stage
 *   B_f  for each device: forward parts before its first backward part beyond those that it needs, which are
 *        (N_l - 1) * B_l + D - d
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_LOOPED_H
#define ONSTAGE_PLANNER_SCHEDULE_LOOPED_H

#include "planner/schedule/schedule.h"

typedef struct ons_looped_vectors {
    uint32_t micro_batches;      /* B; 0: as many as are asked for */
    uint32_t loops;              /* N_l */
    uint32_t loop_micro_batches; /* B_l; divides B, and is at least the number of devices */
    uint32_t devices;
    const uint32_t *prefetch; /* B_f: [device] */
} ons_looped_vectors;

/* Schedules of other systems in these terms, for four devices: appendix B.2. */
typedef struct ons_looped_preset {
    const char *name;
    const char *source;
    ons_looped_vectors vectors;
} ons_looped_preset;

extern const ons_looped_preset ons_looped_presets[]; /* ends with a name of NULL */

/* Parses a preset's name, or vectors as the paper writes them: "(8, 2, 4, (3, 2, 1, 0))". The failure lists the
 * presets. */
ons_status *ons_looped_parse(const char *text, ons_arena *arena, ons_looped_vectors *vectors);

/* Makes a generator of these vectors. `vectors` and `name` outlive it. */
ons_status *ons_generator_of_vectors(const ons_looped_vectors *vectors, const char *name, ons_arena *arena,
                                     const ons_generator **generator);

#endif

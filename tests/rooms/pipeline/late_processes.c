/* Processes that are late, each for a random time before every step and every message: stages, replicas, copies of
 * stages and stages of different micro-batches. */
#include "tests/rooms/pipeline/processes.h"

static const uint32_t copies[] = {2, 1, 2}, sizes[] = {1, 2, 4};

const process_case process_cases[] = {
    {"four stages",
     {.late = true, .model = "mlp", .micro_batches = 6, .more = 3, .stages = 4, .devices = 4, .steps = 4}},
    {"interleaved stages",
     {.late = true,
      .model = "gpt_tied",
      .kind = &ons_generator_interleaved,
      .micro_batches = 4,
      .stages = 4,
      .devices = 2,
      .steps = 3,
      .eviction = PIPELINE_SWAPS_AND_RECOMPUTES,
      .one_in = 2}},
    {"three replicas",
     {.late = true, .model = "mlp", .micro_batches = 2, .replicas = 3, .stages = 1, .devices = 1, .steps = 8}},
    {"three replicas of two stages",
     {.late = true,
      .model = "lenet",
      .micro_batches = 2,
      .more = 2,
      .replicas = 3,
      .stages = 2,
      .devices = 2,
      .steps = 4}},
    {"running statistics",
     {.late = true, .model = "cnn_dynamic", .micro_batches = 2, .replicas = 2, .stages = 2, .devices = 2, .steps = 4}},
    {"copies of stages",
     {.late = true, .model = "mlp", .micro_batches = 6, .stages = 3, .devices = 5, .copies = copies, .steps = 5}},
    {"stages of different micro-batches",
     {.late = true, .model = "mlp", .micro_batches = 4, .stages = 3, .devices = 3, .sizes = sizes, .steps = 5}},
    {.name = NULL},
};

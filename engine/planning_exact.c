#include <string.h>

#include "device/device.h"
#include "engine/planning.h"
#include "runtime/machine.h"

/* One stage on this machine's processors is no more than what `onstage train` would run: its kernels are prepared, so
 * that their scratch memory is known, and the arena is laid out as the trainer lays it out. Nothing is allocated on the
 * device. */
static ons_status *predict(const ons_planning *p, ons_machine *machine, ons_machine_memory *memory) {
    const ons_stage_graph *stage = &p->input.stage;
    ons_program *program;
    ons_program_options options = {
        .repeats = p->input.micro_batches > 1,
        .kept = stage->kept,
        .kept_count = stage->kept_count,
    };
    ONS_TRY(ons_machine_add(machine, stage->graph, &options, &program));
    return ons_machine_predict(machine, memory);
}

static ons_status *measure(const ons_planning *p, ons_machine_memory *memory) {
    int threads;
    ons_device *device;
    ons_machine *machine;
    ONS_TRY(ons_config_threads(p->config, &threads));
    ONS_TRY(ons_cpu_device_new(0, p->config->pin, &device));
    ONS_TRY(ons_machine_new(device, p->model->registry, threads, &machine));
    ons_status *status = predict(p, machine, memory);
    ons_machine_free(machine);
    return status;
}

bool ons_planning_is_exact(const ons_planning *p) {
    return p->model != NULL && p->problem.pipeline.stages == 1 && strcmp(p->config->device, "cpu") == 0 &&
           (p->config->profile != NULL || strcmp(p->profile.name, "cpu") == 0) && p->plan.stages[0].decision_count == 0;
}

ons_status *ons_planning_make_exact(ons_planning *p) {
    ons_machine_memory memory;
    char need[ONS_BYTES_TEXT];
    ONS_TRY(measure(p, &memory));
    ons_plan_stage *stage = &p->plan.stages[0];
    const ons_stage_memory estimate = stage->memory;
    stage->memory = (ons_stage_memory){
        .weights = memory.parameters + memory.buffers + memory.constants,
        .gradients = estimate.gradients,
        .states = memory.states - estimate.gradients,
        .peak = memory.transient,
        .total = memory.total,
    };
    stage->memory_bytes = memory.total;
    stage->fragmentation_bytes = memory.transient - memory.lower_bound;
    ONS_CHECK(memory.total <= p->plan.capacity_bytes, ONS_OUT_OF_MEMORY,
              "with the scratch memory of its kernels and alignment the model needs %s (%lld bytes); give --memory as "
              "much, or more stages or micro-batches",
              ons_bytes_print((double)memory.total, need), (long long)memory.total);
    return NULL;
}

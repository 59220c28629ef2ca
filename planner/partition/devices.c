#include "planner/partition/devices.h"

#include <math.h>

#include "planner/workload/order.h"

static void take_least(const ons_work_node *from, ons_work_node *node) {
    node->forward_seconds = fmin(node->forward_seconds, from->forward_seconds);
    node->input_gradient_seconds = fmin(node->input_gradient_seconds, from->input_gradient_seconds);
    node->weight_gradient_seconds = fmin(node->weight_gradient_seconds, from->weight_gradient_seconds);
    node->late_weight_seconds = fmin(node->late_weight_seconds, from->late_weight_seconds);
    node->update_seconds = fmin(node->update_seconds, from->update_seconds);
}

ons_status *ons_devices_least_work(const ons_planning_device *devices, uint32_t count, ons_arena *arena,
                                   ons_workload *work) {
    *work = *devices[0].work;
    ONS_NEW(work->nodes, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        work->nodes[i] = devices[0].work->nodes[i];
        for (uint32_t k = 1; k < count; ++k) take_least(&devices[k].work->nodes[i], &work->nodes[i]);
    }
    work->index = NULL;
    return ons_workload_finish(work, arena);
}

/* Devices of a kind have one workload, which is reordered once. */
static ons_status *reorder_device(const ons_planning_problem *problem, uint32_t device, const uint32_t *order,
                                  ons_arena *arena, ons_planning_device *devices) {
    ons_workload *work;
    for (uint32_t i = 0; i < device; ++i) {
        if (problem->devices[i].work != problem->devices[device].work) continue;
        devices[device].work = devices[i].work;
        return NULL;
    }
    ONS_NEW(work, arena, 1);
    devices[device].work = work;
    return ons_work_reorder(problem->devices[device].work, order, arena, work);
}

ons_status *ons_devices_reorder(const ons_planning_problem *problem, const uint32_t *order, ons_arena *arena,
                                ons_planning_problem *reordered) {
    ons_planning_device *devices;
    ons_workload *work;
    *reordered = *problem;
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_work_reorder(problem->work, order, arena, work));
    reordered->work = work;
    if (problem->devices == NULL) return NULL;
    ONS_NEW(devices, arena, problem->device_count);
    for (uint32_t i = 0; i < problem->device_count; ++i) {
        devices[i] = problem->devices[i];
        ONS_TRY(reorder_device(problem, i, order, arena, devices));
    }
    reordered->devices = devices;
    return NULL;
}

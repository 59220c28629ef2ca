#include "planner/partition/link.h"

static ons_link_cost network(const ons_planning_problem *p) {
    return (ons_link_cost){p->network_bandwidth, p->network_latency, p->network_eager_bytes};
}

/* Of replicas of so many devices, where nodes and replicas repeat after so many of them as a node has devices. */
ons_link_cost ons_link_between(const ons_planning_problem *p, uint32_t device, uint32_t other) {
    if (p->node_devices == 0) return ons_link_in_node(p);
    int64_t devices = ons_pipeline_devices(&p->pipeline),
            replicas = p->pipeline.replicas > 1 ? p->pipeline.replicas : 1;
    for (int64_t i = 0; i < replicas && i < p->node_devices; ++i) {
        int64_t first = i * devices;
        if ((first + device) / p->node_devices != (first + other) / p->node_devices) return network(p);
    }
    return ons_link_in_node(p);
}

ons_link_cost ons_link_before(const ons_planning_problem *p, uint32_t stage) {
    if (p->node_devices == 0) return ons_link_in_node(p);
    return ons_link_between(p, p->schedule->device_of[stage - 1], p->schedule->device_of[stage]);
}

ons_link_cost ons_link_of_replicas(const ons_planning_problem *p) {
    if (p->node_devices == 0) return ons_link_in_node(p);
    int64_t all = (int64_t)ons_pipeline_devices(&p->pipeline) * p->pipeline.replicas;
    return all > p->node_devices ? network(p) : ons_link_in_node(p);
}

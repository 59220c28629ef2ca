/* GraphPipe's stages form a graph, and its lists of actions follow from that: planner/search/graph_stages.h finds
 * order, cuts and lists together. */
#include "planner/partition/partition.h"

const ons_partition_strategy ons_partition_graphpipe = {
    "graphpipe", NULL,
    "GraphPipe: branches of the model side by side, with as few micro-batches in flight as that needs"};

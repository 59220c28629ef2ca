/* Weights that come in shards, and the nodes that read them: a vocabulary's embedding and head, parts of which lie on
 * all devices (FlexPipe's shared stages).
 *
 * The importer hands over a sharded weight as parameters of its own, put together by a Concat (ons_value.shard). This
 * pass moves the Concat down as far as operators let it, so that each of them is a node a shard:
 *
 *     Gather(Concat(W0, W1), i)               Sum(GatherShard(W0, i), GatherShard(W1, i))
 *     MatMul(x, Concat(W0, W1))               Concat(MatMul(x, W0), MatMul(x, W1))
 *     CrossEntropy(Concat(x0, x1), t)         its parts of either, and what joins them
 *
 * Results differ from those of the whole weight by the order of sums alone. Shards are numbered alike in all weights; a
 * node belongs to the shard that it reads, or the results of, and to none where it reads several: it joins them. */
#ifndef ONSTAGE_GRAPH_PASSES_SHARD_H
#define ONSTAGE_GRAPH_PASSES_SHARD_H

#include "graph/operator.h"
#include "graph/passes/tracked.h"

/* How the results of a node's shards make its output 0. */
typedef enum ons_shard_join {
    ONS_SHARDS_LEFT_ALONE, /* nothing was built */
    ONS_SHARDS_CONCAT,     /* one after the other along `axis` */
    ONS_SHARDS_SUM,
    ONS_SHARDS_JOINED, /* `joined` is it */
} ons_shard_join;

/* Handed to an operator's shard function: what the node reads, and what it is made into. The node has one output. */
struct ons_sharding {
    ons_builder *builder;
    const ons_operands *operands; /* of the whole node */
    const ons_value_id *inputs;
    uint32_t shards;
    const ons_value_id *const *parts; /* [input][shard]; NULL: the input is whole */
    const uint32_t *axes;             /* [input]: along which its shards follow each other */
    /* set by the function: */
    ons_value_id *results; /* [shard] */
    ons_shard_join join;
    uint32_t axis;
    ons_value_id joined;
};

/* What is built from here on belongs to that shard; ONS_NONE: joins them. */
void ons_sharding_begin(ons_sharding *s, uint32_t shard);
/* The operand as shard number `shard` reads it: its own part, or the whole; ONS_NONE where the node has none. */
ons_value_id ons_sharding_input(const ons_sharding *s, uint32_t input, uint32_t shard);
/* Index of the shard's first entry along the axis of a sharded input. */
int64_t ons_sharding_first(const ons_sharding *s, uint32_t input, uint32_t shard);
/* Builds the node once for each shard, with what that one reads and the node's own attributes: `results`. */
ons_status *ons_sharding_repeat(ons_sharding *s);

/* Moves shards down; nothing where no weight is sharded. Ids change. */
ons_status *ons_shard(ons_graph *graph, const ons_registry *registry, ons_tracked_values *tracked);

/* The shard that each forward node belongs to, from 0; ONS_NONE: to none. In `arena`. */
ons_status *ons_shards_of_nodes(const ons_graph *graph, ons_arena *arena, uint32_t **shards);

#endif

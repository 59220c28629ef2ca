#include <string.h>

#include "planner/partition/partition.h"

#define ONS_PARTITION(name, orders) extern const ons_partition_strategy ons_partition_##name;
#include "planner/partition/strategies.inc"
#undef ONS_PARTITION

const ons_partition_strategy *const ons_partition_strategies[] = {
#define ONS_PARTITION(name, orders) &ons_partition_##name,
#include "planner/partition/strategies.inc"
#undef ONS_PARTITION
    NULL,
};

const ons_partition_strategy *ons_partition_strategy_find(const char *name) {
    for (const ons_partition_strategy *const *s = ons_partition_strategies; *s != NULL; ++s)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}

bool ons_partition_takes_any_order(const ons_partition_strategy *strategy) {
    enum { FILE_ORDER, ANY_ORDER };
#define ONS_PARTITION(name, orders)                                                                                    \
    if (strategy == &ons_partition_##name) return (orders) == ANY_ORDER;
#include "planner/partition/strategies.inc"
#undef ONS_PARTITION
    return false;
}

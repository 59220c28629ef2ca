/* What operators do with sums over samples: graph/passes/loss_parts.h. */
#ifndef ONSTAGE_KERNELS_LOSS_RULES_H
#define ONSTAGE_KERNELS_LOSS_RULES_H

#include "graph/passes/loss_parts.h"

const ons_loss_rules *ons_kernels_loss_rules(void);

#endif

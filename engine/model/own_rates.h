/* --lr-of: learning rates of single weights. */
#ifndef ONSTAGE_ENGINE_MODEL_OWN_RATES_H
#define ONSTAGE_ENGINE_MODEL_OWN_RATES_H

#include "engine/config/config.h"

/* Gives each of the trained weights (of a bound graph, with the imported one's names) the rate of the first glob that
 * matches. Fails where a glob matches none of them, or where those before it have taken all that it matches. */
ons_status *ons_own_rates_assign(const ons_config *config, const ons_graph *imported, const ons_graph *bound,
                                 ons_parameter_gradient *weights, uint32_t count);

#endif

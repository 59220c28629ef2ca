/* Times that were measured before, by device and by what was measured: a JSON file that profiles share.
 *
 * It is a cache: a file that cannot be read counts as empty, and where two programs write at once the later one wins.
 */
#ifndef ONSTAGE_RUNTIME_MEASURE_COST_CACHE_H
#define ONSTAGE_RUNTIME_MEASURE_COST_CACHE_H

#include "base/status.h"

typedef struct ons_cost_cache ons_cost_cache;

/* `path` NULL: "$XDG_CACHE_HOME/onstage/costs.json", or below ~/.cache; without either it stays in memory. `device`:
 * what the times hold for; of other devices they are kept and not seen. */
ons_status *ons_cost_cache_open(const char *path, const char *device, ons_cost_cache **cache);
void ons_cost_cache_free(ons_cost_cache *cache); /* NULL is fine */

/* False where there is none. */
bool ons_cost_cache_get(const ons_cost_cache *cache, const char *key, double *seconds);
ons_status *ons_cost_cache_put(ons_cost_cache *cache, const char *key, double seconds);

/* Writes the file, and makes the folders above it. Nothing was put: nothing is written. */
ons_status *ons_cost_cache_save(ons_cost_cache *cache);

/* NULL: in memory alone. */
const char *ons_cost_cache_path(const ons_cost_cache *cache);

#endif

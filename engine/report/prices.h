/* What devices cost, by device profile. */
#ifndef ONSTAGE_ENGINE_REPORT_PRICES_H
#define ONSTAGE_ENGINE_REPORT_PRICES_H

#include "base/json.h"

typedef struct ons_prices {
    ons_json *json;       /* owned */
    const char *currency; /* "" where none is given */
} ons_prices;

/* { "currency": "EUR", "a100-40gb": 2.5, … }: money per hour of one device. Every other name must be that of a shipped
 * profile, or `own`. Failures name file and field. */
ons_status *ons_prices_load(const char *path, const char *own, ons_prices *prices);
void ons_prices_free(ons_prices *prices); /* a zeroed one is fine */

/* 0: not known. */
double ons_prices_find(const ons_prices *prices, const char *profile);

#endif

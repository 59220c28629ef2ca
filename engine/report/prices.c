#include "engine/report/prices.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "planner/cost/device_profile.h"

static bool is_profile(const char *name, const char *own) {
    if (strcmp(name, own) == 0) return true;
    for (const char *const *s = ons_device_profile_names(); *s != NULL; ++s)
        if (strcmp(*s, name) == 0) return true;
    return false;
}

static ons_status *check(const char *own, ons_prices *prices) {
    ONS_CHECK(cJSON_IsObject(prices->json), ONS_INVALID_DATA, "not a JSON object of device profile and money per hour");
    for (const ons_json *item = prices->json->child; item != NULL; item = item->next) {
        if (strcmp(item->string, "currency") == 0) {
            ONS_TRY(ons_json_get_text(prices->json, "currency", &prices->currency));
            continue;
        }
        double price;
        ONS_CHECK(is_profile(item->string, own), ONS_INVALID_DATA,
                  "'%s' is no device profile; --help lists the names under --device-profile", item->string);
        ONS_TRY(ons_json_get_double(prices->json, item->string, &price));
        ONS_CHECK(isfinite(price) && price > 0, ONS_INVALID_DATA, "'%s' must cost more than 0 an hour", item->string);
    }
    return NULL;
}

ons_status *ons_prices_load(const char *path, const char *own, ons_prices *prices) {
    ons_mapping file;
    *prices = (ons_prices){.currency = ""};
    ONS_TRY_AT(ons_mapping_open(path, &file), "--prices");
    ons_status *status = ons_json_parse_names(file.bytes, file.size, &prices->json);
    ons_mapping_close(&file);
    if (status == NULL) status = check(own, prices);
    if (status != NULL) ons_prices_free(prices);
    return ons_status_at(status, "--prices %s", path);
}

void ons_prices_free(ons_prices *prices) {
    ons_json_free(prices->json);
    *prices = (ons_prices){0};
}

double ons_prices_find(const ons_prices *prices, const char *profile) {
    const ons_json *item = ons_json_find(prices->json, profile);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

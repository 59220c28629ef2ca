#include "engine/model/own_rates.h"

#include "base/nearest.h"

/* The initialiser as it was imported: the bound graph has no names of parameters that an exporter renamed. */
static const ons_value *imported_value(const ons_graph *imported, const ons_graph *bound, ons_value_id weight) {
    const ons_value *value = ons_graph_value(bound, weight);
    ons_value_id found = ons_graph_find_value(imported, value->name);
    return found == ONS_NONE ? value : ons_graph_value(imported, found);
}

static ons_status *assign(const ons_pair *pair, const ons_graph *imported, const ons_graph *bound,
                          ons_parameter_gradient *weights, uint32_t count) {
    ons_number number = {0};
    double *rate;
    uint32_t matched = 0, taken = 0;
    ons_nearest nearest = ons_nearest_to(pair->name);
    ONS_TRY(ons_config_parse_number("lr-of", pair->value, &number));
    ONS_CHECK(number.value >= 0, ONS_INVALID_ARGUMENT, "--lr-of %s=%s: a learning rate must not be negative",
              pair->name, pair->value);
    ONS_NEW(rate, bound->arena, 1);
    *rate = number.value;
    for (uint32_t i = 0; i < count; ++i) {
        if (weights[i].use_count == 0) continue;
        const ons_value *value = imported_value(imported, bound, weights[i].parameter);
        ons_nearest_try(&nearest, ons_value_name_in_file(value));
        if (!ons_glob_names(pair->name, value)) continue;
        ++matched;
        if (weights[i].rate != NULL) continue;
        ++taken;
        weights[i].rate = rate;
    }
    ONS_CHECK(matched > 0, ONS_INVALID_ARGUMENT,
              "--lr-of '%s' matches nothing that is trained%s; `onstage inspect` shows the names", pair->name,
              ons_nearest_hint(&nearest));
    ONS_CHECK(taken > 0, ONS_INVALID_ARGUMENT,
              "--lr-of '%s': all that it matches has its rate by an --lr-of before it, and the first match wins",
              pair->name);
    return NULL;
}

ons_status *ons_own_rates_assign(const ons_config *config, const ons_graph *imported, const ons_graph *bound,
                                 ons_parameter_gradient *weights, uint32_t count) {
    for (size_t i = 0; i < config->lr_of.count; ++i)
        ONS_TRY(assign(&config->lr_of.items[i], imported, bound, weights, count));
    return NULL;
}

/* --slices: how many micro-batches' forward parts are in two halves. */
#include <inttypes.h>

#include "engine/config/config.h"

static ons_status *read_count(const char *text, uint32_t *count) {
    ons_number number;
    *count = ONS_SLICES_AUTO;
    ons_word word;
    if (ons_word_find(ons_slices_words, text, &word)) return NULL;
    ONS_TRY(ons_config_parse_number("slices", text, &number));
    ONS_CHECK(number.value >= 0 && number.value < 65536 && number.value == (uint32_t)number.value, ONS_INVALID_ARGUMENT,
              "--slices: '%s' is neither a number of micro-batches nor auto", text);
    *count = (uint32_t)number.value;
    return NULL;
}

ons_status *ons_config_slices(const ons_config *c, uint32_t *count) {
    ONS_TRY(read_count(c->slices, count));
    if (*count == 0) return NULL;
    ONS_CHECK(c->plan == NULL, ONS_INVALID_ARGUMENT,
              "--slices beside --plan %s, whose actions say which forward parts are in halves: leave one of them out",
              c->plan);
    ONS_CHECK(!ons_config_is_asynchronous(c), ONS_UNSUPPORTED,
              "--slices: an asynchronous pipeline is never empty, so it has no start to shorten; leave it out");
    ONS_CHECK(!ons_config_uses_cuda(c), ONS_UNSUPPORTED,
              "--slices: GPUs do not compute forward parts in halves yet; leave it out, or train with --device cpu");
    ONS_CHECK(*count == ONS_SLICES_AUTO || c->stages >= ONS_SLICES_STAGES, ONS_INVALID_ARGUMENT,
              "--slices %" PRIu32 ": with %" PRId64
              " stage%s nothing is won by halves, which cost more than the start that they shorten; leave it out, or "
              "take %d --stages or more",
              *count, c->stages, c->stages == 1 ? "" : "s", ONS_SLICES_STAGES);
    return NULL;
}

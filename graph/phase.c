#include "graph/phase.h"

static const struct {
    const char *name, *text;
} phases[ONS_PHASE_COUNT] = {
    [ONS_FORWARD] = {"forward", "forward"},
    [ONS_INPUT_GRADIENT] = {"input_gradient", "input gradient"},
    [ONS_WEIGHT_GRADIENT] = {"weight_gradient", "weight gradient"},
    [ONS_UPDATE] = {"update", "update"},
};

const char *ons_phase_name(ons_phase phase) { return phases[phase].name; }

const char *ons_phase_text(ons_phase phase) { return phases[phase].text; }

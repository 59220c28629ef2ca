#include "tests/rooms/planner/whole_parts.h"

ons_status *whole_parts_simulate(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_forecast *forecast) {
    ons_pipeline_parts parts;
    ons_pipeline_setup whole = *setup;
    ONS_TRY(ons_pipeline_parts_make(setup, arena, &parts));
    for (uint32_t i = 0; i < parts.link_count; ++i) {
        ons_stage_link *link = &parts.links[i];
        link->ends = (ons_message_ends){.made_by = parts.stages[link->from].forward_count - 1};
        link->gradient_ends = (ons_message_ends){.made_by = parts.stages[link->to].backward_count - 1};
    }
    whole.parts = &parts;
    return ons_pipeline_simulate(&whole, arena, forecast);
}

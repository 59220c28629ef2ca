/* The devices that were asked for, shared between stages and replicas in every way. */
#include "planner/report/report.h"

enum { LAYOUTS_MOST = 64, STAGES_MOST = 64, DOUBLINGS = 3 };

/* As many as stages where it was so; else micro-batches stay as large as they are. */
static int64_t micro_batches_of(const ons_question *asked, const ons_question *q) {
    if (asked->micro_batches == asked->stages) return q->stages;
    int64_t all = asked->micro_batches * ons_question_replicas(asked), replicas = q->replicas;
    return (all + replicas - 1) / replicas;
}

ons_question ons_report_layout(const ons_question *asked, uint32_t devices, uint32_t replicas) {
    ons_question q = *asked;
    bool own = devices == ons_question_devices(asked) && replicas == ons_question_replicas(asked);
    q.replicas = replicas;
    ons_question_set_devices(&q, devices);
    if (!own) q.micro_batches = micro_batches_of(asked, &q);
    return q;
}

static ons_status *try_layout(const ons_question *asked, uint32_t devices, int64_t replicas, ons_report_rows *rows) {
    ons_report_row row = {.what = "", .question = ons_report_layout(asked, devices, (uint32_t)replicas)};
    bool own = devices == ons_question_devices(asked) && replicas == ons_question_replicas(asked);
    ONS_TRY(ons_what_if(&row.question, &row.answer));
    if (row.answer.known || own) rows->items[rows->count++] = row;
    return NULL;
}

ons_status *ons_report_find_layouts(const ons_question *asked, ons_arena *arena, ons_report_rows *rows) {
    int64_t asked_devices = ons_question_all_devices(asked);
    uint32_t own = ons_question_devices(asked), most = own > STAGES_MOST ? own : STAGES_MOST;
    *rows = (ons_report_rows){0};
    ONS_NEW(rows->items, arena, LAYOUTS_MOST * DOUBLINGS);
    for (int64_t doubling = 0; doubling < DOUBLINGS; ++doubling) {
        int64_t all = asked_devices << doubling;
        uint32_t end = rows->count + LAYOUTS_MOST;
        for (uint32_t devices = (uint32_t)(all < most ? all : most); devices > 0 && rows->count < end; --devices)
            if (all % devices == 0 && all / devices <= UINT32_MAX)
                ONS_TRY(try_layout(asked, devices, all / devices, rows));
    }
    return NULL;
}

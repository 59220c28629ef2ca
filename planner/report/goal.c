#include "planner/report/goal.h"

#include <math.h>

static void add_failures(const ons_goal *goal, double devices, double step_seconds, ons_goal_forecast *f) {
    f->checkpoint_seconds = goal->checkpoint_bytes / goal->disk_bandwidth;
    f->failure_seconds = goal->failure_seconds / devices;
    double interval = sqrt(2 * f->checkpoint_seconds * f->failure_seconds);
    f->interval_steps = fmax(1, round(interval / step_seconds));
    interval = f->interval_steps * step_seconds;
    f->lost_share = f->checkpoint_seconds / interval + interval / (2 * f->failure_seconds);
    double longer = f->lost_share < 1 ? 1 / (1 - f->lost_share) : INFINITY;
    f->all_seconds = f->seconds * longer;
    f->all_money = f->money > 0 ? f->money * longer : 0;
}

ons_goal_forecast ons_goal_forecast_make(const ons_goal *goal, const ons_question *q, const ons_answer *a) {
    double devices = (double)ons_question_all_devices(q);
    ons_goal_forecast f = {.steps = ceil(goal->samples / (double)q->batch)};
    f.seconds = f.steps * a->step_seconds;
    f.money = q->device->money_per_hour * devices * f.seconds / 3600;
    f.all_seconds = f.seconds;
    f.all_money = f.money;
    if (goal->failure_seconds > 0 && a->step_seconds > 0) add_failures(goal, devices, a->step_seconds, &f);
    return f;
}

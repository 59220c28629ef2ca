/* What a whole training takes: steps, time, money, and how often to write a checkpoint where devices fail.
 *
 * Young (A first order approximation to the optimum checkpoint interval, CACM 1974): with C the seconds of a checkpoint
 * and M the mean seconds between failures of all devices together, the interval that loses least is sqrt(2 C M), as
 * long as C is small against M. An interval T then loses the share C / T + T / (2 M): checkpoints, and half an interval
 * a failure. (Daly, FGCS 2006, has the terms of higher order; they matter where C is not small, and there the share
 * says so.)
 *
 * Assumed: training waits while a checkpoint is written, at the bandwidth of what it is written to; a device that fails
 * stops all of them; failures come independently, so M is a device's mean time divided by the devices. Noticing a
 * failure and starting again take time that is not counted. */
#ifndef ONSTAGE_PLANNER_REPORT_GOAL_H
#define ONSTAGE_PLANNER_REPORT_GOAL_H

#include "planner/report/what_if.h"

typedef struct ons_goal {
    double samples;          /* that all steps compute together */
    double checkpoint_bytes; /* of a checkpoint, once for all replicas */
    double disk_bandwidth;   /* bytes a second to where checkpoints are written */
    double failure_seconds;  /* mean time between failures of one device; 0: devices do not fail */
} ons_goal;

typedef struct ons_goal_forecast {
    double steps;
    double seconds; /* of computing alone */
    double money;   /* of computing alone, of all devices; 0: not known */
    /* Where devices fail; otherwise 0. */
    double checkpoint_seconds;
    double failure_seconds; /* mean time between failures of all devices */
    double interval_steps;  /* between checkpoints: Young's interval in whole steps, at least one */
    double lost_share;      /* of all the time: checkpoints and what is computed again; 1 and more: it never ends */
    double all_seconds, all_money; /* with what is lost; infinite where it never ends */
} ons_goal_forecast;

/* The answer is feasible. */
ons_goal_forecast ons_goal_forecast_make(const ons_goal *goal, const ons_question *question, const ons_answer *answer);

#endif

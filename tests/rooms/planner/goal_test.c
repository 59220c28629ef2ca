/* How long a whole training takes where devices fail, against trainings that are played through. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "planner/report/goal.h"

static const ons_what_if_device device = {.money_per_hour = 36};

static ons_question ask(uint32_t stages, uint32_t replicas) {
    return (ons_question){.device = &device,
                          .generator = &ons_generator_one_f_one_b,
                          .stages = stages,
                          .replicas = replicas,
                          .batch = 100,
                          .micro_batches = 1};
}

Test(goal, steps_time_and_money) {
    const ons_goal goal = {.samples = 1001};
    const ons_question q = ask(2, 3);
    const ons_answer a = {.feasible = true, .step_seconds = 2};
    const ons_goal_forecast f = ons_goal_forecast_make(&goal, &q, &a);
    cr_expect(f.steps == 11 && f.seconds == 22 && f.all_seconds == 22 && f.interval_steps == 0 && f.lost_share == 0);
    cr_expect_float_eq(f.money, 0.01 * 6 * 22, 1e-9); /* a cent a second, six devices */
}

/* Work is done in intervals, each with a checkpoint at its end; a failure takes back what was done since the last one.
 */
static double play(double work, double interval, double checkpoint, double failures, struct drand48_data *random) {
    double time = 0, done = 0, u, next;
    drand48_r(random, &u);
    next = -failures * log1p(-u);
    while (done < work) {
        double end = time + interval + checkpoint;
        if (next < end) {
            time = next;
            drand48_r(random, &u);
            next = time - failures * log1p(-u);
            continue;
        }
        time = end;
        done += interval;
    }
    return time;
}

Test(goal, what_failures_cost_is_what_comes_of_playing_them) {
    uint64_t seed = (uint64_t)time(NULL);
    struct drand48_data random;
    srand48_r((long)seed, &random);
    const ons_goal goal = {.samples = 5e10, .checkpoint_bytes = 1e10, .disk_bandwidth = 1e9, .failure_seconds = 8e5};
    const ons_question q = ask(4, 2);
    const ons_answer a = {.feasible = true, .step_seconds = 1};
    const ons_goal_forecast f = ons_goal_forecast_make(&goal, &q, &a);
    cr_expect(f.checkpoint_seconds == 10 && f.failure_seconds == 1e5); /* eight devices fail eight times as often */
    double all = play(f.seconds, f.interval_steps, f.checkpoint_seconds, f.failure_seconds, &random);
    double lost = 1 - f.seconds / all;
    cr_expect_float_eq(lost, f.lost_share, 0.06 * f.lost_share, "seed %llu: %g, not %g", (unsigned long long)seed, lost,
                       f.lost_share);
    cr_expect_float_eq(all, f.all_seconds, 0.002 * all, "seed %llu", (unsigned long long)seed);
    /* Other intervals lose more. */
    static const double factors[] = {0.25, 4};
    for (int i = 0; i < 2; ++i) {
        double other = play(f.seconds, factors[i] * f.interval_steps, f.checkpoint_seconds, f.failure_seconds, &random);
        cr_expect_gt(other, all, "seed %llu: %g times the interval", (unsigned long long)seed, factors[i]);
    }
}

Test(goal, an_interval_is_a_step_at_least_and_too_many_failures_never_end) {
    ons_goal goal = {.samples = 1e6, .checkpoint_bytes = 1e9, .disk_bandwidth = 1e9, .failure_seconds = 100};
    const ons_question q = ask(1, 1);
    const ons_answer slow = {.feasible = true, .step_seconds = 50};
    ons_goal_forecast f = ons_goal_forecast_make(&goal, &q, &slow);
    cr_expect(f.interval_steps == 1 && f.lost_share < 1 && isfinite(f.all_seconds));
    goal.checkpoint_bytes = 1e12;
    f = ons_goal_forecast_make(&goal, &q, &slow);
    cr_expect(f.lost_share >= 1 && isinf(f.all_seconds) && isinf(f.all_money));
}

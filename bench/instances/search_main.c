/* The set's best known values found again with the planner's strategies. Fails where one of them is not reached.
 *
 *     ./bazelw run //bench:instances [-- NAME...]      tries all strategies on each problem, and compares
 *     ./bazelw run //bench:instances -- --write [...]  and puts what is better into the set
 *     ./bazelw run //bench:instances -- --pose         writes graphs, and problems that are not there
 *     ./bazelw run //bench:instances -- --table        prints the README's table from the files
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/instances/poses.h"
#include "bench/instances/tries.h"

static const double SAME = 1e-9;

typedef struct options {
    char folder[4000];
    bool write, table;
} options;

/* ------------------------------------------------------------------------------------------------------ one problem */

static ons_status *take_better(instance *in, const options *o, const best_try *best, ons_arena *arena) {
    in->best = best->check_result.value;
    in->found_by = best->found_by;
    in->solution = ons_arena_format(arena, "solutions/%s.json", in->name);
    const char *path = ons_arena_format(arena, "%s/%s", o->folder, in->solution);
    ONS_TRY(ons_arena_check(arena));
    ONS_TRY(ons_file_write_text(path, best->solution));
    ONS_TRY(instance_bound(in, arena, &in->bound, &in->bound_from));
    return problem_write(in, o->folder);
}

static ons_status *search(instance *in, const options *o, ons_arena *arena) {
    best_try best;
    ONS_TRY(tries_run(in, o->folder, arena, &best));
    ONS_CHECK(best.found_by != NULL, ONS_INVALID_DATA, "no strategy has a valid solution, of %u that were judged",
              best.judged);
    bool better = in->found_by == NULL || best.check_result.value < in->best * (1 - SAME);
    printf("%s: %.9g by %s, of %u valid (%u judged); the set has %.9g%s\n", in->name, best.check_result.value,
           best.found_by, best.valid, best.judged, in->best, better ? ": better" : "");
    fflush(stdout);
    if (o->write && better) return take_better(in, o, &best, arena);
    ONS_CHECK(in->found_by != NULL && best.check_result.value <= in->best * (1 + SAME), ONS_INVALID_DATA,
              "the best known value, %.12g, is not reached: %.12g", in->best, best.check_result.value);
    return NULL;
}

/* What the problem allows beside splitting and computing again. */
static void print_allowed(const instance *in) {
    if (in->host_bandwidth > 0) printf("host, %g GB/s ", 1e-9 * in->host_bandwidth);
    if (in->copies_of_a_stage > 1) printf("%u copies%s ", in->copies_of_a_stage, in->most_at_once > 1 ? "," : "");
    if (in->most_at_once > 1) printf("%u at once ", in->most_at_once);
    printf("| ");
}

static ons_status *print_row(const instance *in) {
    printf("| %s | %u | %u | %u | %s | ", in->name, in->node_count, in->devices, in->micro_batches,
           in->stages_of_a_device == 1 ? "one" : "any");
    if (in->memory_bytes > 0)
        printf("%.4g MB | ", 1e-6 * (double)in->memory_bytes);
    else
        printf("| ");
    print_allowed(in);
    printf("%s | %.6g s | %.6g s | %s | %.2f %% | %s |\n", in->objective == STEP_SECONDS ? "step" : "bottleneck",
           in->best, in->bound, in->bound_from, 100 * fmax(0, in->best / in->bound - 1), in->found_by);
    return NULL;
}

static ons_status *do_one(const options *o, const char *name) {
    instance in = {0};
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : instance_load(o->folder, name, arena, &in);
    if (status == NULL) status = o->table ? print_row(&in) : search(&in, o, arena);
    instance_free(&in);
    ons_arena_free(arena);
    ONS_TRY_AT(status, "%s", name);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- the set */

static int tell(ons_status *status) {
    if (status == NULL) return 0;
    fprintf(stderr, "instances: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

static int is_problem(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int do_all(const options *o) {
    char path[4096];
    struct dirent **entries;
    int worst = 0;
    snprintf(path, sizeof path, "%s/problems", o->folder);
    int count = scandir(path, &entries, is_problem, alphasort);
    for (int i = 0; i < count; ++i) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
        worst |= tell(do_one(o, entries[i]->d_name));
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return count > 0 ? worst : 1;
}

int main(int count, char **arguments) {
    options o = {0};
    const char *root = getenv("BUILD_WORKSPACE_DIRECTORY");
    char profiles[4096];
    int worst = 0, names = 0;
    snprintf(o.folder, sizeof o.folder, "%s/bench/instances", root != NULL ? root : ".");
    snprintf(profiles, sizeof profiles, "%s/examples/data/profiles", root != NULL ? root : ".");
    for (int i = 1; i < count; ++i) {
        if (strcmp(arguments[i], "--pose") == 0) return tell(poses_write(o.folder, profiles));
        if (strcmp(arguments[i], "--write") == 0)
            o.write = true;
        else if (strcmp(arguments[i], "--table") == 0)
            o.table = true;
        else
            ++names, worst |= tell(do_one(&o, arguments[i]));
    }
    return names > 0 ? worst : do_all(&o);
}

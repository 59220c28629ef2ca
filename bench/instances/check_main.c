/* check FOLDER NAME [SOLUTION.json]: whether a solution of the problem (else the stored one) is valid, and its value.
 * Without a NAME, of all problems in the folder. Fails where one is not valid, or its value not what the set says. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/instances/check.h"

static const double SAME = 1e-9;

static ons_status *check_file(const instance *in, const char *path, ons_arena *arena, check_result *v) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = instance_check(in, file.bytes, file.size, arena, v);
    ons_mapping_close(&file);
    ONS_TRY_AT(status, "%s", path);
    return NULL;
}

static ons_status *report(const instance *in, const char *folder, const char *path, ons_arena *arena) {
    check_result v;
    const char *stored = path != NULL ? path : ons_arena_format(arena, "%s/%s", folder, in->solution);
    double bound;
    const char *from;
    ONS_CHECK(stored != NULL && (path != NULL || in->solution != NULL), ONS_INVALID_DATA, "%s has no solution yet",
              in->name);
    ONS_TRY(check_file(in, stored, arena, &v));
    ONS_TRY(instance_bound(in, arena, &bound, &from));
    printf("%s: valid, %s %.9g, memory %ld; best known %.9g, bound %.9g (%s)%s\n", in->name,
           objective_names[in->objective], v.value, (long)v.memory_bytes, in->best, bound, from,
           path != NULL && v.value < in->best * (1 - SAME) ? ": BETTER than what is known" : "");
    ONS_CHECK(path != NULL || fabs(v.value - in->best) <= SAME * in->best, ONS_INVALID_DATA,
              "%s: the set says %.12g, and its solution takes %.12g", in->name, in->best, v.value);
    ONS_CHECK(path != NULL || fabs(bound - in->bound) <= SAME * bound, ONS_INVALID_DATA,
              "%s: the set says no less than %.12g, and it is %.12g", in->name, in->bound, bound);
    return NULL;
}

static ons_status *check_one(const char *folder, const char *name, const char *path) {
    instance in = {0};
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : instance_load(folder, name, arena, &in);
    if (status == NULL) status = report(&in, folder, path, arena);
    instance_free(&in);
    ons_arena_free(arena);
    return status;
}

static int tell(ons_status *status) {
    if (status == NULL) return 0;
    printf("not valid: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

static int is_problem(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int check_all(const char *folder) {
    char path[4096];
    struct dirent **entries;
    int worst = 0;
    snprintf(path, sizeof path, "%s/problems", folder);
    int count = scandir(path, &entries, is_problem, alphasort);
    for (int i = 0; i < count; ++i) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
        worst |= tell(check_one(folder, entries[i]->d_name, NULL));
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return count > 0 ? worst : tell(ons_status_new(ONS_IO_ERROR, "%s: there are no problems", path));
}

int main(int count, char **arguments) {
    if (count == 2) return check_all(arguments[1]);
    if (count == 3 || count == 4) return tell(check_one(arguments[1], arguments[2], count == 4 ? arguments[3] : NULL));
    fputs("usage: check FOLDER [NAME [SOLUTION.json]]\n", stderr);
    return 2;
}

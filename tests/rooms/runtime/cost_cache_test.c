#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/measure/cost_cache.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(cost_cache, .init = scratch_make, .fini = scratch_remove);

static ons_cost_cache *open_cache(const char *path, const char *device) {
    ons_cost_cache *cache;
    expect_success(ons_cost_cache_open(path, device, &cache));
    return cache;
}

static void put_and_save(const char *path, const char *device, const char *key, double seconds) {
    ons_cost_cache *cache = open_cache(path, device);
    expect_success(ons_cost_cache_put(cache, key, seconds));
    expect_success(ons_cost_cache_save(cache));
    ons_cost_cache_free(cache);
}

static double get(const char *path, const char *device, const char *key) {
    ons_cost_cache *cache = open_cache(path, device);
    double seconds = -1;
    ons_cost_cache_get(cache, key, &seconds);
    ons_cost_cache_free(cache);
    return seconds;
}

static const char *cache_file(void) {
    const char *path = scratch_path("deep/er/costs.json");
    remove(path);
    return path;
}

Test(cost_cache, keeps_times_of_each_device_apart) {
    const char *path = cache_file();
    put_and_save(path, "one", "Conv", 0.25);
    put_and_save(path, "two", "Conv", 0.5);
    put_and_save(path, "one", "MatMul", 1.0 / 3);
    cr_expect_eq(get(path, "one", "Conv"), 0.25);
    cr_expect_eq(get(path, "two", "Conv"), 0.5);
    cr_expect_eq(get(path, "one", "MatMul"), 1.0 / 3);
    cr_expect_eq(get(path, "two", "MatMul"), -1);
}

Test(cost_cache, a_later_time_replaces_an_earlier_one) {
    const char *path = cache_file();
    put_and_save(path, "one", "Conv", 0.25);
    put_and_save(path, "one", "Conv", 0.125);
    cr_expect_eq(get(path, "one", "Conv"), 0.125);
}

Test(cost_cache, what_cannot_be_read_counts_as_empty_and_is_replaced) {
    static const char *const contents[] = {"",
                                           "{",
                                           "[]",
                                           "{\"onstage_cost_cache\": 2, \"devices\": {\"one\": {\"a\": 1}}}",
                                           "{\"onstage_cost_cache\": 1, \"devices\": {\"one\": {\"a\": \"x\"}}}",
                                           "{\"onstage_cost_cache\": 1, \"devices\": {\"one\": 3}}"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; ++i) {
        const char *path = cache_file();
        put_and_save(path, "one", "first", 1); /* makes the folder */
        FILE *file = fopen(path, "w");
        fputs(contents[i], file);
        fclose(file);
        cr_expect_eq(get(path, "one", "a"), -1, "%s", contents[i]);
        put_and_save(path, "one", "b", 2);
        cr_expect_eq(get(path, "one", "b"), 2, "%s", contents[i]);
    }
}

Test(cost_cache, without_a_home_it_stays_in_memory) {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    ons_cost_cache *cache = open_cache(NULL, "one");
    cr_expect_null(ons_cost_cache_path(cache));
    expect_success(ons_cost_cache_put(cache, "a", 1));
    expect_success(ons_cost_cache_save(cache));
    ons_cost_cache_free(cache);
}

Test(cost_cache, a_folder_that_cannot_be_made_is_a_failure_with_its_name) {
    const char *path = cache_file();
    put_and_save(path, "one", "a", 1);
    char below[4096];
    snprintf(below, sizeof below, "%s/below/costs.json", path); /* a file where a folder must be */
    ons_cost_cache *cache = open_cache(below, "one");
    expect_success(ons_cost_cache_put(cache, "a", 1));
    ons_status *status = ons_cost_cache_save(cache);
    cr_expect_not_null(status);
    ons_status_free(status);
    ons_cost_cache_free(cache);
}

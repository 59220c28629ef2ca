#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/measure/cache_size.h"
#include "tests/rooms/runtime/scratch.h"

TestSuite(cache_size, .init = scratch_make, .fini = scratch_remove);

static void put(int cpu, int index, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "cpu%d/cache/index%d/%s", cpu, index, name);
    for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(scratch_path(path), 0755);
        *slash = '/';
    }
    scratch_write(scratch_path(path), text, strlen(text));
}

static void put_cache(int cpu, int index, const char *level, const char *type, const char *size, const char *sharers) {
    put(cpu, index, "level", level);
    put(cpu, index, "type", type);
    put(cpu, index, "size", size);
    put(cpu, index, "shared_cpu_list", sharers);
}

/* Every processor that this process may use, with a last level of 16 MiB: its own, or the same for all. */
static int describe_processors(bool shared) {
    cpu_set_t allowed;
    int count = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        char own[16];
        snprintf(own, sizeof own, "%d\n", cpu);
        put_cache(cpu, 0, "1\n", "Data\n", "32K\n", own);
        put_cache(cpu, 1, "1\n", "Instruction\n", "32K\n", own);
        put_cache(cpu, 2, "3\n", "Unified\n", "16384K\n", shared ? "0-1023\n" : own);
        put_cache(cpu, 3, "2\n", "Unified\n", "1M\n", own);
        ++count;
    }
    return count;
}

Test(cache_size, is_that_of_the_last_level) {
    describe_processors(true);
    cr_expect_eq(ons_cache_bytes(scratch_path(""), 1), 16 << 20);
    cr_expect_eq(ons_cache_bytes(scratch_path(""), 64), 16 << 20, "one cache, however many threads share it");
}

Test(cache_size, counts_as_many_caches_as_threads) {
    int processors = describe_processors(false);
    cr_expect_eq(ons_cache_bytes(scratch_path(""), 1), 16 << 20);
    int64_t all = ons_cache_bytes(scratch_path(""), CPU_SETSIZE);
    cr_expect(all >= 16 << 20 && all <= (int64_t)processors * (16 << 20), "%lld bytes of %d", (long long)all,
              processors);
    cr_expect(processors == 1 || all > 16 << 20);
}

Test(cache_size, is_not_known_where_nothing_is_told) {
    cr_expect_eq(ons_cache_bytes(scratch_path("nowhere"), 4), 0);
    cpu_set_t allowed;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed)) put_cache(cpu, 0, "three", "Unified", "much", "");
    cr_expect_eq(ons_cache_bytes(scratch_path(""), 4), 0);
}

Test(cache_size, of_this_machine_is_no_error) {
    cr_expect_geq(ons_cache_bytes(NULL, 1), 0);
    cr_expect_gt(ons_memory_available(), 0);
}

Test(cache_size, arrays_are_larger_than_caches_where_memory_allows) {
    const int64_t mib = 1 << 20, much = (int64_t)1 << 40;
    cr_expect_geq(ons_array_beyond_caches(32 * mib, much), 4 * 32 * mib);
    cr_expect_geq(ons_array_beyond_caches(96 * mib, much), 4 * 96 * mib);
    cr_expect_geq(ons_array_beyond_caches(0, much), 64 * mib, "nothing is known");
    cr_expect_leq(ons_array_beyond_caches(much, much), 1024 * mib, "no more than is sensible");
    for (int64_t room = 0; room <= 1024 * mib; room = room * 2 + mib) {
        int64_t bytes = ons_array_beyond_caches(32 * mib, room);
        cr_expect(bytes >= mib && bytes % mib == 0, "%lld bytes", (long long)bytes);
        cr_expect(bytes == mib || 4 * bytes <= room / 2, "%lld bytes of %lld", (long long)bytes, (long long)room);
    }
}

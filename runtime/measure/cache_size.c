#include "runtime/measure/cache_size.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096, CPUS_TEXT = 512, GROUPS_MOST = 64, INDICES_MOST = 16 };

/* ----------------------------------------------------------------------------------------------------------- caches */

/* A cache as its folder in /sys describes it. */
typedef struct cache {
    int64_t bytes;
    int level;
    char sharers[CPUS_TEXT]; /* the processors that share it */
} cache;

/* The first line of a file; false where there is none. */
static bool read_line(const char *folder, int cpu, int index, const char *name, char *line, int size) {
    char path[PATH_MOST];
    if (snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/%s", folder, cpu, index, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool read = fgets(line, size, file) != NULL;
    fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

static bool read_cache(const char *folder, int cpu, int index, cache *c) {
    char type[32], level[32], size[32], unit = 'B';
    if (!read_line(folder, cpu, index, "type", type, sizeof type) ||
        !read_line(folder, cpu, index, "level", level, sizeof level) ||
        !read_line(folder, cpu, index, "size", size, sizeof size) ||
        !read_line(folder, cpu, index, "shared_cpu_list", c->sharers, sizeof c->sharers))
        return false;
    if (strcmp(type, "Instruction") == 0 || sscanf(level, "%d", &c->level) != 1) return false;
    if (sscanf(size, "%9" SCNd64 "%c", &c->bytes, &unit) < 1 || c->bytes < 0) return false;
    c->bytes <<= unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    return true;
}

/* The last one before memory. */
static bool find_last(const char *folder, int cpu, cache *last) {
    *last = (cache){.level = 0};
    for (int index = 0; index < INDICES_MOST; ++index) {
        cache c;
        if (read_cache(folder, cpu, index, &c) && c.level > last->level) *last = c;
    }
    return last->level > 0;
}

/* Those of all processors that this process may use, each once, until there is one for each thread. */
static int64_t sum_of_caches(const char *folder, int threads) {
    cpu_set_t allowed;
    char seen[GROUPS_MOST][CPUS_TEXT];
    int groups = 0;
    int64_t sum = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && groups < threads && groups < GROUPS_MOST; ++cpu) {
        cache last;
        if (!CPU_ISSET(cpu, &allowed) || !find_last(folder, cpu, &last)) continue;
        int known = 0;
        while (known < groups && strcmp(seen[known], last.sharers) != 0) ++known;
        if (known < groups) continue;
        memcpy(seen[groups++], last.sharers, CPUS_TEXT);
        sum += last.bytes;
    }
    return sum;
}

/* What the C library knows, of one cache. */
static int64_t told_by_library(void) {
    static const int names[] = {
#ifdef _SC_LEVEL4_CACHE_SIZE
        _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
#endif
        -1};
    for (int i = 0; names[i] >= 0; ++i)
        if (sysconf(names[i]) > 0) return sysconf(names[i]);
    return 0;
}

int64_t ons_cache_bytes(const char *folder, int threads) {
    int64_t sum = sum_of_caches(folder != NULL ? folder : "/sys/devices/system/cpu", threads);
    return sum > 0 || folder != NULL ? sum : told_by_library();
}

/* ----------------------------------------------------------------------------------------------------------- memory */

/* The number behind `label` in a file; -1 where there is none. */
static int64_t number_in(const char *path, const char *label) {
    char line[256];
    int64_t number = -1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    while (number < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, label, strlen(label)) == 0 && sscanf(line + strlen(label), "%18" SCNd64, &number) != 1)
            number = -1;
    fclose(file);
    return number;
}

int64_t ons_memory_available(void) {
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    int64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    int64_t pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t least = kilobytes >= 0 ? kilobytes << 10 : pages > 0 && page > 0 ? pages * page : 0;
    for (int i = 0; i < 2; ++i) {
        int64_t limit = number_in(limits[i], "");
        if (limit >= 0 && limit < least) least = limit;
    }
    return least;
}

/* Unknown caches are taken for large ones. The most is what fills in a moment; the share leaves room for others. */
enum { TIMES = 4, SHARE_OF_MEMORY = 16, GRAIN = 1 << 20, LEAST = 64 << 20, MOST = 512 << 20, UNKNOWN_CACHE = 32 << 20 };

int64_t ons_array_beyond_caches(int64_t cache_bytes, int64_t available_bytes) {
    if (cache_bytes <= 0) cache_bytes = UNKNOWN_CACHE;
    int64_t bytes = cache_bytes > MOST / TIMES ? MOST : cache_bytes * TIMES;
    int64_t room = available_bytes / SHARE_OF_MEMORY;
    bytes = bytes > LEAST ? bytes : LEAST;
    bytes = bytes < room ? bytes : room;
    bytes -= bytes % GRAIN;
    return bytes > GRAIN ? bytes : GRAIN;
}

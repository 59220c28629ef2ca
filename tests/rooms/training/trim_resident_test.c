/* What ons_trim_resident gives back, and what it leaves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "include/onstage.h"

enum { PAGES = 64 };

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Pages of `bytes` that are in memory, by the top bit of each one's entry; -1: the system does not tell. */
static int resident_pages(const char *bytes) {
    int found = 0, entries = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (entries < 0) return -1;
    for (int i = 0; i < PAGES; ++i) {
        uint64_t entry;
        off_t at = (off_t)(((uintptr_t)bytes / page_bytes() + (size_t)i) * sizeof entry);
        if (pread(entries, &entry, sizeof entry, at) != sizeof entry) {
            found = -1;
            break;
        }
        found += (int)(entry >> 63);
    }
    close(entries);
    return found;
}

/* A private mapping of a file whose page i is full of i + 1. */
static char *map_file(void) {
    const char *folder = getenv("TEST_TMPDIR");
    char name[512];
    snprintf(name, sizeof name, "%s/trim_resident.XXXXXX", folder != NULL ? folder : "/tmp");
    int file = mkstemp(name);
    cr_assert_geq(file, 0);
    char *page = malloc(page_bytes());
    for (int i = 0; i < PAGES; ++i) {
        memset(page, i + 1, page_bytes());
        cr_assert_eq(write(file, page, page_bytes()), (ssize_t)page_bytes());
    }
    free(page);
    char *bytes = mmap(NULL, PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    cr_assert_neq(bytes, MAP_FAILED);
    close(file);
    unlink(name);
    return bytes;
}

static void read_all(const char *bytes, int changed) {
    for (int i = 0; i < PAGES; ++i)
        cr_assert_eq(bytes[(size_t)i * page_bytes()], i == changed ? 100 : i + 1, "page %d", i);
}

Test(trim_resident, files_that_were_read_leave_memory_and_are_read_again) {
    char *bytes = map_file();
    cr_assert_eq(mprotect(bytes, PAGES * page_bytes(), PROT_READ), 0);
    read_all(bytes, -1);
    int before = resident_pages(bytes);
    ons_trim_resident();
    int after = resident_pages(bytes);
    read_all(bytes, -1);
    munmap(bytes, PAGES * page_bytes());
    if (before != PAGES) cr_skip_test("the system does not tell which pages are in memory");
    cr_assert_eq(after, 0);
}

/* As a page with a breakpoint is, or one with addresses that the loader has put in. */
Test(trim_resident, a_mapping_with_a_changed_page_stays) {
    char *bytes = map_file();
    bytes[3 * page_bytes()] = 100;
    cr_assert_eq(mprotect(bytes, PAGES * page_bytes(), PROT_READ), 0);
    ons_trim_resident();
    read_all(bytes, 3);
    munmap(bytes, PAGES * page_bytes());
}

Test(trim_resident, what_can_be_written_stays) {
    char *bytes = map_file();
    read_all(bytes, -1);
    int before = resident_pages(bytes);
    ons_trim_resident();
    int after = resident_pages(bytes);
    munmap(bytes, PAGES * page_bytes());
    if (before != PAGES) cr_skip_test("the system does not tell which pages are in memory");
    cr_assert_eq(after, PAGES);
}

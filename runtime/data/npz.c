#include "runtime/data/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "runtime/data/inflate.h"
#include "runtime/data/npy.h"

/* A zip archive ends in a directory:
 *
 *   [local header, name, extra, member]… [directory entry, name, extra, comment]… [zip64 end, locator] [end, comment]
 *
 * The directory is what counts: it says where each local header is, how the member is packed, and its sizes. It is read
 * here and not by a library, because a stored member has to be found in the mapped file. */
enum {
    END_SIGNATURE = 0x06054b50,
    END_BYTES = 22,
    END64_SIGNATURE = 0x06064b50,
    END64_BYTES = 56,
    LOCATOR_SIGNATURE = 0x07064b50,
    LOCATOR_BYTES = 20,
    ENTRY_SIGNATURE = 0x02014b50,
    ENTRY_BYTES = 46,
    LOCAL_SIGNATURE = 0x04034b50,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    METHOD_STORED = 0,
    METHOD_DEFLATE = 8,
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1,
    NAME_SHOWN = 96, /* bytes of a name in a message */
};

typedef struct directory {
    uint64_t offset, size;
    uint64_t entries;
} directory;

typedef struct entry {
    const char *name; /* not terminated */
    size_t name_length;
    uint32_t flags, method, crc;
    uint64_t packed, unpacked, local;
} entry;

static uint32_t get16(const uint8_t *b) { return b[0] | (uint32_t)b[1] << 8; }

static uint32_t get32(const uint8_t *b) { return get16(b) | get16(b + 2) << 16; }

static uint64_t get64(const uint8_t *b) { return get32(b) | (uint64_t)get32(b + 4) << 32; }

static ons_status *damaged(const char *what) {
    return ons_status_new(ONS_INVALID_DATA, "the .npz archive is damaged: %s", what);
}

bool ons_npz_recognise(const uint8_t *bytes, size_t size) {
    return size >= 4 && (get32(bytes) == LOCAL_SIGNATURE || get32(bytes) == END_SIGNATURE);
}

/* Searched from the end, since a comment of any length may follow. */
static ons_status *find_directory(const uint8_t *bytes, size_t size, directory *found) {
    if (size < END_BYTES) return damaged("it is truncated");
    size_t at = size - END_BYTES;
    size_t first = at > COMMENT_MAX ? at - COMMENT_MAX : 0;
    while (get32(bytes + at) != END_SIGNATURE || at + END_BYTES + get16(bytes + at + 20) > size) {
        if (at == first) return damaged("it has no directory; is it truncated?");
        --at;
    }
    const uint8_t *end = bytes + at;
    *found = (directory){.entries = get16(end + 10), .size = get32(end + 12), .offset = get32(end + 16)};
    bool large = found->entries == 0xffff || found->size == 0xffffffff || found->offset == 0xffffffff;
    if (large && at >= LOCATOR_BYTES && get32(end - LOCATOR_BYTES) == LOCATOR_SIGNATURE) {
        uint64_t at64 = get64(end - LOCATOR_BYTES + 8);
        if (at < END64_BYTES || at64 > at - END64_BYTES || get32(bytes + at64) != END64_SIGNATURE)
            return damaged("its zip64 directory is missing");
        const uint8_t *end64 = bytes + at64;
        *found = (directory){.entries = get64(end64 + 32), .size = get64(end64 + 40), .offset = get64(end64 + 48)};
    }
    if (found->offset > at || found->size > at - found->offset || found->entries > found->size / ENTRY_BYTES)
        return damaged("its directory does not fit into the file");
    return NULL;
}

/* Sizes that do not fit into 32 bits are in an extra field, in this order, those alone that are all ones in the entry.
 */
static ons_status *read_zip64(const uint8_t *extra, size_t size, entry *e) {
    uint64_t *wide[] = {&e->unpacked, &e->packed, &e->local};
    while (size >= 4) {
        size_t length = get16(extra + 2);
        if (length > size - 4) return damaged("an extra field is truncated");
        const uint8_t *at = extra + 4;
        size_t left = get16(extra) == EXTRA_ZIP64 ? length : 0;
        for (int i = 0; i < 3 && left >= 8; ++i) {
            if (*wide[i] != 0xffffffff) continue;
            *wide[i] = get64(at);
            at += 8;
            left -= 8;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return NULL;
}

/* Reads the entry at *at and moves on to the next. */
static ons_status *read_entry(const uint8_t **at, const uint8_t *end, entry *e) {
    const uint8_t *b = *at;
    if ((size_t)(end - b) < ENTRY_BYTES || get32(b) != ENTRY_SIGNATURE) return damaged("its directory is cut off");
    size_t name = get16(b + 28), extra = get16(b + 30), comment = get16(b + 32);
    if (name + extra + comment > (size_t)(end - b) - ENTRY_BYTES) return damaged("its directory is cut off");
    *e = (entry){
        .name = (const char *)b + ENTRY_BYTES,
        .name_length = name,
        .flags = get16(b + 8),
        .method = get16(b + 10),
        .crc = get32(b + 16),
        .packed = get32(b + 20),
        .unpacked = get32(b + 24),
        .local = get32(b + 42),
    };
    *at = b + ENTRY_BYTES + name + extra + comment;
    return read_zip64(b + ENTRY_BYTES + name, extra, e);
}

static bool name_matches(const entry *e, const char *member) {
    size_t length = strlen(member);
    bool prefix = e->name_length >= length && memcmp(e->name, member, length) == 0;
    return prefix &&
           (e->name_length == length || (e->name_length == length + 4 && memcmp(e->name + length, ".npy", 4) == 0));
}

/* Appends the entry's name to the list in a message. */
static void list_name(char *list, size_t size, const entry *e) {
    size_t used = strlen(list);
    size_t length = e->name_length;
    if (length > 4 && memcmp(e->name + length - 4, ".npy", 4) == 0) length -= 4;
    if (used + length + 8 > size) {
        const char *more = used == 0 ? "..." : ", ...";
        if (used + strlen(more) < size && (used == 0 || list[used - 1] != '.')) strcat(list, more);
        return;
    }
    snprintf(list + used, size - used, "%s%.*s", used == 0 ? "" : ", ", (int)length, e->name);
}

/* Finds the member, or the only one; failures list what there is. */
static ons_status *find_entry(const uint8_t *bytes, const directory *d, const char *member, entry *found) {
    const uint8_t *at = bytes + d->offset, *end = at + d->size;
    char names[256] = "";
    uint64_t matching = 0;
    for (uint64_t i = 0; i < d->entries; ++i) {
        entry e = {.name = ""};
        ONS_TRY(read_entry(&at, end, &e));
        list_name(names, sizeof names, &e);
        if (member == NULL || name_matches(&e, member)) {
            *found = e;
            ++matching;
        }
    }
    ONS_CHECK(d->entries > 0, ONS_INVALID_DATA, "the .npz archive is empty");
    ONS_CHECK(matching > 0, ONS_INVALID_DATA, "the .npz archive has no member '%s'; it has: %s", member, names);
    ONS_CHECK(matching == 1, ONS_INVALID_DATA,
              "the .npz archive has several members; name one, as in FILE.npz:MEMBER: %s", names);
    return NULL;
}

/* Where the member's bytes begin: after its local header, whose name and extra field may differ in length. */
static ons_status *find_contents(const uint8_t *bytes, size_t size, const entry *e, const uint8_t **contents) {
    if (size < LOCAL_BYTES || e->local > size - LOCAL_BYTES || get32(bytes + e->local) != LOCAL_SIGNATURE)
        return damaged("a member's header is missing");
    const uint8_t *local = bytes + e->local;
    uint64_t start = e->local + LOCAL_BYTES + get16(local + 26) + get16(local + 28);
    if (start > size || e->packed > size - start) return damaged("a member does not fit into the file");
    *contents = bytes + start;
    return NULL;
}

static uint32_t checksum(const uint8_t *bytes, size_t size) {
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, size);
}

/* A member is unpacked first, and the array found in it moves along. */
static ons_status *parse_packed(const uint8_t *packed, const entry *e, ons_array *array) {
    if (!ons_inflate_plausible(e->packed, e->unpacked))
        return damaged("a member announces more than its bytes can hold");
    uint8_t *memory = malloc(e->unpacked > 0 ? e->unpacked : 1);
    if (memory == NULL) return ons_status_out_of_memory();
    size_t made;
    ons_status *status = ons_inflate(packed, e->packed, ONS_PACKING_DEFLATE, memory, e->unpacked, true, &made);
    if (status == NULL && checksum(memory, e->unpacked) != e->crc) status = damaged("a member's checksum is wrong");
    if (status == NULL) status = ons_npy_parse(memory, e->unpacked, array);
    if (status != NULL ||
        array->memory != NULL) /* a big-endian array, or one in Fortran's order, has a copy of its own */
        free(memory);
    else
        array->memory = memory;
    return status;
}

static ons_status *parse_entry(const uint8_t *bytes, size_t size, const entry *e, ons_array *array) {
    const uint8_t *contents = NULL;
    ONS_TRY(find_contents(bytes, size, e, &contents));
    ONS_CHECK((e->flags & FLAG_ENCRYPTED) == 0, ONS_UNSUPPORTED, "it is encrypted");
    if (e->method == METHOD_DEFLATE) return parse_packed(contents, e, array);
    ONS_CHECK(e->method == METHOD_STORED, ONS_UNSUPPORTED,
              "packed by method %u; write it with numpy.savez or numpy.savez_compressed", e->method);
    if (e->packed != e->unpacked) return damaged("a stored member has two sizes");
    return ons_npy_parse(contents, e->unpacked, array); /* not read through for its checksum: it may be large */
}

ons_status *ons_npz_parse(const uint8_t *bytes, size_t size, const char *member, ons_array *array) {
    directory d = {0};
    entry e = {.name = ""};
    ONS_TRY(find_directory(bytes, size, &d));
    ONS_TRY(find_entry(bytes, &d, member, &e));
    int shown = (int)(e.name_length < NAME_SHOWN ? e.name_length : NAME_SHOWN);
    return ons_status_at(parse_entry(bytes, size, &e, array), "member '%.*s'", shown, e.name);
}

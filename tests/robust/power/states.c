/* states RECORD BEFORE OUT: every state in which a loss of power may leave a folder.
 *
 * BEFORE holds the folder's files before the recorded run, RECORD what the run did to them (history.h). Power is lost
 * after each operation. Until a file is synced, its data since the last sync may be there, be lost, or be zeros; until
 * a folder is synced, every subset of the changes of its names may be lost (POSIX orders none of them). Beyond
 * SUBSETS_MAX pending changes of names these are tried: every prefix, and each change alone lost or alone kept; beyond
 * DATA_MAX files with pending data, all alike, and each alone.
 *
 * Different states become the folders OUT/1, OUT/2, …, with a line each on standard output:
 *
 *     NUMBER end|early AFTER WHAT...
 *
 * "end": the run had ended, so that the result must be the new one. OUT/whole is the state if nothing is lost. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/robust/power/history.h"

enum { SUBSETS_MAX = 6, DATA_MAX = 3, PENDING_MAX = 256, STATES_MAX = 1 << 16 };

typedef enum fate { KEPT, LOST, ZEROS } fate;

/* The moment at which the power is lost, and what was not synced then. */
typedef struct moment {
    const history *h;
    int count;              /* operations that were made */
    int names[PENDING_MAX]; /* operations on names */
    int name_count;
    int files[PENDING_MAX]; /* with data */
    int file_count;
    bool pending[OPERATIONS_MAX];
} moment;

typedef struct choice {
    bool lost[PENDING_MAX]; /* of moment.names */
    fate data[PENDING_MAX]; /* of moment.files */
} choice;

static uint64_t seen[STATES_MAX];
static int seen_count;
static const char *out;

/* ----------------------------------------------------------------------------------------------------- one state */

static fate fate_of(const moment *m, const choice *c, int number) {
    const operation *o = &m->h->operations[number];
    if (!m->pending[number]) return KEPT;
    for (int i = 0; i < m->name_count; ++i)
        if (m->names[i] == number) return c->lost[i] ? LOST : KEPT;
    for (int i = 0; i < m->file_count; ++i)
        if (m->files[i] == o->file) return c->data[i];
    return KEPT;
}

static void make_state(const moment *m, const choice *c, tree *t) {
    tree_copy(&m->h->before, t);
    for (int i = 0; i < m->count; ++i) {
        fate f = fate_of(m, c, i);
        if (f != LOST) tree_apply(t, &m->h->operations[i], f == ZEROS);
    }
}

static uint64_t hash(uint64_t digest, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; ++i) digest = (digest ^ at[i]) * 1099511628211u;
    return digest;
}

/* The same for every order of the entries: their digests are added up. */
static uint64_t digest_folder(const tree *t, int folder) {
    uint64_t sum = 1;
    for (int i = 0; i < t->entry_count; ++i) {
        const entry *e = &t->entries[i];
        if (e->folder != folder) continue;
        const inode *f = &t->files[e->file];
        uint64_t below = f->is_folder ? digest_folder(t, e->file) : hash(7, f->contents.bytes, f->contents.size);
        uint64_t digest = hash(14695981039346656037u, e->name, strlen(e->name) + 1);
        sum += hash(digest, &below, sizeof below);
    }
    return sum;
}

static void fail_on(const char *path) {
    perror(path);
    exit(1);
}

static void write_folder(const tree *t, int folder, const char *path) {
    if (mkdir(path, 0777) != 0) fail_on(path);
    for (int i = 0; i < t->entry_count; ++i) {
        const entry *e = &t->entries[i];
        char below[PATH_MAX];
        if (e->folder != folder) continue;
        if (snprintf(below, sizeof below, "%s/%s", path, e->name) >= (int)sizeof below) fail_on(path);
        if (t->files[e->file].is_folder) {
            write_folder(t, e->file, below);
            continue;
        }
        const contents *c = &t->files[e->file].contents;
        FILE *to = fopen(below, "wb");
        if (to == NULL || fwrite(c->bytes, 1, c->size, to) != c->size || fclose(to) != 0) fail_on(below);
    }
}

static bool is_new(uint64_t digest) {
    for (int i = 0; i < seen_count; ++i)
        if (seen[i] == digest) return false;
    if (seen_count == STATES_MAX) {
        fprintf(stderr, "more than %d states\n", STATES_MAX);
        exit(1);
    }
    seen[seen_count++] = digest;
    return true;
}

static void describe(const moment *m, const choice *c) {
    printf("%d %s after %d of %d operations", seen_count, m->count == m->h->count ? "end" : "early", m->count,
           m->h->count);
    for (int i = 0; i < m->name_count; ++i) {
        const operation *o = &m->h->operations[m->names[i]];
        if (c->lost[i])
            printf(", %s%s lost", o->kind == ADD ? "" : o->kind == REMOVE ? "removal of " : "new name of ", o->name);
    }
    for (int i = 0; i < m->file_count; ++i)
        if (c->data[i] != KEPT) printf(", data %d %s", m->files[i], c->data[i] == LOST ? "lost" : "zeros");
    printf("\n");
}

static void note_state(const moment *m, const choice *c) {
    static tree t;
    char path[PATH_MAX];
    make_state(m, c, &t);
    if (is_new(digest_folder(&t, ROOT))) {
        snprintf(path, sizeof path, "%s/%d", out, seen_count);
        write_folder(&t, ROOT, path);
        describe(m, c);
    }
    tree_free(&t);
}

/* ---------------------------------------------------------------------------------------------------- all choices */

static void for_data_alike(const moment *m, choice *c, fate others, fate one) {
    for (int k = 0; k < m->file_count; ++k) {
        for (int i = 0; i < m->file_count; ++i) c->data[i] = i == k ? one : others;
        note_state(m, c);
    }
}

static void for_all_data(const moment *m, choice *c, int from) {
    if (m->file_count > DATA_MAX) {
        for (fate f = KEPT; f <= ZEROS; ++f)
            for (fate one = KEPT; one <= ZEROS; ++one) for_data_alike(m, c, f, one);
        return;
    }
    if (from == m->file_count) {
        note_state(m, c);
        return;
    }
    for (fate f = KEPT; f <= ZEROS; ++f) {
        c->data[from] = f;
        for_all_data(m, c, from + 1);
    }
}

static void for_subsets(const moment *m, choice *c) {
    for (unsigned subset = 0; subset < 1u << m->name_count; ++subset) {
        for (int i = 0; i < m->name_count; ++i) c->lost[i] = (subset >> i & 1) != 0;
        for_all_data(m, c, 0);
    }
}

static void for_prefixes_and_singles(const moment *m, choice *c) {
    for (int k = 0; k <= m->name_count; ++k)
        for (int way = 0; way < 3; ++way) {
            for (int i = 0; i < m->name_count; ++i) c->lost[i] = way == 0 ? i >= k : way == 1 ? i == k : i != k;
            for_all_data(m, c, 0);
        }
}

static bool is_synced(const moment *m, int file, int since) {
    for (int i = since; i < m->count; ++i)
        if (m->h->operations[i].kind == SYNC && m->h->operations[i].file == file) return true;
    return false;
}

static bool has_file(const moment *m, int file) {
    for (int i = 0; i < m->file_count; ++i)
        if (m->files[i] == file) return true;
    return false;
}

static void find_pending(moment *m) {
    for (int i = 0; i < m->count; ++i) {
        const operation *o = &m->h->operations[i];
        bool names = changes_names(o);
        m->pending[i] = o->kind != SYNC && !is_synced(m, names ? o->folder : o->file, i);
        if (!m->pending[i]) continue;
        if (m->name_count == PENDING_MAX || m->file_count == PENDING_MAX) fail_on("too much is pending");
        if (names)
            m->names[m->name_count++] = i;
        else if (!has_file(m, o->file))
            m->files[m->file_count++] = o->file;
    }
}

static void lose_power(const history *h, int count) {
    static moment m;
    static choice c;
    m = (moment){.h = h, .count = count};
    c = (choice){.lost = {false}};
    find_pending(&m);
    if (m.name_count <= SUBSETS_MAX)
        for_subsets(&m, &c);
    else
        for_prefixes_and_singles(&m, &c);
}

static void write_whole(const history *h) {
    static tree t;
    char path[PATH_MAX];
    tree_copy(&h->before, &t);
    for (int i = 0; i < h->count; ++i) tree_apply(&t, &h->operations[i], false);
    snprintf(path, sizeof path, "%s/whole", out);
    write_folder(&t, ROOT, path);
    tree_free(&t);
}

int main(int argc, char **argv) {
    if (argc != 4) return 1;
    const history *h = read_history(argv[1], argv[2]);
    out = argv[3];
    write_whole(h);
    /* From the end: a state that the end and an earlier moment share must hold what the end promises. */
    for (int count = h->count; count >= 0; --count) lose_power(h, count);
    return 0;
}

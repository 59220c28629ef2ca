#include "tests/robust/power/history.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static _Noreturn void stop(const char *why, const char *what) {
    fprintf(stderr, "%s: %s\n", why, what);
    exit(1);
}

#define check(right, why, what) ((right) ? (void)0 : stop(why, what))

/* ------------------------------------------------------------------------------------------------------------- tree */

static entry *find_entry(tree *t, int folder, const char *name) {
    for (int i = 0; i < t->entry_count; ++i)
        if (t->entries[i].folder == folder && strcmp(t->entries[i].name, name) == 0) return &t->entries[i];
    return NULL;
}

static void bind_name(tree *t, int folder, const char *name, int file) {
    entry *e = find_entry(t, folder, name);
    check(e != NULL || t->entry_count < ENTRIES_MAX, "too many names", name);
    if (e == NULL) e = &t->entries[t->entry_count++];
    *e = (entry){.folder = folder, .file = file};
    strcpy(e->name, name);
}

/* A name that leads to another file by now stays. */
static void unbind_name(tree *t, int folder, const char *name, int file) {
    entry *e = find_entry(t, folder, name);
    if (e != NULL && e->file == file) *e = t->entries[--t->entry_count];
}

static void resize(contents *c, size_t size) {
    char *bytes = realloc(c->bytes, size + 1);
    check(bytes != NULL, "out of memory", "contents");
    c->bytes = bytes;
    if (size > c->size) memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}

void tree_apply(tree *t, const operation *o, bool zeros) {
    contents *c = &t->files[o->file].contents;
    switch (o->kind) {
    case WRITE:
        if (o->offset + o->size > c->size) resize(c, o->offset + o->size);
        if (zeros)
            memset(c->bytes + o->offset, 0, o->size);
        else
            memcpy(c->bytes + o->offset, o->bytes, o->size);
        break;
    case TRUNCATE: resize(c, o->size); break;
    case SYNC: break;
    case ADD: bind_name(t, o->folder, o->name, o->file); break;
    case REMOVE: unbind_name(t, o->folder, o->name, o->file); break;
    case RENAME:
        unbind_name(t, o->folder, o->name, o->file);
        bind_name(t, o->folder, o->new_name, o->file);
        break;
    }
}

void tree_copy(const tree *from, tree *to) {
    *to = *from;
    for (int i = 0; i < to->file_count; ++i) {
        to->files[i].contents = (contents){0};
        resize(&to->files[i].contents, from->files[i].contents.size);
        if (from->files[i].contents.size > 0)
            memcpy(to->files[i].contents.bytes, from->files[i].contents.bytes, from->files[i].contents.size);
    }
}

void tree_free(tree *t) {
    for (int i = 0; i < t->file_count; ++i) free(t->files[i].contents.bytes);
    t->file_count = 0;
}

static int new_file(tree *t, bool is_folder) {
    check(t->file_count < FILES_MAX, "too many files", "");
    t->files[t->file_count] = (inode){.is_folder = is_folder};
    return t->file_count++;
}

/* ----------------------------------------------------------------------------------------------------------- before */

static void read_contents(const char *path, contents *c) {
    FILE *in = fopen(path, "rb");
    struct stat found;
    check(in != NULL && fstat(fileno(in), &found) == 0, "cannot read", path);
    resize(c, (size_t)found.st_size);
    check(fread(c->bytes, 1, c->size, in) == c->size, "cannot read", path);
    fclose(in);
}

static void read_folder(tree *t, const char *path, int folder) {
    DIR *directory = opendir(path);
    check(directory != NULL, "cannot read", path);
    for (struct dirent *each; (each = readdir(directory)) != NULL;) {
        char below[PATH_MAX];
        if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0) continue;
        snprintf(below, sizeof below, "%s/%s", path, each->d_name);
        struct stat found;
        check(stat(below, &found) == 0, "cannot read", below);
        int number = new_file(t, S_ISDIR(found.st_mode));
        bind_name(t, folder, each->d_name, number);
        if (S_ISDIR(found.st_mode))
            read_folder(t, below, number);
        else
            read_contents(below, &t->files[number].contents);
    }
    closedir(directory);
}

/* ----------------------------------------------------------------------------------------------------------- record */

/* While the record is read: the tree as it is after all operations so far, and the files that are open. */
typedef struct reading {
    history *h;
    tree now;
    int open[FILES_MAX]; /* by descriptor; -1: none */
    FILE *in;
} reading;

static void add(reading *r, operation o) {
    check(r->h->count < OPERATIONS_MAX, "too many operations", "");
    r->h->operations[r->h->count++] = o;
    tree_apply(&r->now, &o, false);
}

/* The folder that a path is in; `name` is what it is called there. */
static int find_folder(reading *r, const char *path, char name[NAME_BYTES]) {
    int folder = ROOT;
    for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        check(slash - path < NAME_BYTES, "a long name", path);
        snprintf(name, NAME_BYTES, "%.*s", (int)(slash - path), path);
        const entry *e = find_entry(&r->now, folder, name);
        check(e != NULL, "no such folder", path);
        folder = e->file;
    }
    check(strlen(path) < NAME_BYTES, "a long name", path);
    strcpy(name, path);
    return folder;
}

/* The numbers of files are those of the tree before, which has room for all. */
static int make_file(reading *r, bool is_folder) {
    new_file(&r->h->before, is_folder);
    return new_file(&r->now, is_folder);
}

static void read_open(reading *r, int descriptor, bool truncates, const char *path) {
    operation o = {.kind = ADD, .file = ROOT};
    o.folder = find_folder(r, path, o.name);
    const entry *e = find_entry(&r->now, o.folder, o.name);
    if (e != NULL)
        o.file = e->file;
    else if (strcmp(path, ".") != 0) {
        o.file = make_file(r, false);
        add(r, o);
    }
    check(descriptor >= 0 && descriptor < FILES_MAX, "an impossible descriptor", path);
    r->open[descriptor] = o.file;
    if (e != NULL && truncates) add(r, (operation){.kind = TRUNCATE, .file = o.file});
}

static void read_write(reading *r, int file, size_t offset, size_t size) {
    operation o = {.kind = WRITE, .file = file, .offset = offset, .size = size, .bytes = malloc(size + 1)};
    check(o.bytes != NULL, "out of memory", "write");
    check(fread(o.bytes, 1, size, r->in) == size && fgetc(r->in) == '\n', "the record ends early", "write");
    add(r, o);
}

static void read_names(reading *r, const char *line) {
    operation o = {.kind = REMOVE};
    char path[PATH_MAX], to[PATH_MAX];
    bool is_rename = sscanf(line, "rename %4000s", path) == 1, is_folder = sscanf(line, "folder %4000s", path) == 1;
    check(is_rename || is_folder || sscanf(line, "remove %4000s", path) == 1, "not understood", line);
    o.folder = find_folder(r, path, o.name);
    const entry *e = find_entry(&r->now, o.folder, o.name);
    check((e != NULL) != is_folder, "the name is not as recorded", line);
    o.file = is_folder ? make_file(r, true) : e->file;
    if (is_folder) o.kind = ADD;
    if (is_rename) {
        o.kind = RENAME;
        check(fscanf(r->in, "to %4000s\n", to) == 1, "a new name is missing", line);
        check(find_folder(r, to, o.new_name) == o.folder, "renamed into another folder, which has no model here", line);
    }
    add(r, o);
}

static void read_line(reading *r, char *line) {
    int descriptor = -1, truncates, at;
    size_t offset, size;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "open %d %d %n", &descriptor, &truncates, &at) == 2) {
        read_open(r, descriptor, truncates != 0, line + at);
        return;
    }
    if (sscanf(line, "%*s %d", &descriptor) != 1) {
        read_names(r, line);
        return;
    }
    int file = descriptor >= 0 && descriptor < FILES_MAX ? r->open[descriptor] : -1;
    check(file >= 0, "not an open file", line);
    if (sscanf(line, "write %*d %zu %zu", &offset, &size) == 2)
        read_write(r, file, offset, size);
    else if (sscanf(line, "truncate %*d %zu", &size) == 1)
        add(r, (operation){.kind = TRUNCATE, .file = file, .size = size});
    else if (strncmp(line, "sync", 4) == 0)
        add(r, (operation){.kind = SYNC, .file = file});
    else
        r->open[descriptor] = -1;
}

history *read_history(const char *record, const char *folder_before) {
    static reading r;
    char line[2 * PATH_MAX];
    r.h = calloc(1, sizeof *r.h);
    r.in = fopen(record, "rb");
    check(r.h != NULL && r.in != NULL, "cannot read", record);
    memset(r.open, -1, sizeof r.open);
    new_file(&r.h->before, true);
    read_folder(&r.h->before, folder_before, ROOT);
    tree_copy(&r.h->before, &r.now);
    while (fgets(line, sizeof line, r.in) != NULL) read_line(&r, line);
    fclose(r.in);
    tree_free(&r.now);
    return r.h;
}

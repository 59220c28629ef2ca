/* What a program did to a folder: its files before, and the recorded operations on them, in order.
 *
 * The record (record.c) has a line for each call that succeeded; paths are relative to the folder:
 *
 *   open D TRUNCATES PATH    write D OFFSET SIZE, then the bytes and a line end    truncate D SIZE    sync D    close D
 *   rename PATH, then a line "to PATH"    remove PATH    folder PATH
 *
 * Reading it turns descriptors and paths into files, which keep their identity when they are renamed or removed. */
#ifndef ONSTAGE_TESTS_ROBUST_POWER_HISTORY_H
#define ONSTAGE_TESTS_ROBUST_POWER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_BYTES = 256, FILES_MAX = 1024, ENTRIES_MAX = 1024, OPERATIONS_MAX = 4096, ROOT = 0 };

typedef struct contents {
    char *bytes;
    size_t size;
} contents;

/* A file or a folder, whatever its names. */
typedef struct inode {
    bool is_folder;
    contents contents;
} inode;

/* A name in a folder. */
typedef struct entry {
    int folder, file;
    char name[NAME_BYTES];
} entry;

/* Files and names. Copies share nothing. */
typedef struct tree {
    inode files[FILES_MAX];
    int file_count;
    entry entries[ENTRIES_MAX];
    int entry_count;
} tree;

typedef enum operation_kind {
    WRITE,    /* bytes at offset */
    TRUNCATE, /* to size */
    SYNC,     /* of a file or a folder */
    ADD,      /* name in folder is the file from now on */
    REMOVE,   /* name in folder */
    RENAME    /* name to new_name, in one folder */
} operation_kind;

typedef struct operation {
    operation_kind kind;
    int file;   /* whose data change, or that is synced, or whose name changes */
    int folder; /* of the names */
    char name[NAME_BYTES], new_name[NAME_BYTES];
    size_t offset, size;
    char *bytes;
} operation;

typedef struct history {
    tree before;
    operation operations[OPERATIONS_MAX];
    int count;
} history;

/* Names and data are what may be lost. */
static inline bool changes_names(const operation *o) { return o->kind >= ADD; }
static inline bool changes_data(const operation *o) { return o->kind <= TRUNCATE; }

/* Ends the program with a message if anything cannot be read. The history is the program's until its end. */
history *read_history(const char *record, const char *folder_before);

void tree_copy(const tree *from, tree *to);
void tree_free(tree *t);
/* `zeros`: the bytes that are written are zeros. */
void tree_apply(tree *t, const operation *o, bool zeros);

#endif

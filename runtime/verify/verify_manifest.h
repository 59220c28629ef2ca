/* The communication manifest of a stage lists what it sends and receives in a pass, in order, so that stages can be
 * compared where each process knows its own program alone. It is bytes, which processes of one program exchange. */
#ifndef ONSTAGE_RUNTIME_VERIFY_VERIFY_MANIFEST_H
#define ONSTAGE_RUNTIME_VERIFY_VERIFY_MANIFEST_H

#include "runtime/verify/verify_steps.h"

typedef struct ons_manifest_transfer {
    uint32_t peer, copies; /* the group at the other end, and how many copies it has */
    uint32_t channel, kind, number;
    uint32_t ring; /* of a receive: its places */
    uint32_t half; /* which of the lineup's programs sends or receives it */
    uint64_t name; /* where it begins */
    int64_t bytes;
    ons_type type;
} ons_manifest_transfer;

typedef enum ons_manifest_event_kind {
    ONS_MANIFEST_SEND,    /* send `index` is ready */
    ONS_MANIFEST_WAIT,    /* until send `index` has gone to the copy, `count` times so far */
    ONS_MANIFEST_AWAIT,   /* what receive `index` brings is read */
    ONS_MANIFEST_RELEASE, /* its place is free again */
} ons_manifest_event_kind;

typedef struct ons_manifest_event {
    uint32_t kind, index, micro_batch, count;
    uint32_t copy; /* send, wait: which of the receiver's */
} ons_manifest_event;

typedef struct ons_manifest_header {
    uint64_t bytes;                                              /* of all of it, this included */
    uint32_t stage, stages, micro_batches, updates;              /* micro-batches as the schedule counts them */
    uint32_t size, rest;                                         /* see ons_verify_options */
    uint32_t send_count, receive_count, event_count, name_bytes; /* of both programs */
    uint32_t first_count;  /* micro-batches of the first program; as `micro_batches` where there is no other */
    uint32_t asynchronous; /* or not */
    uint32_t programs;     /* 1 or 2 */
    ons_verify_share share;
} ons_manifest_header;

/* The manifest of one pass of one stage; it points into the bytes. */
typedef struct ons_manifest {
    const ons_manifest_header *head;
    const ons_manifest_transfer *sends, *receives; /* the first program's, then the second's */
    const ons_manifest_event *events;              /* in the order of its compute stream */
    const char *names;
} ons_manifest;

/* Appends the manifest of a pass. */
ons_status *ons_manifest_write(const ons_verify_options *options, uint32_t stage, const ons_verify_steps *steps,
                               ons_verify_bytes *bytes);

/* Reads the manifest at *at, which moves to the next one. The failure names the stage that wrote it. */
ons_status *ons_manifest_read(const unsigned char *bytes, size_t size, size_t *at, uint32_t stage,
                              ons_manifest *manifest);

/* Check whether all stages of a pass can exchange what they want to: both ends of each message, and then the order of
 * all. */
ons_status *ons_manifests_check_pairs(const ons_manifest *manifests, uint32_t stages);
ons_status *ons_manifests_simulate(const ons_manifest *manifests, uint32_t stages);

#endif

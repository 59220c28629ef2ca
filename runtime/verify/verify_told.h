/* What a stage tells the others of a flight, so that what they send each other can be compared where each knows its own
 * program alone: as bytes, which processes of one program exchange. */
#ifndef ONSTAGE_RUNTIME_VERIFY_VERIFY_TOLD_H
#define ONSTAGE_RUNTIME_VERIFY_VERIFY_TOLD_H

#include "runtime/verify/verify_steps.h"

typedef struct ons_told_transfer {
    uint32_t peer, channel, kind, number;
    uint32_t ring; /* of a receive: its places */
    uint32_t half; /* which of the lineup's programs sends or receives it */
    uint64_t name; /* where it begins */
    int64_t bytes;
    ons_type type;
} ons_told_transfer;

typedef enum ons_told_kind {
    ONS_TOLD_SEND,    /* send `index` is ready */
    ONS_TOLD_WAIT,    /* until send `index` has gone, `count` times so far */
    ONS_TOLD_AWAIT,   /* what receive `index` brings is read */
    ONS_TOLD_RELEASE, /* its place is free again */
} ons_told_kind;

typedef struct ons_told_event {
    uint32_t kind, index, micro_batch, count;
} ons_told_event;

typedef struct ons_told_head {
    uint64_t bytes; /* of all of it, this included */
    uint32_t stage, stages, micro_batches, updates;
    uint32_t send_count, receive_count, event_count, name_bytes; /* of both programs */
    uint32_t first_count;  /* micro-batches of the first program; as `micro_batches` where there is no other */
    uint32_t asynchronous; /* or not */
} ons_told_head;

/* One flight of one stage; points into the bytes. */
typedef struct ons_told {
    const ons_told_head *head;
    const ons_told_transfer *sends, *receives; /* the first program's, then the second's */
    const ons_told_event *events;              /* in the order of its compute stream */
    const char *names;
} ons_told;

/* Appends a flight. */
ons_status *ons_told_write(const ons_verify_options *options, uint32_t stage, const ons_verify_steps *steps,
                           ons_verify_bytes *bytes);

/* The flight at *at, which moves to the next one. The failure names the stage that told it. */
ons_status *ons_told_read(const unsigned char *bytes, size_t size, size_t *at, uint32_t stage, ons_told *told);

/* Whether all stages of a flight can exchange what they want to. */
ons_status *ons_told_check_pairs(const ons_told *told, uint32_t stages);
ons_status *ons_told_play(const ons_told *told, uint32_t stages);

#endif

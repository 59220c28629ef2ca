/* Curves for TensorBoard: an event file (TFRecord framing around protobuf messages, both encoded here) with one scalar
 * per record. Adding a scalar allocates nothing. */
#ifndef ONSTAGE_RUNTIME_LOG_TENSORBOARD_H
#define ONSTAGE_RUNTIME_LOG_TENSORBOARD_H

#include "base/status.h"

typedef struct ons_tensorboard ons_tensorboard;

/* Opens a new file FOLDER/events.out.tfevents.<time>.<host>.<process>; the folder is made if it is missing. `resumed`:
 * TensorBoard is told to forget what earlier files in the folder say about steps after `step`. `wall_time` in seconds
 * since 1970. */
ons_status *ons_tensorboard_open(const char *folder, double wall_time, bool resumed, uint64_t step,
                                 ons_tensorboard **result);

/* "loss" and the like; `tag` has at most 512 bytes. Buffered. */
ons_status *ons_tensorboard_scalar(ons_tensorboard *board, const char *tag, uint64_t step, double wall_time,
                                   double value);

/* Writes everything so far to the file, for a viewer to see: about once a second. */
ons_status *ons_tensorboard_flush(ons_tensorboard *board);

/* Flushes; frees in any case. NULL is fine. */
ons_status *ons_tensorboard_close(ons_tensorboard *board);

/* Gives the checksum with which TFRecord frames a record: for tests and readers. */
uint32_t ons_crc32c(const void *bytes, size_t size);
uint32_t ons_masked_crc32c(const void *bytes, size_t size);

#endif

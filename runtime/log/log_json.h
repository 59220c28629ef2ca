/* The log for programs: one JSON object a line, written to the file as soon as the line is complete.
 *
 *   w = ons_log_json_begin(log, 12);        {"step":12,
 *   ons_json_put_double(w, "loss", 0.5);     "loss":0.5
 *   ons_log_json_end(log);                  }
 *
 * Writing a line allocates nothing.
 */
#ifndef ONSTAGE_RUNTIME_LOG_LOG_JSON_H
#define ONSTAGE_RUNTIME_LOG_LOG_JSON_H

#include "base/json_writer.h"

typedef struct ons_log_json ons_log_json;

/* Opens a fresh log; an existing file is replaced by an empty one. Devices and pipes are fine. */
ons_status *ons_log_json_open(const char *path, ons_log_json **log);

/* Goes on with a log: lines with "step" above `step`, and a last line without its end, are cut off. Other lines stay as
 * they are. A missing file is fine. A file with a line that is not a JSON object is no log of ours: refused, unchanged.
 */
ons_status *ons_log_json_resume(const char *path, uint64_t step, ons_log_json **log);

/* Starts a line. Further members go to the writer that is returned. */
ons_json_writer *ons_log_json_begin(ons_log_json *log, uint64_t step);
/* Ends the line. On failure (a full disk) what was written of it is taken back. */
ons_status *ons_log_json_end(ons_log_json *log);

/* Lines are on the disk: called before a checkpoint, so that the log is never behind it. */
ons_status *ons_log_json_sync(ons_log_json *log);

/* NULL is fine. */
void ons_log_json_close(ons_log_json *log);

#endif

/* One run at a time in a folder of checkpoints: two would remove each other's files, and resume from each other's. */
#ifndef ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_LOCK_H
#define ONSTAGE_RUNTIME_CHECKPOINT_CHECKPOINT_LOCK_H

#include "base/status.h"

typedef struct ons_checkpoint_lock ons_checkpoint_lock;

/* Makes the folder if it is missing. Fails where another run has it, and says which. A run that was killed holds no
 * lock. Where the file system has no locks, everybody gets one. */
ons_status *ons_checkpoint_lock_take(const char *folder, ons_checkpoint_lock **lock);

/* Leaves no file, and no folder that was made and stayed empty. NULL is fine. */
void ons_checkpoint_lock_release(ons_checkpoint_lock *lock);

#endif

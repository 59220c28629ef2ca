#include "runtime/transport/nccl_api.h"

#include <pthread.h>

#include "device/cuda_library.h"

static const char usual_file[] = "libnccl.so.2";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *file = usual_file;
static bool loaded;
static ons_nccl_api functions;

static ons_status *load(void) {
    const ons_cuda_symbol symbols[] = {
        {"ncclGetVersion", (void **)&functions.get_version},
        {"ncclGetUniqueId", (void **)&functions.get_unique_id},
        {"ncclCommInitRankConfig", (void **)&functions.comm_init_rank_config},
        {"ncclCommAbort", (void **)&functions.comm_abort},
        {"ncclCommGetAsyncError", (void **)&functions.comm_get_async_error},
        {"ncclGetErrorString", (void **)&functions.get_error_string},
        {"ncclGetLastError", (void **)&functions.get_last_error},
        {"ncclSend", (void **)&functions.send},
        {"ncclRecv", (void **)&functions.recv},
        {"ncclAllReduce", (void **)&functions.all_reduce},
        {"ncclGroupStart", (void **)&functions.group_start},
        {"ncclGroupEnd", (void **)&functions.group_end},
        {NULL, NULL},
    };
    ONS_TRY(ons_cuda_library_load(file, "messages between GPUs", symbols));
    int version = 0;
    ONS_CHECK(functions.get_version(&version) == ONS_NCCL_SUCCESS && version >= ONS_NCCL_LEAST_VERSION, ONS_UNSUPPORTED,
              "%s is NCCL %d.%d, 2.18 or newer is needed", file, version / 10000, version % 10000 / 100);
    return NULL;
}

ons_status *ons_nccl_load(const ons_nccl_api **api) {
    pthread_mutex_lock(&lock);
    ons_status *status = loaded ? NULL : load();
    loaded = status == NULL;
    pthread_mutex_unlock(&lock);
    *api = &functions;
    return status;
}

void ons_nccl_load_from(const char *other) {
    pthread_mutex_lock(&lock);
    file = other == NULL ? usual_file : other;
    loaded = false;
    pthread_mutex_unlock(&lock);
}

/* The functions of NCCL that the transport uses, as its library has them. No header of NCCL's is needed: these
 * declarations have been the same since NCCL 2.18 (tests/fake_gpu/nccl/abi.c compares them with nccl.h). */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_NCCL_API_H
#define ONSTAGE_RUNTIME_TRANSPORT_NCCL_API_H

#include <limits.h>
#include <stddef.h>

#include "base/status.h"

/* ncclResult_t, ncclDataType_t, ncclRedOp_t. */
enum { ONS_NCCL_SUCCESS = 0, ONS_NCCL_REMOTE_ERROR = 6, ONS_NCCL_IN_PROGRESS = 7 };
enum { ONS_NCCL_UINT8 = 1, ONS_NCCL_UINT64 = 5 };
enum { ONS_NCCL_MAX = 2 };
enum { ONS_NCCL_LEAST_VERSION = 21800, ONS_NCCL_MAGIC = (int)0xcafebeefu, ONS_NCCL_UNDEFINED = INT_MIN };

typedef struct ons_nccl_id {
    char bytes[128];
} ons_nccl_id;

/* ncclConfig_t as of 2.18; newer libraries take what is missing as undefined. */
typedef struct ons_nccl_config {
    size_t size;
    int magic;
    unsigned version;
    int blocking, group_size, least_blocks, most_blocks;
    const char *net_name;
    int split_share;
} ons_nccl_config;

/* The result is an ncclResult_t, a communicator an ncclComm_t, a stream a cudaStream_t. */
typedef struct ons_nccl_api {
    int (*get_version)(int *version);
    int (*get_unique_id)(ons_nccl_id *id);
    int (*comm_init_rank_config)(void **comm, int ranks, ons_nccl_id id, int rank, ons_nccl_config *config);
    int (*comm_abort)(void *comm);
    int (*comm_get_async_error)(void *comm, int *error);
    const char *(*get_error_string)(int result);
    const char *(*get_last_error)(void *comm);
    int (*send)(const void *data, size_t count, int type, int peer, void *comm, void *stream);
    int (*recv)(void *data, size_t count, int type, int peer, void *comm, void *stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
} ons_nccl_api;

/* Loads libnccl.so.2 where it is not loaded yet; a failure says what is missing. Any thread. */
ons_status *ons_nccl_load(const ons_nccl_api **api);

/* Makes the next load open this file, for tests; NULL: the usual one. Not while anybody uses what was loaded. */
void ons_nccl_load_from(const char *file);

#endif

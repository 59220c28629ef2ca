/* Whether the declarations of runtime/transport/nccl_api.h are those of NCCL's own header, where there is one; it only
 * has to compile. */
#if __has_include(<nccl.h>)

#include <nccl.h>

#include "runtime/transport/nccl_api.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define SAME_PLACE(ours, theirs)                                                                                       \
    _Static_assert(offsetof(ons_nccl_config, ours) == offsetof(ncclConfig_t, theirs), #theirs)

SAME(ONS_NCCL_SUCCESS, ncclSuccess);
SAME(ONS_NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(ONS_NCCL_IN_PROGRESS, ncclInProgress);
SAME(ONS_NCCL_UINT8, ncclUint8);
SAME(ONS_NCCL_UINT64, ncclUint64);
SAME(ONS_NCCL_MAX, ncclMax);
SAME(ONS_NCCL_UNDEFINED, NCCL_CONFIG_UNDEF_INT);
SAME(sizeof(ons_nccl_id), sizeof(ncclUniqueId));
SAME_PLACE(size, size);
SAME_PLACE(magic, magic);
SAME_PLACE(version, version);
SAME_PLACE(blocking, blocking);
SAME_PLACE(group_size, cgaClusterSize);
SAME_PLACE(least_blocks, minCTAs);
SAME_PLACE(most_blocks, maxCTAs);
SAME_PLACE(net_name, netName);
SAME_PLACE(split_share, splitShare);
_Static_assert(ONS_NCCL_LEAST_VERSION <= NCCL_VERSION_CODE, "an older NCCL than the transport takes");
_Static_assert(ONS_NCCL_LEAST_VERSION == NCCL_VERSION(2, 18, 0), "the number of a version");

/* Types that are told apart by name alone are taken for each other; how many there are, and of which size, must agree.
 */
_Static_assert(sizeof(ncclComm_t) == sizeof(void *) && sizeof(cudaStream_t) == sizeof(void *), "handles");
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int), "enumerations");

#define SAME_TYPE(function, ...)                                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)), __VA_ARGS__), #function)

SAME_TYPE(ncclSend, ncclResult_t (*)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t));
SAME_TYPE(ncclRecv, ncclResult_t (*)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t));
SAME_TYPE(ncclAllReduce,
          ncclResult_t (*)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t));
SAME_TYPE(ncclCommInitRankConfig, ncclResult_t (*)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *));
SAME_TYPE(ncclCommGetAsyncError, ncclResult_t (*)(ncclComm_t, ncclResult_t *));
SAME_TYPE(ncclCommAbort, ncclResult_t (*)(ncclComm_t));
SAME_TYPE(ncclGetUniqueId, ncclResult_t (*)(ncclUniqueId *));
SAME_TYPE(ncclGetLastError, const char *(*)(ncclComm_t));

#endif

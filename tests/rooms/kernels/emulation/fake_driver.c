/* A CUDA driver that says yes to everything: with it cuDNN's engines that compile their kernels make plans where there
 * is no GPU. Nothing runs. */
#include <stddef.h>

#define YES(NAME)                                                                                                      \
    int NAME(void);                                                                                                    \
    int NAME(void) { return 0; }
#define GIVES(NAME)                                                                                                    \
    int NAME(void **result);                                                                                           \
    int NAME(void **result) {                                                                                          \
        *result = (void *)result;                                                                                      \
        return 0;                                                                                                      \
    }
#define TEXT(NAME)                                                                                                     \
    int NAME(int code, const char **text);                                                                             \
    int NAME(int code, const char **text) {                                                                            \
        (void)code;                                                                                                    \
        *text = "none";                                                                                                \
        return 0;                                                                                                      \
    }

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

/* There is no device: CUDA's runtime stops here. */
int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    (void)flags;
    return 100;
}

GIVES(cuCtxGetCurrent)
GIVES(cuLibraryGetKernel)
GIVES(cuLibraryLoadData)
GIVES(cuLibraryLoadFromFile)
GIVES(cuLinkCreate_v2)
GIVES(cuModuleGetFunction)
GIVES(cuModuleLoadData)
GIVES(cuModuleLoadDataEx)
GIVES(cuModuleLoadFatBinary)
GIVES(cuStreamGetCtx)
TEXT(cuGetErrorName)
TEXT(cuGetErrorString)
YES(cuCtxGetDevice)
YES(cuCtxGetLimit)
YES(cuCtxPopCurrent)
YES(cuCtxPopCurrent_v2)
YES(cuCtxPushCurrent)
YES(cuCtxPushCurrent_v2)
YES(cuDeviceGet)
YES(cuDeviceGetAttribute)
YES(cuDeviceGetCount)
YES(cuDevicePrimaryCtxRelease)
YES(cuDevicePrimaryCtxRelease_v2)
YES(cuDevicePrimaryCtxReset)
YES(cuDevicePrimaryCtxReset_v2)
YES(cuDevicePrimaryCtxRetain)
YES(cuFuncGetAttribute)
YES(cuFuncSetAttribute)
YES(cuKernelGetAttribute)
YES(cuKernelSetAttribute)
YES(cuLaunchCooperativeKernel)
YES(cuLaunchKernel)
YES(cuLaunchKernelEx)
YES(cuLibraryUnload)
YES(cuLinkAddData)
YES(cuLinkAddData_v2)
YES(cuLinkAddFile_v2)
YES(cuLinkComplete)
YES(cuLinkCreate)
YES(cuLinkDestroy)
YES(cuMemcpyDtoH_v2)
YES(cuModuleGetGlobal_v2)
YES(cuModuleUnload)
YES(cuOccupancyMaxActiveBlocksPerMultiprocessor)
YES(cuOccupancyMaxPotentialClusterSize)
YES(cuStreamSynchronize)
YES(cuTensorMapEncodeTiled)

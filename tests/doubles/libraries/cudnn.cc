// cuDNN: the calls that give something back. All others succeed and compute nothing.
#include "libraries/cudnn.h"

#include <cstddef>
#include <cstdio>

namespace {

struct Handle {
  void* stream = nullptr;
};

/// cudnnConvolution…AlgoPerf_t: one structure under three names.
struct Algorithm {
  int algorithm;
  int status;
  float time;
  std::size_t memory;
  int determinism;
  int math;
  int reserved[3];
};

int one_algorithm(int* count, Algorithm* found) {
  *found = {};
  *count = 1;
  return 0;
}

int no_memory(std::size_t* size) {
  *size = 0;
  return 0;
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() {
  return 92400;
}

std::size_t cudnnGetCudartVersion() {
  return 13000;
}

int cudnnGetProperty(int which, int* value) {
  constexpr int kMajorMinorPatch[] = {9, 24, 0};
  *value = kMajorMinorPatch[which];
  return 0;
}

const char* cudnnGetErrorString(int status) {
  return status == 0 ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_NOT_SUPPORTED";
}

void cudnnGetLastErrorString(char* text, std::size_t size) {
  std::snprintf(text, size, "no error");
}

int cudnnCreate(Handle** handle) {
  *handle = new Handle;
  return 0;
}

int cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}

int cudnnGetStream(Handle* handle, void** stream) {
  *stream = handle->stream;
  return 0;
}

#define SAFELAUNCH_DESCRIPTOR(kind)                            \
  int cudnnCreate##kind##Descriptor(CudnnShape** descriptor) { \
    *descriptor = new CudnnShape;                              \
    return 0;                                                  \
  }                                                            \
  int cudnnDestroy##kind##Descriptor(CudnnShape* descriptor) { \
    delete descriptor;                                         \
    return 0;                                                  \
  }
SAFELAUNCH_DESCRIPTOR(Activation)
SAFELAUNCH_DESCRIPTOR(CTCLoss)
SAFELAUNCH_DESCRIPTOR(Convolution)
SAFELAUNCH_DESCRIPTOR(Dropout)
SAFELAUNCH_DESCRIPTOR(Filter)
SAFELAUNCH_DESCRIPTOR(Pooling)
SAFELAUNCH_DESCRIPTOR(RNNData)
SAFELAUNCH_DESCRIPTOR(SpatialTransformer)
SAFELAUNCH_DESCRIPTOR(Tensor)
#undef SAFELAUNCH_DESCRIPTOR

int cudnnSetTensorNdDescriptor(CudnnShape* shape, int type, int count, const int* sizes,
                               const int* strides) {
  *shape = {type, {sizes, sizes + count}, {strides, strides + count}};
  return 0;
}

int cudnnGetTensorNdDescriptor(const CudnnShape* shape, int wanted, int* type, int* count,
                               int* sizes, int* strides) {
  *type = shape->type;
  *count = static_cast<int>(shape->sizes.size());
  for (int i = 0; i < wanted && i < *count; ++i) {
    sizes[i] = shape->sizes[static_cast<std::size_t>(i)];
    strides[i] = shape->strides[static_cast<std::size_t>(i)];
  }
  return 0;
}

int cudnnSetFilterNdDescriptor(CudnnShape* shape, int type, int, int count, const int* sizes) {
  *shape = {type, {sizes, sizes + count}, {}};
  return 0;
}

int cudnnGetFilterNdDescriptor(const CudnnShape* shape, int wanted, int* type, int* format,
                               int* count, int* sizes) {
  *type = shape->type;
  *format = 0;
  *count = static_cast<int>(shape->sizes.size());
  for (int i = 0; i < wanted && i < *count; ++i)
    sizes[i] = shape->sizes[static_cast<std::size_t>(i)];
  return 0;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void*, void*, void*, void*, void*, int, int* count,
                                           Algorithm* found) {
  return one_algorithm(count, found);
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void*, void*, void*, void*, int, int* count,
                                                Algorithm* found) {
  return one_algorithm(count, found);
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void*, void*, void*, void*, int,
                                                  int* count, Algorithm* found) {
  return one_algorithm(count, found);
}

int cudnnFindConvolutionForwardAlgorithmEx(void*, void*, void*, void*, void*, void*, void*, void*,
                                           int, int* count, Algorithm* found, void*, std::size_t) {
  return one_algorithm(count, found);
}

int cudnnFindConvolutionBackwardDataAlgorithmEx(void*, void*, void*, void*, void*, void*, void*,
                                                void*, int, int* count, Algorithm* found, void*,
                                                std::size_t) {
  return one_algorithm(count, found);
}

int cudnnFindConvolutionBackwardFilterAlgorithmEx(void*, void*, void*, void*, void*, void*, void*,
                                                  void*, int, int* count, Algorithm* found, void*,
                                                  std::size_t) {
  return one_algorithm(count, found);
}

int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*, int,
                                            std::size_t* size) {
  return no_memory(size);
}

int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, void*, void*, void*, void*, int,
                                                 std::size_t* size) {
  return no_memory(size);
}

int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, void*, void*, void*, void*, int,
                                                   std::size_t* size) {
  return no_memory(size);
}

int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*, void*, void*,
                                                             void*, void*, std::size_t* size) {
  return no_memory(size);
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*, void*, void*,
                                                      void*, void*, void*, std::size_t* size) {
  return no_memory(size);
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*,
                                                         std::size_t* size) {
  return no_memory(size);
}

int cudnnGetCTCLossWorkspaceSize(void*, void*, void*, void*, void*, void*, int, void*,
                                 std::size_t* size) {
  return no_memory(size);
}

int cudnnGetCTCLossWorkspaceSize_v8(void*, int, void*, void*, void*, std::size_t* size) {
  return no_memory(size);
}

int cudnnDropoutGetStatesSize(void*, std::size_t* size) {
  *size = 1024;
  return 0;
}
}

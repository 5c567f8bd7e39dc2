#pragma once

#include <vector>

/// What lies behind cuDNN's descriptors. Only tensors and filters are ever asked for it.
struct CudnnShape {
  int type = 0;
  std::vector<int> sizes;
  std::vector<int> strides;
};

// cuBLASLt: the calls that give something back. All others succeed and compute nothing.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

/// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

/// Every descriptor: what is set in it changes nothing.
struct Description {};

int make(Description** description) {
  *description = new Description;
  return 0;
}

int drop(Description* description) {
  delete description;
  return 0;
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() {
  return 130101;
}

int cublasLtMatmulDescCreate(Description** description, int, int) {
  return make(description);
}

int cublasLtMatmulDescDestroy(Description* description) {
  return drop(description);
}

int cublasLtMatrixLayoutCreate(Description** layout, int, std::uint64_t, std::uint64_t,
                               std::int64_t) {
  return make(layout);
}

int cublasLtMatrixLayoutDestroy(Description* layout) {
  return drop(layout);
}

int cublasLtMatmulPreferenceCreate(Description** preference) {
  return make(preference);
}

int cublasLtMatmulPreferenceDestroy(Description* preference) {
  return drop(preference);
}

int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int,
                                   Heuristic* found, int* count) {
  *found = {};
  *count = 1;
  return 0;
}

int cublasLtMatmulAlgoConfigGetAttribute(const void*, int, void* value, std::size_t size,
                                         std::size_t* written) {
  std::memset(value, 0, size);
  if (written) *written = size;
  return 0;
}
}

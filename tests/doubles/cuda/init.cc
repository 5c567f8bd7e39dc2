// cuInit and the driver's version: where a driver in trouble hangs, crashes or tells nonsense.
#include "cuda/init.h"

#include "cuda/api.h"

#include <atomic>
#include <cstdlib>
#include <sstream>

#include "common/gpus.h"
#include "common/knobs.h"
#include "cuda/broken.h"
#include "cuda/context.h"

namespace safelaunch::testing {
namespace {

std::atomic<bool> init_called = false;

}  // namespace

CUresult initialised() {
  if (broken() != CUDA_SUCCESS) return broken();
  return init_called ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

std::vector<int> visible_gpus() {
  std::vector<int> gpus;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int i = 0; i < gpu_count(); ++i) gpus.push_back(i);
    return gpus;
  }
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    int found = -1;
    for (int i = 0; i < gpu_count(); ++i)
      if (word == std::to_string(i) ||
          (word.starts_with("GPU-") && gpu_uuid_text(i).starts_with(word)))
        found = i;
    if (found < 0) break;  // CUDA takes the list up to the first word that it does not know
    gpus.push_back(found);
  }
  return gpus;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

CUresult cuInit(unsigned) {
  hang_or_crash(kCudaKnob);
  if (knob_has(kCudaKnob, "none") || visible_gpus().empty()) return CUDA_ERROR_NO_DEVICE;
  init_called = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = knob_has(kCudaKnob, "old") ? 11040 : knob_has(kCudaKnob, "garbage") ? -1 : 13000;
  return CUDA_SUCCESS;
}

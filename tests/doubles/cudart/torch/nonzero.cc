// ATen/native/cuda/Nonzero.cu, which counts and finds by CUB: how long a selection is decides how
// much memory torch takes for it.
#include <cstring>
#include <memory>

#include "cudart/torch/kernel.h"
#include "cudart/torch/name.h"
#include "cudart/torch/value.h"

namespace safelaunch::testing {
namespace {

/// The elements that CUB's iterator with NonZeroOp<T> goes over.
struct Flags {
  Type type;
  const char* data;

  [[nodiscard]] bool is_set(std::int64_t element) const {
    return !load(type, data + static_cast<std::size_t>(element) * size_of(type)).is_zero();
  }
};

template <class Value>
Value argument(void** arguments, int number) {
  return *static_cast<Value*>(arguments[number]);
}

/// DeviceReduce…Kernel(flags, counts, count of elements, …): one count for each block.
TrueKernel count(Type type) {
  return [type](void** arguments, dim3 grid) -> std::function<void()> {
    const Flags flags{type, argument<const char*>(arguments, 0)};
    int* counts = argument<int*>(arguments, 1);
    const std::int64_t elements = argument<int>(arguments, 2);
    if (!is_memory(counts) || (elements > 0 && !is_memory(flags.data))) return {};
    return [=] {
      std::memset(counts, 0, grid.x * sizeof(int));
      for (std::int64_t i = 0; i < elements; ++i) counts[0] += flags.is_set(i);
    };
  };
}

/// DeviceReduceSingleTileKernel(int*, int*, count, …): the sum of the blocks' counts.
TrueKernel total() {
  return [](void** arguments, dim3) -> std::function<void()> {
    const int* counts = argument<const int*>(arguments, 0);
    int* sum = argument<int*>(arguments, 1);
    const int blocks = argument<int>(arguments, 2);
    if (!is_memory(counts) || !is_memory(sum)) return {};
    return [=] {
      int added = 0;
      for (int i = 0; i < blocks; ++i) added += counts[i];
      *sum = added;
    };
  };
}

/// DeviceSelectSweepKernel(first number, flags, selected, how many, …, count at 7, …).
TrueKernel select(Type type) {
  return [type](void** arguments, dim3) -> std::function<void()> {
    const auto first = argument<std::int64_t>(arguments, 0);
    const Flags flags{type, argument<const char*>(arguments, 1)};
    auto* selected = argument<std::int64_t*>(arguments, 2);
    int* how_many = argument<int*>(arguments, 3);
    const int elements = argument<int>(arguments, 7);
    if (!is_memory(how_many) || (elements > 0 && !is_memory(flags.data))) return {};
    return [=] {
      int found = 0;
      for (int i = 0; i < elements; ++i)
        if (flags.is_set(i)) selected[found++] = first + i;
      *how_many = found;
    };
  };
}

}  // namespace

std::optional<TrueKernel> nonzero_kernel(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  const auto flag = template_arguments(name, "NonZeroOp");
  const auto type = flag.size() == 1 ? type_named(flag[0]) : std::nullopt;
  const bool reduces = has("DeviceReduceKernel<") || has("DeviceReduceSingleTileKernel<");
  if (type && reduces) return count(*type);
  if (type && has("DeviceSelectSweepKernel<")) return select(*type);
  const auto words = template_arguments(name, "DeviceReduceSingleTileKernel");
  if (words.size() > 2 && words[1] == "int*" && words[2] == "int*") return total();
  return std::nullopt;
}

}  // namespace safelaunch::testing

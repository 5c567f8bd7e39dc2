// ATen/native/cuda/RangeFactories.cu: torch.arange.
#include <cstring>

#include "cudart/torch/kernel.h"
#include "cudart/torch/name.h"
#include "cudart/torch/value.h"

namespace safelaunch::testing {
namespace {

/// The type in which torch's dispatch over all types has this number.
std::optional<Type> dispatched(int number) {
  constexpr Type kOrder[] = {Type::uint8,   Type::int8,    Type::int32,
                             Type::int64,   Type::int16,   Type::float64,
                             Type::float32, Type::float16, Type::bfloat16};
  if (number < 1 || number > static_cast<int>(std::size(kOrder))) return std::nullopt;
  return kOrder[number - 1];
}

/// acc_type: whole numbers are counted as int64, real ones as float or double.
Type counted_in(Type type) {
  const bool is_whole = type <= Type::int64;
  return is_whole ? Type::int64 : calculated_in(type);
}

}  // namespace

/// elementwise_kernel_with_index(count, lambda with start and step, output).
std::optional<TrueKernel> range_kernel(std::string_view name) {
  const auto words = template_arguments(name, "elementwise_kernel_with_index");
  if (words.size() < 2 || words[1].find("arange_cuda_out") == std::string::npos)
    return std::nullopt;
  const auto type = dispatched(dispatch_number(words[1]));
  if (!type || words[0] != "int") return std::nullopt;
  return [type = *type](void** arguments, dim3) -> std::function<void()> {
    const int count = *static_cast<int*>(arguments[0]);
    const auto* fields = static_cast<const char*>(arguments[1]);
    const Type wide = counted_in(type);
    const Number start = load(wide, fields);
    const Number step = load(wide, fields + size_of(wide));
    char* output = *static_cast<char**>(arguments[2]);
    if (!is_memory(output)) return {};
    return [=] {
      for (std::int64_t i = 0; i < count; ++i)
        store(type, output + static_cast<std::size_t>(i) * size_of(type),
              sum(start, product(step, Number::of(i))));
    };
  };
}

}  // namespace safelaunch::testing

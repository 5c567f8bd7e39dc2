#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "cudart/torch/value.h"

namespace safelaunch::testing {

/// What an elementwise kernel calculates for one element: of the inputs, the output.
using Compute = std::function<Number(const Number* inputs)>;

/// A functor of torch's, known by its type's name: the types of output and inputs, and how to read
/// its own fields.
struct Functor {
  std::vector<Type> types;  ///< the output's first
  std::function<Compute(const char* fields)> bind;

  /// Is it a copy from one type to the same one or another?
  bool copies = false;
};
[[nodiscard]] std::optional<Functor> functor_named(std::string_view name);

}  // namespace safelaunch::testing

// ATen/native/cuda/Reduce.cuh: sums, products, any, all, the most, the least, means and norms over
// some dimensions.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "cudart/torch/kernel.h"
#include "cudart/torch/name.h"
#include "cudart/torch/offsets.h"
#include "cudart/torch/value.h"

namespace safelaunch::testing {
namespace {

/// ReduceConfig.
struct Config {
  int element_size;
  int inputs;  ///< of each output
  int outputs;
  int step_input;
  int step_output;
  int blocks_per_output;
  int input_factors[3];
  int output_factors[2];
  int block_width;
  int block_height;
  int threads;
  bool is_vectorised;
  int output_vector;
};

/// ReduceOp is the operation, the neutral element, and these two parts, each where its alignment
/// puts it.
struct Extent {
  Config config;
  Offsets<1> input;
  Offsets<2> output;  ///< of the output, and of the input's first element for it
};
struct Sources {
  const char* source;
  char* target[2];
  void* accumulator;
  void* between_blocks;
  int* semaphores;
  std::int64_t base;
  bool accumulates;
  bool is_final;
  int values;
};
struct Rest : Extent, Sources {};

struct Reduction {
  std::function<Number(const Number&, const Number&)> combine;
  std::function<Number(const Number&, const char* fields)> finish;
  std::size_t size = 1;  ///< of the operation's fields
  bool squares = false;
};

Number as_it_is(const Number& number, const char*) {
  return number;
}

std::optional<Reduction> reduction_named(std::string_view name, Type accumulated) {
  const auto is = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (is("sum_functor<")) return Reduction{sum, as_it_is};
  if (is("prod_functor<")) return Reduction{product, as_it_is};
  if (is("MaxNanFunctor<"))
    return Reduction{[](auto& a, auto& b) { return less(a, b) ? b : a; }, as_it_is};
  if (is("MinNanFunctor<"))
    return Reduction{[](auto& a, auto& b) { return less(b, a) ? b : a; }, as_it_is};
  if (is("or_kernel_cuda"))
    return Reduction{[](auto& a, auto& b) { return a.is_zero() ? b : a; }, as_it_is};
  if (is("and_kernel_cuda"))
    return Reduction{[](auto& a, auto& b) { return a.is_zero() ? a : b; }, as_it_is};
  if (is("MeanOps<"))
    return Reduction{sum,
                     [=](const Number& number, const char* fields) {
                       return product(number, load(accumulated, fields));
                     },
                     size_of(accumulated)};
  if (is("NormTwoOps<"))
    return Reduction{
        sum, [](const Number& number, const char*) { return Number::of(std::sqrt(number.real)); },
        1, true};
  return std::nullopt;
}

struct Types {
  Type input;
  Type accumulated;
  Type output;
};

void reduce(const Rest& rest, const Types& types, const Reduction& reduction, const Number& neutral,
            const char* fields) {
  for (int output = 0; output < rest.config.outputs; ++output) {
    const auto places = rest.output.of(static_cast<unsigned>(output));
    Number result = neutral;
    for (int input = 0; input < rest.config.inputs; ++input) {
      const auto place = places[1] + rest.input.of(static_cast<unsigned>(input))[0];
      const Number value = load(types.input, rest.source + place);
      result = reduction.combine(result, reduction.squares ? product(value, value) : value);
    }
    store(types.output, rest.target[0] + places[0], reduction.finish(result, fields));
  }
}

/// The type of the first parameter of the operation, in which it adds up.
std::optional<Type> accumulated_in(std::string_view operation) {
  for (const char* outer : {"func_wrapper_t", "MeanOps", "NormTwoOps"})
    if (const auto words = template_arguments(operation, outer); words.size() > 1) {
      const bool wraps = std::string_view(outer) == "func_wrapper_t";
      const bool adds = words[1].find("sum_functor<") != std::string::npos ||
                        words[1].find("prod_functor<") != std::string::npos;
      if (wraps && !adds) return type_named(words[0]);
      if (!wraps) return type_named(words[1]);
      const auto functor = template_arguments(
          words[1],
          words[1].find("sum_functor<") != std::string::npos ? "sum_functor" : "prod_functor");
      return functor.size() > 1 ? type_named(functor[1]) : std::nullopt;
    }
  return std::nullopt;
}

}  // namespace

/// reduce_kernel(ReduceOp<input, operation, unsigned, output, …>).
std::optional<TrueKernel> reduction_kernel(std::string_view name) {
  if (name.find("reduce_kernel<") == std::string_view::npos) return std::nullopt;
  const auto words = template_arguments(name, "ReduceOp");
  if (words.size() < 4 || words[2] != "unsigned int") return std::nullopt;
  const auto input = type_named(words[0]);
  const auto output = type_named(words[3]);
  const auto accumulated = accumulated_in(words[1]);
  if (!input || !output || !accumulated) return std::nullopt;
  const auto reduction = reduction_named(words[1], *accumulated);
  if (!reduction) return std::nullopt;
  const Types types{*input, *accumulated, *output};
  return [types, reduction = *reduction](void** arguments, dim3) -> std::function<void()> {
    const auto* fields = static_cast<const char*>(arguments[0]);
    const std::size_t width = size_of(types.accumulated);
    const std::size_t neutral_at = aligned(reduction.size, width);
    const std::size_t shape_at = aligned(neutral_at + width, alignof(Extent));
    const std::size_t places_at = aligned(shape_at + sizeof(Extent), alignof(Sources));
    const auto rest = std::make_shared<Rest>();
    std::memcpy(static_cast<Extent*>(rest.get()), fields + shape_at, sizeof(Extent));
    std::memcpy(static_cast<Sources*>(rest.get()), fields + places_at, sizeof(Sources));
    const Number neutral = load(types.accumulated, fields + neutral_at);
    const std::int64_t elements = std::int64_t{rest->config.inputs} * rest->config.outputs;
    const bool is_sound = rest->input.is_sound() && rest->output.is_sound() &&
                          is_memory(rest->source) && is_memory(rest->target[0]);
    if (!is_sound || rest->accumulates || elements > kMostElements) return {};
    const std::vector<char> kept(fields, fields + reduction.size);
    return [=] { reduce(*rest, types, reduction, neutral, kept.data()); };
  };
}

}  // namespace safelaunch::testing

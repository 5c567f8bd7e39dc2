// ATen/native/cuda/Loops.cuh: one output, up to three inputs, element by element.
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "cudart/torch/functor.h"
#include "cudart/torch/kernel.h"
#include "cudart/torch/name.h"
#include "cudart/torch/offsets.h"

namespace safelaunch::testing {
namespace {

constexpr std::size_t kMostTensors = 4;
using Pointers = std::array<char*, kMostTensors>;
using Places = std::function<std::array<std::size_t, kMostTensors>(std::int64_t element)>;

struct Elements {
  std::int64_t count;
  std::vector<Type> types;
  Pointers data{};
  Places places;  ///< empty where the tensors lie densely
};

Pointers pointers_at(const void* address, std::size_t count) {
  Pointers data{};
  std::memcpy(data.data(), address, count * sizeof(char*));
  return data;
}

/// The same bytes from one end to the other: a copy of one type, or a filling.
void do_bulk(const Elements& elements, const Functor& functor, const Compute& compute) {
  const std::size_t width = size_of(elements.types[0]);
  const auto count = static_cast<std::size_t>(elements.count);
  if (functor.copies) {
    std::memmove(elements.data[0], elements.data[1], count * width);
    return;
  }
  std::array<char, 8> value{};
  store(elements.types[0], value.data(), compute(nullptr));
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(elements.data[0] + i * width, value.data(), width);
}

void do_each(const Elements& elements, const Compute& compute) {
  const std::size_t tensors = elements.types.size();
  std::array<Number, kMostTensors> inputs{};
  for (std::int64_t element = 0; element < elements.count; ++element) {
    std::array<std::size_t, kMostTensors> places{};
    if (elements.places)
      places = elements.places(element);
    else
      for (std::size_t i = 0; i < tensors; ++i)
        places[i] = static_cast<std::size_t>(element) * size_of(elements.types[i]);
    for (std::size_t i = 1; i < tensors; ++i)
      inputs[i - 1] = load(elements.types[i], elements.data[i] + places[i]);
    store(elements.types[0], elements.data[0] + places[0], compute(inputs.data()));
  }
}

std::function<void()> work_on(Elements elements, const Functor& functor, Compute compute) {
  for (std::size_t i = 0; i < elements.types.size(); ++i)
    if (elements.count > 0 && !is_memory(elements.data[i])) return {};
  const bool is_one_type = elements.types.front() == elements.types.back();
  const bool is_bulk =
      !elements.places && (elements.types.size() == 1 || (functor.copies && is_one_type));
  if (!is_bulk && elements.count > kMostElements) return {};
  return [=, elements = std::move(elements), compute = std::move(compute)] {
    is_bulk ? do_bulk(elements, functor, compute) : do_each(elements, compute);
  };
}

/// vectorized_elementwise_kernel(count, functor, data).
TrueKernel dense(const Functor& functor) {
  return [functor](void** arguments, dim3) {
    Elements elements{*static_cast<int*>(arguments[0]),
                      functor.types,
                      pointers_at(arguments[2], functor.types.size()),
                      {}};
    return work_on(std::move(elements), functor,
                   functor.bind(static_cast<const char*>(arguments[1])));
  };
}

/// unrolled_elementwise_kernel(count, functor, data, …, …, LoadWithCast, StoreWithCast): the two
/// begin with the types that the tensors really have.
TrueKernel casting(const Functor& functor) {
  return [functor](void** arguments, dim3) -> std::function<void()> {
    Elements elements{
        *static_cast<int*>(arguments[0]), {}, pointers_at(arguments[2], functor.types.size()), {}};
    const auto* inputs = static_cast<const signed char*>(arguments[5]);
    const auto* output = static_cast<const signed char*>(arguments[6]);
    for (std::size_t i = 0; i < functor.types.size(); ++i) {
      const auto type = type_numbered(i == 0 ? output[0] : inputs[i - 1]);
      if (!type) return {};
      elements.types.push_back(*type);
    }
    const Compute compute = functor.bind(static_cast<const char*>(arguments[1]));
    return work_on(std::move(elements), functor, compute);
  };
}

/// elementwise_kernel(count, lambda), where the lambda holds an OffsetCalculator, the pointers and
/// the functor.
template <int Tensors>
std::function<void()> strided_work(const Functor& functor, void** arguments) {
  struct Captured {
    Offsets<Tensors> offsets;
    char* data[Tensors];
    char functor[1];
  };
  const auto* captured = static_cast<const Captured*>(arguments[1]);
  if (!captured->offsets.is_sound()) return {};
  const auto offsets = std::make_shared<Offsets<Tensors>>(captured->offsets);
  Elements elements{*static_cast<int*>(arguments[0]), functor.types,
                    pointers_at(captured->data, Tensors), [offsets](std::int64_t element) {
                      std::array<std::size_t, kMostTensors> places{};
                      const auto found = offsets->of(static_cast<unsigned>(element));
                      std::copy(found.begin(), found.end(), places.begin());
                      return places;
                    }};
  return work_on(std::move(elements), functor, functor.bind(captured->functor));
}

TrueKernel strided(const Functor& functor) {
  return [functor](void** arguments, dim3) -> std::function<void()> {
    switch (functor.types.size()) {
      case 1: return strided_work<1>(functor, arguments);
      case 2: return strided_work<2>(functor, arguments);
      case 3: return strided_work<3>(functor, arguments);
      default: return {};
    }
  };
}

}  // namespace

std::optional<TrueKernel> elementwise_kernel(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (const auto words = template_arguments(name, "vectorized_elementwise_kernel");
      words.size() >= 3) {
    const auto functor = functor_named(words[1]);
    return functor ? std::optional(dense(*functor)) : std::nullopt;
  }
  if (const auto words = template_arguments(name, "unrolled_elementwise_kernel");
      words.size() == 7 && has("LoadWithCast") && has("StoreWithCast")) {
    const auto functor = functor_named(words[0]);
    return functor ? std::optional(casting(*functor)) : std::nullopt;
  }
  if (!has(" at::native::elementwise_kernel<") || has("gpu_kernel_impl<")) return std::nullopt;
  const auto words = template_arguments(name, "gpu_kernel_impl_nocast");
  const auto functor = words.empty() ? std::nullopt : functor_named(words[0]);
  return functor ? std::optional(strided(*functor)) : std::nullopt;
}

}  // namespace safelaunch::testing

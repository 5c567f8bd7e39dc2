// ATen/native/cuda/Shape.cu: torch.cat. Several kernels do it, all with the same arguments.
#include <cstring>
#include <memory>
#include <string>

#include "cudart/torch/kernel.h"
#include "cudart/torch/name.h"

namespace safelaunch::testing {
namespace {

constexpr int kMostInputs = 128;

/// CatArrInputTensorMetadata<T, unsigned, 128, 1>.
struct Inputs {
  const char* data[kMostInputs];
  unsigned offset[kMostInputs];  ///< of the input, along the dimension that is put together
  unsigned size[kMostInputs];    ///< of the input, along it
  unsigned elements[kMostInputs];
  bool is_contiguous[kMostInputs];
};

/// TensorSizeStride<unsigned, 4>.
struct Shape {
  unsigned size[4];
  unsigned stride[4];
};

/// Where element `index` of an input of this size along `dimension` lies in the output.
std::size_t place_of(const Shape& shape, int dimensions, int dimension, unsigned size,
                     unsigned index) {
  std::size_t place = 0;
  for (int i = dimensions - 1; i >= 1; --i) {
    const unsigned length = i == dimension ? size : shape.size[i];
    place += std::size_t{index % length} * shape.stride[i];
    index /= length;
  }
  return place + std::size_t{index} * shape.stride[0];
}

}  // namespace

/// CatArrayBatchedCopy…<OpaqueType<width>, unsigned, dimensions, …>(output, inputs, shape,
/// dimension, stride); the grid's second size is the number of inputs.
std::optional<TrueKernel> concatenation_kernel(std::string_view name) {
  for (const char* kernel :
       {"CatArrayBatchedCopy", "CatArrayBatchedCopy_contig", "CatArrayBatchedCopy_aligned16_contig",
        "CatArrayBatchedCopy_alignedK_contig", "CatArrayBatchedCopy_vectorized"}) {
    const auto words = template_arguments(name, kernel);
    if (words.size() < 4 || words[1] != "unsigned int" || words[3] != "128") continue;
    const auto opaque = template_arguments(words[0], "OpaqueType");
    if (opaque.size() != 1) continue;
    const auto width = static_cast<std::size_t>(std::stoi(opaque[0]));
    return [width, dimensions = std::stoi(words[2])](void** arguments,
                                                     dim3 grid) -> std::function<void()> {
      char* output = *static_cast<char**>(arguments[0]);
      const auto inputs = std::make_shared<Inputs>(*static_cast<const Inputs*>(arguments[1]));
      const Shape shape = *static_cast<const Shape*>(arguments[2]);
      const int dimension = *static_cast<const int*>(arguments[3]);
      const unsigned stride = *static_cast<const unsigned*>(arguments[4]);
      if (!is_memory(output) || dimensions > 4 || grid.y > kMostInputs) return {};
      return [=] {
        for (unsigned i = 0; i < grid.y; ++i) {
          if (!inputs->is_contiguous[i]) continue;
          char* begin = output + std::size_t{inputs->offset[i]} * stride * width;
          for (unsigned element = 0; element < inputs->elements[i]; ++element)
            std::memcpy(
                begin + width * place_of(shape, dimensions, dimension, inputs->size[i], element),
                inputs->data[i] + width * element, width);
        }
      };
    };
  }
  return std::nullopt;
}

}  // namespace safelaunch::testing

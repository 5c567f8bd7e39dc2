// cuDNN's recurrent networks: torch asks where in one piece of memory each weight lies. They lie
// one behind the other: of each layer and direction first all matrices, then all biases.
#include <cstddef>
#include <cstdint>

#include "libraries/cudnn.h"

namespace {

struct Network {
  int cell = 0;
  bool has_bias = false;
  int directions = 1;
  int type = 0;
  int input = 0;
  int hidden = 0;
  int projected = 0;
  int layers = 1;

  /// The output of a layer and direction.
  [[nodiscard]] int output() const { return projected > 0 ? projected : hidden; }
  [[nodiscard]] int gates() const {
    constexpr int kLstm = 2;
    constexpr int kGru = 3;
    return cell == kLstm ? 4 : cell == kGru ? 3 : 1;
  }
  [[nodiscard]] bool is_projected() const { return projected > 0 && projected != hidden; }
  /// The matrices of a layer and direction: for the input, for the state, and a projection.
  [[nodiscard]] int matrices() const { return 2 * gates() + (is_projected() ? 1 : 0); }
  [[nodiscard]] std::size_t width() const {
    constexpr int kDouble = 1;
    constexpr int kHalf = 2;
    constexpr int kBrain = 9;
    return type == kDouble ? 8 : type == kHalf || type == kBrain ? 2 : 4;
  }
};

struct Matrix {
  int rows;
  int columns;
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

Matrix matrix_of(const Network& network, int layer, int number) {
  if (number == 2 * network.gates()) return {network.projected, network.hidden};
  if (number >= network.gates()) return {network.hidden, network.output()};
  const bool is_first = layer < network.directions;
  return {network.hidden, is_first ? network.input : network.output() * network.directions};
}

/// Where, in elements, matrix `number` of a layer begins; behind its last one the biases do.
std::size_t offset_of(const Network& network, int layer, int number) {
  std::size_t offset = 0;
  for (int before = 0; before <= layer; ++before) {
    const int end = before == layer ? number : network.matrices();
    for (int i = 0; i < end; ++i) offset += matrix_of(network, before, i).count();
    if (before < layer && network.has_bias)
      offset += static_cast<std::size_t>(2 * network.gates() * network.hidden);
  }
  return offset;
}

/// Who wants only the bias, or only the matrix, gives no place for the other.
void describe(CudnnShape* shape, int type, int rows, int columns) {
  if (shape) *shape = {type, {1, rows, columns}, {rows * columns, columns, 1}};
}

}  // namespace

extern "C" {

int cudnnCreateRNNDescriptor(Network** network) {
  *network = new Network;
  return 0;
}

int cudnnDestroyRNNDescriptor(Network* network) {
  delete network;
  return 0;
}

int cudnnSetRNNDescriptor_v8(Network* network, int, int cell, int bias, int direction, int,
                             int type, int, int, std::int32_t input, std::int32_t hidden,
                             std::int32_t projected, std::int32_t layers, void*, std::uint32_t) {
  *network = {cell, bias != 0, direction + 1, type, input, hidden, projected, layers};
  return 0;
}

int cudnnGetRNNWeightSpaceSize(void*, const Network* network, std::size_t* size) {
  *size = offset_of(*network, network->layers * network->directions, 0) * network->width();
  return 0;
}

int cudnnGetRNNWeightParams(void*, const Network* network, std::int32_t layer, std::size_t,
                            char* weights, std::int32_t number, CudnnShape* matrix_shape,
                            char** matrix, CudnnShape* bias_shape, char** bias) {
  const Matrix one = matrix_of(*network, layer, number);
  describe(matrix_shape, network->type, one.rows, one.columns);
  if (matrix) *matrix = weights + offset_of(*network, layer, number) * network->width();
  const bool has_bias = network->has_bias && number < 2 * network->gates();
  describe(bias_shape, network->type, has_bias ? network->hidden : 0, 1);
  const std::size_t offset = offset_of(*network, layer, network->matrices()) +
                             static_cast<std::size_t>(number * network->hidden);
  if (bias) *bias = has_bias ? weights + offset * network->width() : nullptr;
  return 0;
}

int cudnnGetRNNTempSpaceSizes(void*, const Network*, int, void*, std::size_t* work,
                              std::size_t* reserve) {
  if (work) *work = 64;
  if (reserve) *reserve = 64;
  return 0;
}
}

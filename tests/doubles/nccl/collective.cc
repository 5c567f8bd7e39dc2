#include "nccl/collective.h"

#include <cstring>
#include <deque>
#include <type_traits>

#include "nccl/reduce.h"

namespace safelaunch::testing {
namespace {

/// A ring of ranks, each with `size` elements of which it owns one part: the way all collectives
/// go.
class Ring {
 public:
  Ring(const Mesh& mesh, const Peer& self, const Stop& stop, std::size_t count, ncclDataType_t type)
      : mesh_(mesh),
        rank_(self.rank),
        ranks_(self.nranks),
        stop_(stop),
        type_(type),
        width_(size_of(type)) {
    for (int part = 0; part <= ranks_; ++part)
      begins_.push_back(count * static_cast<std::size_t>(part) / static_cast<std::size_t>(ranks_));
  }

  /// Afterwards part `rank` of `data` is reduced over all ranks.
  [[nodiscard]] Ended reduce_scatter(char* data, ncclRedOp_t op) {
    std::vector<char> incoming((begins_[1] + 1) * width_);
    for (int step = 1; step < ranks_; ++step) {
      const int given = rank_ - step;
      const int taken = rank_ - step - 1;
      if (const Ended ended = pass(data, given, incoming.data(), taken); ended != Ended::done)
        return ended;
      combine(at(data, taken), incoming.data(), size(taken), type_, op);
    }
    return Ended::done;
  }

  /// Afterwards all have all parts, of which each had one.
  [[nodiscard]] Ended all_gather(char* data) {
    for (int step = 0; step < ranks_ - 1; ++step) {
      const int taken = rank_ - step - 1;
      if (const Ended ended = pass(data, rank_ - step, at(data, taken), taken);
          ended != Ended::done)
        return ended;
    }
    return Ended::done;
  }

 private:
  [[nodiscard]] std::size_t part(int number) const {
    return static_cast<std::size_t>((number % ranks_ + ranks_) % ranks_);
  }
  [[nodiscard]] std::size_t size(int number) const {
    return begins_[part(number) + 1] - begins_[part(number)];
  }
  [[nodiscard]] char* at(char* data, int number) const {
    return data + begins_[part(number)] * width_;
  }

  /// Part `given` to the next rank, part `taken` from the previous one.
  [[nodiscard]] Ended pass(char* data, int given, char* into, int taken) {
    const int next = mesh_.connections[part(rank_ + 1)].get();
    const int previous = mesh_.connections[part(rank_ - 1)].get();
    return transfer({{Transfer::Way::send, next, at(data, given), size(given) * width_},
                     {Transfer::Way::receive, previous, into, size(taken) * width_}},
                    stop_);
  }

  const Mesh& mesh_;
  const int rank_;
  const int ranks_;
  const Stop& stop_;
  const ncclDataType_t type_;
  const std::size_t width_;
  std::vector<std::size_t> begins_;  // in elements
};

void copy(void* to, const void* from, std::size_t size) {
  if (to != from) std::memmove(to, from, size);
}

Ended all_reduce(const Operation& operation, const Mesh& mesh, const Peer& self, const Stop& stop) {
  char* data = static_cast<char*>(operation.output);
  copy(data, operation.input, operation.count * size_of(operation.type));
  Ring ring(mesh, self, stop, operation.count, operation.type);
  if (const Ended ended = ring.reduce_scatter(data, operation.op); ended != Ended::done)
    return ended;
  if (const Ended ended = ring.all_gather(data); ended != Ended::done) return ended;
  finish(data, operation.count, operation.type, operation.op, self.nranks);
  return Ended::done;
}

Ended reduce(Operation operation, const Mesh& mesh, const Peer& self, const Stop& stop) {
  std::vector<char> aside(operation.count * size_of(operation.type));
  if (self.rank != operation.root) operation.output = aside.data();
  return all_reduce(operation, mesh, self, stop);
}

Ended all_gather(const Operation& operation, const Mesh& mesh, const Peer& self, const Stop& stop) {
  const std::size_t size = operation.count * size_of(operation.type);
  char* data = static_cast<char*>(operation.output);
  copy(data + static_cast<std::size_t>(self.rank) * size, operation.input, size);
  Ring ring(mesh, self, stop, operation.count * static_cast<std::size_t>(self.nranks),
            operation.type);
  return ring.all_gather(data);
}

Ended reduce_scatter(const Operation& operation, const Mesh& mesh, const Peer& self,
                     const Stop& stop) {
  const std::size_t size = operation.count * size_of(operation.type);
  const auto* input = static_cast<const char*>(operation.input);
  std::vector<char> work(input, input + size * static_cast<std::size_t>(self.nranks));
  Ring ring(mesh, self, stop, operation.count * static_cast<std::size_t>(self.nranks),
            operation.type);
  if (const Ended ended = ring.reduce_scatter(work.data(), operation.op); ended != Ended::done)
    return ended;
  copy(operation.output, work.data() + static_cast<std::size_t>(self.rank) * size, size);
  finish(operation.output, operation.count, operation.type, operation.op, self.nranks);
  return Ended::done;
}

Ended broadcast(const Operation& operation, const Mesh& mesh, const Peer& self, const Stop& stop) {
  const std::size_t size = operation.count * size_of(operation.type);
  if (self.rank != operation.root)
    return receive_bytes(mesh.connections[static_cast<std::size_t>(operation.root)].get(),
                         operation.output, size, stop);
  copy(operation.output, operation.input, size);
  std::vector<Transfer> transfers;
  for (const UniqueFd& connection : mesh.connections)
    if (connection)
      transfers.push_back(
          {Transfer::Way::send, connection.get(), static_cast<char*>(operation.output), size});
  return transfer(std::move(transfers), stop);
}

/// A collective that is nothing but sends and receives, as NCCL makes them too.
std::vector<Operation> pairs_of(const Operation& operation, const Peer& self) {
  const auto share = [&](auto* memory, int rank) {
    using Bytes = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(memory)>>,
                                     const char, char>;
    return static_cast<Bytes*>(memory) +
           static_cast<std::size_t>(rank) * operation.count * size_of(operation.type);
  };
  std::vector<Operation> pairs;
  const auto add = [&](Operation::Kind kind, const void* input, void* output, int peer) {
    pairs.push_back(
        {kind, operation.name, input, output, operation.count, operation.type, ncclSum, peer});
  };
  const bool to_all = operation.kind == Operation::Kind::all_to_all;
  const bool gathers = operation.kind == Operation::Kind::gather;
  const bool is_root = operation.root == self.rank;
  if (gathers)
    add(Operation::Kind::send, operation.input, nullptr, operation.root);
  else if (!to_all)
    add(Operation::Kind::receive, nullptr, operation.output, operation.root);
  for (int rank = 0; rank < self.nranks && (to_all || is_root); ++rank) {
    if (!gathers) add(Operation::Kind::send, share(operation.input, rank), nullptr, rank);
    if (to_all || gathers)
      add(Operation::Kind::receive, nullptr, share(operation.output, rank), rank);
  }
  return pairs;
}

/// What a rank sends to itself, in the order of its sends.
void copy_to_self(const std::vector<Operation>& pairs, int self) {
  std::deque<const Operation*> sends;
  for (const Operation& one : pairs)
    if (one.root == self && one.kind == Operation::Kind::send) sends.push_back(&one);
  for (const Operation& one : pairs) {
    if (one.root != self || one.kind != Operation::Kind::receive || sends.empty()) continue;
    copy(one.output, sends.front()->input, one.count * size_of(one.type));
    sends.pop_front();
  }
}

std::size_t inputs_of(const Operation& operation, const Peer& self) {
  const bool for_all = operation.kind == Operation::Kind::reduce_scatter;
  return operation.count * static_cast<std::size_t>(for_all ? self.nranks : 1);
}

}  // namespace

Ended perform(const Operation& operation, const Mesh& mesh, const Peer& self, const Stop& stop) {
  if (operation.factor) {
    const std::size_t count = inputs_of(operation, self);
    const auto* input = static_cast<const char*>(operation.input);
    std::vector<char> scaled(input, input + count * size_of(operation.type));
    scale(scaled.data(), count, operation.type, *operation.factor);
    Operation sum = operation;
    sum.factor.reset();
    sum.input = scaled.data();
    return perform(sum, mesh, self, stop);
  }
  switch (operation.kind) {
    case Operation::Kind::all_reduce: return all_reduce(operation, mesh, self, stop);
    case Operation::Kind::reduce: return reduce(operation, mesh, self, stop);
    case Operation::Kind::broadcast: return broadcast(operation, mesh, self, stop);
    case Operation::Kind::all_gather: return all_gather(operation, mesh, self, stop);
    case Operation::Kind::reduce_scatter: return reduce_scatter(operation, mesh, self, stop);
    case Operation::Kind::all_to_all:
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
      return perform_together(pairs_of(operation, self), mesh, self, stop);
    case Operation::Kind::send:
    case Operation::Kind::receive: return perform_together({operation}, mesh, self, stop);
  }
  return Ended::done;
}

Ended perform_together(const std::vector<Operation>& pairs, const Mesh& mesh, const Peer& self,
                       const Stop& stop) {
  copy_to_self(pairs, self.rank);
  std::vector<Transfer> transfers;
  for (const Operation& one : pairs) {
    const bool sends = one.kind == Operation::Kind::send;
    char* data = sends ? const_cast<char*>(static_cast<const char*>(one.input))
                       : static_cast<char*>(one.output);
    const int fd = mesh.connections[static_cast<std::size_t>(one.root)].get();
    if (one.root != self.rank)
      transfers.push_back({sends ? Transfer::Way::send : Transfer::Way::receive, fd, data,
                           one.count * size_of(one.type)});
  }
  return transfer(std::move(transfers), stop);
}

}  // namespace safelaunch::testing

// cuDNN's backend: descriptors with attributes, from which torch builds graphs of operations. There
// is one engine, it suits every graph, and it computes nothing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace {

// Types and names of attributes, from cudnn_graph.h.
constexpr int kHandle = 0;
constexpr int kBoolean = 2;
constexpr int kInt64 = 3;
constexpr int kDouble = 5;
constexpr int kPointer = 6;
constexpr int kDescriptor = 15;
constexpr int kInt32 = 23;
constexpr int kCharacter = 24;
constexpr int kFraction = 26;
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kComputedIntermediates = 403;
constexpr int kOnlyIntermediates = 404;

std::size_t size_of(int type) {
  switch (type) {
    case kHandle:
    case kInt64:
    case kDouble:
    case kPointer:
    case kDescriptor: return 8;
    case kBoolean:
    case kCharacter: return 1;
    case kFraction: return 16;
    default: return 4;
  }
}

/// How many values an attribute has that nobody has set.
std::int64_t natural_count(int name, int type) {
  if (name == kHeuristicResults || name == kConfigEngine) return 1;
  if (name == kComputedIntermediates || name == kOnlyIntermediates) return 0;
  return type == kInt64 || type == kInt32 ? 1 : 0;
}

struct Descriptor {
  std::map<int, std::string> attributes;
};

}  // namespace

extern "C" {

int cudnnBackendCreateDescriptor(int, Descriptor** descriptor) {
  *descriptor = new Descriptor;
  return 0;
}

int cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete descriptor;
  return 0;
}

int cudnnBackendSetAttribute(Descriptor* descriptor, int name, int type, std::int64_t count,
                             const void* values) {
  const auto size = static_cast<std::size_t>(count) * size_of(type);
  descriptor->attributes[name].assign(static_cast<const char*>(values), size);
  return 0;
}

int cudnnBackendGetAttribute(const Descriptor* descriptor, int name, int type, std::int64_t wanted,
                             std::int64_t* count, void* values) {
  const auto found = descriptor->attributes.find(name);
  const bool is_set = found != descriptor->attributes.end();
  const std::int64_t present = is_set
                                   ? static_cast<std::int64_t>(found->second.size() / size_of(type))
                                   : natural_count(name, type);
  if (count) *count = present;
  const auto given = static_cast<std::size_t>(std::min(wanted, present)) * size_of(type);
  // A descriptor is filled in by what it stands for: the caller has made it, and it stays as it is.
  if (!values || type == kDescriptor) return 0;
  if (is_set)
    std::memcpy(values, found->second.data(), given);
  else
    std::memset(values, 0, given);
  return 0;
}
}

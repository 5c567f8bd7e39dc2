#include "safelaunch/gpu/devices.h"

#include <algorithm>

#include "safelaunch/base/strings.h"

// A word of CUDA_VISIBLE_DEVICES is a number, the beginning of a GPU's UUID, or a slice's name; it
// counts only where it names one GPU alone. A list of the user's is taken as it stands, ill GPUs
// too, since CUDA will complain of those in its own words. Only without one do we choose.
namespace safelaunch::gpu {
namespace {

std::optional<int> gpu_number(std::string_view word) {
  const auto number = to_number(word);
  return number && *number >= 0 ? number : std::nullopt;
}

/// True if the word names the slice, by its UUID or by the older "MIG-GPU-UUID/1/0", which names
/// its GPU too.
bool names_slice(std::string_view word, const Gpu& gpu) {
  if (!word.starts_with("MIG-")) return false;
  const auto begins = [&](const MigDevice& slice) { return slice.uuid.starts_with(word); };
  const auto older = word.substr(4, word.find('/') - 4);
  return std::ranges::any_of(gpu.slices, begins) || (!gpu.uuid.empty() && older == gpu.uuid);
}

bool is_named(std::string_view word, const Gpu& gpu) {
  if (const auto number = gpu_number(word)) return *number == gpu.index;
  return (word.starts_with("GPU-") && gpu.uuid.starts_with(word)) || names_slice(word, gpu);
}

std::vector<std::string> all_usable(std::span<const Gpu> gpus) {
  std::vector<std::string> whole;
  for (const Gpu& gpu : gpus)
    if (is_usable(gpu) && !gpu.mig) whole.push_back(std::to_string(gpu.index));
  if (!whole.empty()) return whole;
  for (const Gpu& gpu : gpus)
    if (is_usable(gpu) && !gpu.slices.empty()) return {gpu.slices.front().uuid};
  return {};
}

}  // namespace

bool is_usable(const Gpu& gpu) {
  return gpu.health == Health::well && gpu.compute_mode != ComputeMode::prohibited &&
         (!gpu.mig || !gpu.slices.empty());
}

const Gpu* gpu_of_device(std::span<const Gpu> gpus, std::string_view device) {
  const auto named = [&](const Gpu& gpu) { return is_named(device, gpu); };
  const auto found = std::ranges::find_if(gpus, named);
  return found != gpus.end() && std::ranges::count_if(gpus, named) == 1 ? &*found : nullptr;
}

bool is_one_of(const Gpu& gpu, std::span<const std::string> devices, std::span<const Gpu> gpus) {
  return std::ranges::any_of(
      devices, [&](const std::string& device) { return gpu_of_device(gpus, device) == &gpu; });
}

std::vector<std::string> visible_devices(const Facts& facts, const Environment& environment) {
  std::vector<std::string> devices;
  const auto variable = environment.find("CUDA_VISIBLE_DEVICES");
  if (variable == environment.end()) {
    for (const Gpu& gpu : facts.gpus) devices.push_back(std::to_string(gpu.index));
    return devices;
  }
  for (std::string_view rest = variable->second; !rest.empty();) {
    const auto word = trimmed(take_word(rest, ','));
    if (gpu_of_device(facts.gpus, word) == nullptr) break;
    devices.emplace_back(word);
  }
  return devices;
}

std::vector<std::string> usable_devices(const Facts& facts, const Environment& environment) {
  return environment.contains("CUDA_VISIBLE_DEVICES") ? visible_devices(facts, environment)
                                                      : all_usable(facts.gpus);
}

}  // namespace safelaunch::gpu

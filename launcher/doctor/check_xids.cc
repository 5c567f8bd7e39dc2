#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/words.h"
#include "xid.h"

namespace safelaunch::doctor {

std::optional<Xid> parse_xid(std::string_view text) {
  constexpr std::string_view kHead = "NVRM: Xid (PCI:";
  constexpr std::string_view kBetween = "): ";
  const auto head = text.find(kHead);
  if (head == std::string_view::npos) return std::nullopt;
  text.remove_prefix(head + kHead.size());
  const auto end = text.find(kBetween);
  if (end == std::string_view::npos) return std::nullopt;
  Xid xid{std::string(text.substr(0, end)), 0};
  text.remove_prefix(end + kBetween.size());
  const auto read = std::from_chars(text.data(), text.data() + text.size(), xid.code);
  return read.ec == std::errc() ? std::optional(xid) : std::nullopt;
}

bool is_grave(const Xid& xid) {
  // Memory that could not be corrected (48, 64, 94, 95, 140), NVLink (74), off the bus (79), the
  // GPU's own firmware (61, 62, 119, 120), a reset or reboot asked for (154).
  constexpr std::array kGrave{48, 61, 62, 64, 74, 79, 94, 95, 119, 120, 140, 154};
  return std::ranges::find(kGrave, xid.code) != kGrave.end();
}

/// Only the last of each GPU: one failure writes dozens. A risk, since a reset may have healed it.
void check_xids(const HostFacts& facts, Advices& advices) {
  std::map<std::string, const host::KernelMessage*> last;
  for (const host::KernelMessage& message : facts.driver_messages)
    if (const auto xid = parse_xid(message.text); xid && is_grave(*xid)) last[xid->pci] = &message;
  for (const auto& [pci, message] : last)
    advise(
        advices, Severity::risk, cause::kGpuIll,
        fmt::format("the kernel's log, {} ago: {}", host::rough_age(message->age), message->text),
        fmt::format("nvidia-smi -q -i {}.0; a reset, or out of the job with it "
                    "(CUDA_VISIBLE_DEVICES)",
                    pci));
}

}  // namespace safelaunch::doctor

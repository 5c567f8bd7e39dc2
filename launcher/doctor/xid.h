#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::doctor {

/// An error of a GPU that NVIDIA's driver has put into the kernel's log.
struct Xid {
  std::string pci;  ///< "0000:1b:00"
  int code = 0;
  bool operator==(const Xid&) const = default;
};

/// What "NVRM: Xid (PCI:0000:1b:00): 79, pid=…" says; nullopt for other lines.
[[nodiscard]] std::optional<Xid> parse_xid(std::string_view text);

/// Whether a code tells of hardware or firmware that fails; most others are mistakes of programs.
[[nodiscard]] bool is_grave(const Xid& xid);

}  // namespace safelaunch::doctor

#pragma once

#include <map>
#include <string>
#include <utility>

#include "safelaunch/host/process_tree.h"

namespace safelaunch::testing {

/// A process table that a test fills by hand.
class FakeProcessTable final : public host::ProcessTable {
 public:
  /// Adds a process, or replaces the one with this pid.
  FakeProcessTable& add(int pid, int parent, unsigned uid = 1000, std::string comm = {}) {
    host::ProcessFacts facts;
    facts.id = {pid, static_cast<std::uint64_t>(pid) * 10};
    facts.parent = parent;
    facts.state = 'S';
    facts.uid = uid;
    facts.comm = std::move(comm);
    processes_[pid] = facts;
    return *this;
  }

  [[nodiscard]] std::optional<host::ProcessFacts> facts(int pid) const override {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] std::vector<int> children(int pid) const override {
    std::vector<int> children;
    for (const auto& [child, facts] : processes_)
      if (facts.parent == pid) children.push_back(child);
    return children;
  }

  [[nodiscard]] std::vector<host::ProcessFacts> all(std::optional<unsigned> uid) const override {
    std::vector<host::ProcessFacts> all;
    for (const auto& [pid, facts] : processes_)
      if (!uid || facts.uid == *uid) all.push_back(facts);
    return all;
  }

 private:
  std::map<int, host::ProcessFacts> processes_;
};

}  // namespace safelaunch::testing

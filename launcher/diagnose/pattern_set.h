#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::diagnose {

/// Searches a line for many patterns in one pass, without regard to case and in time linear in its
/// length (RE2). Add all patterns, then compile, then match.
class PatternSet {
 public:
  PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;
  ~PatternSet();

  /// Adds a pattern, which gets the next number, from 0 on. Returns its mistake; empty if right.
  [[nodiscard]] std::string add(const std::string& pattern);

  void compile();

  /// The numbers of the patterns that match the line, ascending. The caller bounds its length.
  [[nodiscard]] std::vector<int> match(std::string_view line) const;

 private:
  struct Compiled;  // RE2's header is heavy and stays in one source file
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace safelaunch::diagnose

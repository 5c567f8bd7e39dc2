#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::diagnose {

/// Many patterns that are looked for in one pass over a line, in time linear in its length (RE2),
/// without regard to case. Add all patterns, then compile, then match.
class PatternSet {
 public:
  PatternSet();
  PatternSet(PatternSet&&) noexcept;
  PatternSet& operator=(PatternSet&&) noexcept;
  ~PatternSet();

  /// Gives the pattern the next number, from 0 on. Returns what is wrong with it; empty if nothing.
  [[nodiscard]] std::string add(const std::string& pattern);

  void compile();

  /// The numbers of the patterns that stand in the line, ascending. The caller bounds its length.
  [[nodiscard]] std::vector<int> match(std::string_view line) const;

 private:
  struct Compiled;  // RE2's header is heavy and stays in one source file
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace safelaunch::diagnose

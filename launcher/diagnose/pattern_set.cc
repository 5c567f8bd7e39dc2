#include "pattern_set.h"

#include <re2/set.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace safelaunch::diagnose {
namespace {

RE2::Options options() {
  RE2::Options options;
  options.set_case_sensitive(false);  // NCCL's "Connect to" became "connect to" between versions
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);  // a log may hold any bytes
  options.set_max_mem(64 << 20);  // a bound on the cache of the automaton, not an allocation
  return options;
}

}  // namespace

struct PatternSet::Compiled {
  RE2::Set set{options(), RE2::UNANCHORED};
};

PatternSet::PatternSet() : compiled_(std::make_unique<Compiled>()) {}
PatternSet::PatternSet(PatternSet&&) noexcept = default;
PatternSet& PatternSet::operator=(PatternSet&&) noexcept = default;
PatternSet::~PatternSet() = default;

std::string PatternSet::add(const std::string& pattern) {
  std::string error;
  compiled_->set.Add(pattern, &error);
  return error;
}

void PatternSet::compile() {
  if (compiled_->set.Compile()) return;
  std::fputs("safelaunch: the patterns of the catalogue need more memory than their bound\n",
             stderr);
  std::abort();
}

std::vector<int> PatternSet::match(std::string_view line) const {
  std::vector<int> hits;
  compiled_->set.Match({line.data(), line.size()}, &hits);
  std::sort(hits.begin(), hits.end());
  return hits;
}

}  // namespace safelaunch::diagnose

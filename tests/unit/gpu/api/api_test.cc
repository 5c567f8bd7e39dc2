#include "catch.h"
#include "facts.h"

namespace safelaunch::gpu {
namespace {

TEST_CASE("what we declare of NVIDIA's interfaces is what NVIDIA's headers declare") {
  const ApiFacts declared = declared_facts();
  const ApiFacts real = real_facts();
  CHECK(declared.size() > 300);
  CHECK(declared.size() == real.size());
  for (const auto& [name, fact] : declared) {
    INFO(name);
    CHECK(fact == real.at(name));
  }
}

}  // namespace
}  // namespace safelaunch::gpu

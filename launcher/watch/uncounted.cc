#include "safelaunch/watch/uncounted.h"

namespace safelaunch::watch {

const char* name(Uncounted uncounted) {
  switch (uncounted) {
    case Uncounted::nothing: return "";
    case Uncounted::comes: return "comes";
    case Uncounted::stands: return "stands";
    case Uncounted::meets: return "meets";
    case Uncounted::serves: return "serves";
  }
  return "";
}

Uncounted uncounted_named(std::string_view word) {
  for (const Uncounted uncounted :
       {Uncounted::comes, Uncounted::stands, Uncounted::meets, Uncounted::serves})
    if (word == name(uncounted)) return uncounted;
  return Uncounted::nothing;
}

}  // namespace safelaunch::watch

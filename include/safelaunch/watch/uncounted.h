#pragma once

#include <string_view>

namespace safelaunch::watch {

/// What a rank does outside of the collectives that torch counts, as its hook answers. A call is
/// one of torch.distributed in which a thread was at the question before, too.
enum class Uncounted {
  nothing,  ///< nothing of that kind
  comes,    ///< it has come to a call that makes a group since the question before
  stands,   ///< it is in a call (send, recv)
  meets,    ///< this call makes a group, or opens a store: it waits for other ranks
  serves,   ///< it is in none, and waits for a request of somebody outside
};

[[nodiscard]] const char* name(Uncounted uncounted);
/// The one of that name; any other word is none.
[[nodiscard]] Uncounted uncounted_named(std::string_view word);

}  // namespace safelaunch::watch

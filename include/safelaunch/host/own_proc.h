#pragma once

namespace safelaunch::host {

/// Whether /proc shows our own pid namespace. One that was mounted outside of ours (`unshare -p`
/// without --mount-proc, a container that shares its host's /proc) gives the numbers of other
/// processes: nothing in it is to be believed, nor signalled. Works without the heap.
[[nodiscard]] bool proc_is_ours();

}  // namespace safelaunch::host

#include "attempt_place.h"

namespace safelaunch::run {

AttemptPlace make_place(const PlaceWanted& wanted) {
  AttemptPlace place{wanted.run.attempt(wanted.number, wanted.profile), {}, {}, {}};
  place.nccl = open_nccl_door(place.directory);
  if (!wanted.guests.hook && !wanted.guests.plugin) return place;
  Result<HookDoor> door = open_hook_door(wanted.guests, wanted.environment, wanted.run.path());
  // A hook that cannot be installed is no reason to run nothing: /proc shows the ranks too.
  if (door)
    place.hook = std::move(*door);
  else
    place.trouble = door.error().message;
  return place;
}

}  // namespace safelaunch::run

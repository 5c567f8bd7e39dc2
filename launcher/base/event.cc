#include "safelaunch/base/event.h"

namespace safelaunch {

const char* name(Stage stage) {
  switch (stage) {
    case Stage::spawned: return "spawned";
    case Stage::imported: return "imported";
    case Stage::rendezvous: return "rendezvous";
    case Stage::group: return "group";
    case Stage::communicator: return "communicator";
    case Stage::collective: return "collective";
  }
  return "?";
}

std::optional<Stage> stage_named(std::string_view word) {
  for (int i = 0; i < kStageCount; ++i)
    if (word == name(static_cast<Stage>(i))) return static_cast<Stage>(i);
  return std::nullopt;
}

const char* name(Activity activity) {
  switch (activity) {
    case Activity::dead: return "dead";
    case Activity::stopped: return "stopped";
    case Activity::quiet: return "quiet";
    case Activity::idling: return "idling";
    case Activity::working: return "working";
    case Activity::attended: return "attended";
    case Activity::unseen: return "unseen";
  }
  return "?";
}

Activity activity_named(std::string_view word) {
  for (const Activity activity : {Activity::dead, Activity::stopped, Activity::quiet,
                                  Activity::idling, Activity::working, Activity::attended})
    if (word == name(activity)) return activity;
  return Activity::unseen;
}

}  // namespace safelaunch

#pragma once

#include <map>
#include <set>
#include <string>

namespace safelaunch::testing {

/// The points at which NCCL prints, in the order of a run.
enum class Moment {
  library,        ///< first call of all
  bootstrap_net,  ///< the interface is chosen
  driver,         ///< the CUDA driver is open
  version,
  network,  ///< plugins and networks
  network_known,
  start,  ///< Init START: up to 2.22 after the bootstrap, from 2.23 on before it
  host_known,
  bootstrapped,  ///< all ranks have come
  topology,
  profiler,  ///< where no plugin is loaded
  planned,
  connecting,
  connected,
  tuned,
  complete,    ///< Init COMPLETE
  first_call,  ///< of a collective, where transports are connected late
  destroyed,
  aborted,
  exit,
};

/// The facts for the lines of one rank: words for their {placeholders}, and the truths that hold
/// for it.
struct Facts {
  std::map<std::string, std::string> words;
  std::set<std::string> truths;

  /// Adds every NCCL_ variable of the environment: as word, and as a truth if it is set.
  void add_environment();
};

/// Prints what the played release prints at this moment.
void log_moment(Moment moment, const Facts& facts, int device);

/// `text` with every {word} filled in; {channel} is `channel`.
[[nodiscard]] std::string fill_in(std::string_view text, const Facts& facts, int channel = 0);

}  // namespace safelaunch::testing

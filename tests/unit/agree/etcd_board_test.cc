#include "board_backends.h"
#include "board_scene.h"

namespace safelaunch::agree {
namespace {

/// An etcd that takes connections, and never answers.
struct InMuteEtcd {
  testing::Mute mute;

  [[nodiscard]] BoardConfig config(bool /*first*/) const {
    BoardConfig config;
    config.address = {Address::Backend::etcd, {mute.where}};
    return config;
  }
  static Result<std::unique_ptr<Board>> make(boost::asio::io_context& io, const BoardConfig& config,
                                             Board::Listener& listener) {
    return make_etcd_board(io, config, listener);
  }
};

TEST_CASE("how long an etcd has not answered is told to a tenth of a second", "[etcd_board]") {
  testing::Scene<InMuteEtcd> scene(testing::short_terms());
  const testing::Agent& agent = scene.agent('a', 0);
  scene.until([&] { return !agent.heard.failures.empty(); });
  const std::string& why = agent.heard.failures.front();
  INFO(why);
  CHECK(why.find("has not answered for ") != std::string::npos);
  CHECK(why.size() - why.rfind(' ') <= std::string(" 2.1s").size());
}

}  // namespace
}  // namespace safelaunch::agree

#include "safelaunch/base/alarm.h"

#include <boost/asio/io_context.hpp>
#include <optional>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("an alarm whose time has passed does not ring once it is gone", "[alarm]") {
  boost::asio::io_context io;
  std::optional<Alarm> first(io);
  std::optional<Alarm> second(io);
  int rung = 0;
  // Both times have passed when the kernel is asked, so the news of both are on their way.
  first->set(Clock::now() - Duration{2}, [&] {
    ++rung;
    second.reset();
  });
  second->set(Clock::now() - Duration{1}, [&] { ++rung; });
  io.run();
  CHECK(rung == 1);
}

TEST_CASE("an alarm that is set anew, or cancelled, while its news is on its way rings no earlier",
          "[alarm]") {
  boost::asio::io_context io;
  Alarm first(io);
  Alarm second(io);
  int rung = 0;
  const bool again = GENERATE(false, true);
  first.set(Clock::now() - Duration{2}, [&] {
    second.cancel();
    CHECK(second.due() == TimePoint());
    if (again) second.set_after(Duration{1}, [&] { rung += 10; });
  });
  second.set(Clock::now() - Duration{1}, [&] { ++rung; });
  io.run();
  CHECK(rung == (again ? 10 : 0));
}

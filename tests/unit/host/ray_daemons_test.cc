#include "safelaunch/host/ray_daemons.h"

#include "catch.h"

using namespace safelaunch::host;

TEST_CASE("what Ray keeps beside a job is told from its workers and from a program",
          "[ray_daemons]") {
  const std::string ray = "/venv/lib/python3.11/site-packages/ray";
  CHECK(is_ray_daemon("raylet",
                      {ray + "/core/src/ray/raylet/raylet", "--raylet_socket_name=/tmp/ray/s"}));
  CHECK(is_ray_daemon("gcs_server", {}));
  CHECK(is_ray_daemon("ray::DashboardA", {"ray::DashboardAgent"}));
  CHECK(is_ray_daemon("python",
                      {"python", "-u", ray + "/_private/log_monitor.py", "--session-dir=/tmp"}));
  CHECK(is_ray_daemon("python3", {"python3", ray + "/dashboard/dashboard.py"}));
  CHECK_FALSE(is_ray_daemon("ray::Worker.tra", {"ray::Worker.train"}));
  CHECK_FALSE(is_ray_daemon("ray::IDLE", {"ray::IDLE"}));
  CHECK_FALSE(
      is_ray_daemon("python", {"python", ray + "/_private/workers/default_worker.py", "--x"}));
  CHECK_FALSE(
      is_ray_daemon("python", {"python", "train.py", "--data", "-v", "/x/ray/_private/a.py"}));
  CHECK_FALSE(is_ray_daemon("python", {}));
}

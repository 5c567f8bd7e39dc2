#include "safelaunch/host/infiniband.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;
namespace fs = std::filesystem;

namespace {

/// A folder as /sys/class/infiniband, gone with this object.
class Sysfs {
 public:
  Sysfs() {
    std::string name = (fs::temp_directory_path() / "safelaunch-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;
  ~Sysfs() { fs::remove_all(root_); }

  void add(const std::string& device, const std::string& state, const std::string& layer) {
    const fs::path port = root_ / device / "ports/1";
    fs::create_directories(port);
    std::ofstream(port / "state") << state << '\n';
    std::ofstream(port / "link_layer") << layer << '\n';
  }
  void add_driver(const std::string& device, const std::string& driver) {
    const fs::path place = root_ / device / "device";
    fs::create_directories(place);
    fs::create_symlink("../../../bus/pci/drivers/" + driver, place / "driver");
  }
  [[nodiscard]] std::string path() const { return root_.string(); }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("ports are read from sysfs", "[infiniband]") {
  Sysfs sysfs;
  sysfs.add("mlx5_1", "1: DOWN", "Ethernet");
  sysfs.add("mlx5_0", "4: ACTIVE", "InfiniBand");
  CHECK(infiniband_ports(sysfs.path()) ==
        std::vector<InfinibandPort>{{"mlx5_0", 1, "ACTIVE", "InfiniBand"},
                                    {"mlx5_1", 1, "DOWN", "Ethernet"}});
}

TEST_CASE("an adapter has the driver that its link names", "[infiniband]") {
  Sysfs sysfs;
  sysfs.add("rdmap0s31", "4: ACTIVE", "Unspecified");
  sysfs.add_driver("rdmap0s31", "efa");
  CHECK(infiniband_ports(sysfs.path()).at(0).driver == "efa");
}

TEST_CASE("a host without adapters has no ports", "[infiniband]") {
  CHECK(infiniband_ports("/proc/nonexistent").empty());
}

TEST_CASE("states are taken from the kernel's words", "[infiniband]") {
  CHECK(parse_port_state("4: ACTIVE") == "ACTIVE");
  CHECK(parse_port_state("") == "");
}

TEST_CASE("all ports of an adapter are read, in the order of their names", "[infiniband]") {
  Sysfs sysfs;
  sysfs.add("mlx5_0", "4: ACTIVE", "InfiniBand");
  fs::copy(sysfs.path() + "/mlx5_0/ports/1", sysfs.path() + "/mlx5_0/ports/2",
           fs::copy_options::recursive);
  const auto ports = infiniband_ports(sysfs.path());
  REQUIRE(ports.size() == 2);
  CHECK((ports[0].number == 1 && ports[1].number == 2));
}

TEST_CASE("an adapter whose files are missing has a port of which nothing is known",
          "[infiniband]") {
  Sysfs sysfs;
  fs::create_directories(sysfs.path() + "/mlx5_0/ports/1");
  CHECK(infiniband_ports(sysfs.path()) == std::vector<InfinibandPort>{{"mlx5_0", 1, "", ""}});
  fs::create_directories(sysfs.path() + "/mlx5_1");
  CHECK(infiniband_ports(sysfs.path()).size() == 1);  // without ports there is none
}

TEST_CASE("a state without a number is the word itself", "[infiniband]") {
  CHECK(parse_port_state("ACTIVE") == "ACTIVE");
  CHECK(parse_port_state("5: ACTIVE_DEFER") == "ACTIVE_DEFER");
  CHECK(parse_port_state("1: ") == "");
}

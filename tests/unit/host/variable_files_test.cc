#include "safelaunch/host/variable_files.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("a file of variables is read with its lines", "[variable_files]") {
  CHECK(parse_variable_file("# site\nNCCL_DEBUG=WARN\n\n NCCL_IB_HCA = =mlx5_0 \nnothing\n", "f") ==
        std::vector<FileVariable>{{"NCCL_DEBUG", "WARN", "f", 2},
                                  {"NCCL_IB_HCA", "=mlx5_0", "f", 4}});
  CHECK(parse_variable_file("=1\n#A=1\n", "f").empty());
}

#include "safelaunch/host/variable_files.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::host;
using safelaunch::testing::TemporaryFolder;

TEST_CASE("a file of variables is read with its lines", "[variable_files]") {
  CHECK(parse_variable_file("# site\nNCCL_DEBUG=WARN\n\n NCCL_IB_HCA = =mlx5_0 \nnothing\n", "f") ==
        std::vector<FileVariable>{{"NCCL_DEBUG", "WARN", "f", 2},
                                  {"NCCL_IB_HCA", "=mlx5_0", "f", 4}});
  CHECK(parse_variable_file("=1\n#A=1\n", "f").empty());
}

namespace {

std::string variable_value(const std::vector<FileVariable>& variables, std::string_view name) {
  for (const FileVariable& one : variables)
    if (one.name == name) return one.value + " of " + one.file;
  return "";
}

}  // namespace

TEST_CASE("a value keeps its equals signs and quotes, and may be empty", "[variable_files]") {
  CHECK(
      parse_variable_file("A=b=c\nB=\"x y\"\r\nC=\n  # D=1\nE", "f") ==
      std::vector<FileVariable>{{"A", "b=c", "f", 1}, {"B", "\"x y\"", "f", 2}, {"C", "", "f", 3}});
}

TEST_CASE("empty lines count among the lines of a file", "[variable_files]") {
  CHECK(parse_variable_file("\n\n\nA=1", "f").at(0).line == 4);
  CHECK(parse_variable_file("", "f").empty());
}

TEST_CASE("NCCL's file is the one that the variable names, else the one at home",
          "[variable_files]") {
  const TemporaryFolder folder;
  const std::string home = folder.write(".nccl.conf", "NCCL_A=home\n");
  const std::string named = folder.write("named.conf", "NCCL_A=named\nNCCL_A=again\n");
  Environment environment{{"HOME", folder / "."}};
  CHECK(variable_value(nccl_file_variables(environment), "NCCL_A") ==
        "home of " + (folder / "./.nccl.conf"));
  environment["NCCL_CONF_FILE"] = named;
  CHECK(variable_value(nccl_file_variables(environment), "NCCL_A") == "named of " + named);
  environment["NCCL_CONF_FILE"] = folder / "none";
  CHECK(variable_value(nccl_file_variables(environment), "NCCL_A").empty());
}

TEST_CASE("without a home there is no file of the home", "[variable_files]") {
  CHECK(variable_value(nccl_file_variables({}), "NCCL_A").empty());
  CHECK(deepspeed_file_variables({{"DS_ENV_FILE", "no-such-file-of-safelaunch"}}).empty());
}

TEST_CASE("DeepSpeed's file at home may have another name", "[variable_files]") {
  const TemporaryFolder folder;
  folder.write(".deepspeed_env", "NCCL_A=usual\n");
  folder.write("other_env", "NCCL_A=other\nNCCL_B=2\n");
  Environment environment{{"HOME", folder / "."}};
  CHECK(variable_value(deepspeed_file_variables(environment), "NCCL_A").starts_with("usual of "));
  environment["DS_ENV_FILE"] = "other_env";
  CHECK(variable_value(deepspeed_file_variables(environment), "NCCL_A").starts_with("other of "));
}

#include "catch.h"
#include "commands.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

namespace {

std::string warning_text(const job::Command& command, job::Warning id) {
  for (const job::CommandWarning& warning : command.warnings)
    if (warning.id == id) return warning.text;
  return {};
}

}  // namespace

TEST_CASE("a port after the script is shown where it belongs", "[mistakes]") {
  const auto text = [](const char* line) {
    return warning_text(command(line), job::Warning::port_after_script);
  };
  CHECK(text("deepspeed --num_gpus 2 t.py --lr 1 --master_port 29501 --x") ==
        "--master_port 29501 stands after the script, so t.py gets it and deepspeed does not; "
        "write: deepspeed --master_port 29501 --num_gpus 2 t.py --lr 1 --x");
  CHECK(text("torchrun t.py --master-port=5").ends_with("write: torchrun --master-port=5 t.py"));
  CHECK(text("accelerate launch t.py --main_process_port 5")
            .ends_with("write: accelerate launch --main_process_port 5 t.py"));
  CHECK(text("env A=1 torchrun t.py --master_port")
            .ends_with("write: env A=1 torchrun --master_port t.py"));
}

TEST_CASE("a script may have a port option of its own", "[mistakes]") {
  CHECK(command("torchrun --master_port 5 t.py --master_port 6").warnings.empty());
  CHECK(command("python t.py --master_port 6").warnings.empty());
  CHECK(command("torchrun t.py --port 6").warnings.empty());
}

TEST_CASE("port 0 is warned of where ranks would get it as it stands", "[mistakes]") {
  const auto warned = [](const char* line) {
    return has_warning(command(line), job::Warning::port_zero);
  };
  CHECK(warned("deepspeed --master_port 0 --num_gpus 2 t.py"));
  CHECK(warned("accelerate launch --num_processes 2 --main_process_port 0 t.py"));
  CHECK(warned("torchrun --nproc_per_node 2 --master_port 0 t.py"));
  CHECK_FALSE(warned("deepspeed --master_port 0 --num_gpus 1 t.py"));
  CHECK_FALSE(warned("torchrun --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint h:0 t.py"));
  CHECK_FALSE(warned("deepspeed --master_port 1 --num_gpus 2 t.py"));
}

TEST_CASE("a corrected line can be pasted into a shell", "[mistakes]") {
  const job::FileReader none = [](const std::string&) { return job::FileAt{}; };
  const job::Command seen =
      job::recognise({"torchrun", "t.py", "it's", "a b", "", "--master_port", "5"}, {}, none);
  CHECK(warning_text(seen, job::Warning::port_after_script)
            .ends_with("write: torchrun --master_port 5 t.py 'it'\\''s' 'a b' ''"));
}

TEST_CASE("port 0 and an unknown option are explained in whole sentences", "[mistakes]") {
  CHECK(warning_text(command("deepspeed --master_port 0 t.py"), job::Warning::port_zero) ==
        "port 0 means nothing to deepspeed: the ranks get it as it stands and wait for each other "
        "for ever; name a free port");
  CHECK(warning_text(command("torchrun --new x t.py"), job::Warning::unknown_option) ==
        "torchrun option --new is not known here, so safelaunch cannot tell where the script "
        "begins; write it as --option=value");
}

TEST_CASE("port 0 harms no job of one process, and no command that starts no ranks", "[mistakes]") {
  for (const char* line :
       {"torchrun --master_port 0 t.py", "accelerate launch --cpu --main_process_port 0 t.py",
        "torchrun --standalone --master_port 0 --nproc_per_node 2 t.py"}) {
    INFO(line);
    CHECK_FALSE(has_warning(command(line), job::Warning::port_zero));
  }
  CHECK_FALSE(has_warning(command("python t.py", {{"MASTER_PORT", "0"}}), job::Warning::port_zero));
  CHECK(has_warning(command("torchrun --nnodes 2 --master_port 0 t.py"), job::Warning::port_zero));
}

TEST_CASE("a port behind the script is no mistake where torchrun would not use it", "[mistakes]") {
  CHECK(command("torchrun --standalone t.py --master_port 5").warnings.empty());
  CHECK(command("torchrun --rdzv-endpoint h:1 t.py --master_port 5").warnings.empty());
  CHECK(command("torchrun t.py", {{"PET_MASTER_PORT", "5"}}).warnings.empty());
}

TEST_CASE("only a launcher's own word for its port is looked for behind the script", "[mistakes]") {
  for (const char* line :
       {"deepspeed t.py --main_process_port 5", "accelerate launch t.py --master_port 5",
        "torchrun t.py --master_portx 5", "torchrun t.py master_port 5",
        "torchrun t.py --master_por=5"}) {
    INFO(line);
    CHECK(command(line).warnings.empty());
  }
  CHECK(has_warning(command("deepspeed t.py --master-port=5"), job::Warning::port_after_script));
}

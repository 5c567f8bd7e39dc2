#include "launcher/diagnose/log_line.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;

namespace {

/// The lines point into the text, which the caller keeps.
std::vector<LogLine> lines(std::string_view text) {
  std::vector<LogLine> all;
  for_each_line(text, [&](const LogLine& line) { all.push_back(line); });
  return all;
}

LogLine line(std::string_view text) {
  return lines(text).at(0);
}

}  // namespace

TEST_CASE("torch's tag gives the rank of a line, torchrun's own only goes", "[log_line]") {
  CHECK(line("[rank3]: hello").text == "hello");
  CHECK(line("[rank3]: hello").rank == Rank{3});
  CHECK(line("[default1]:[rank5]:   File").text == "  File");
  CHECK(line("[default1]:[rank5]:   File").rank == Rank{5});
  CHECK_FALSE(line("[default1]:x").rank);
}

TEST_CASE("a bracket that is no tag stays", "[log_line]") {
  for (const char* text :
       {"[rank]: x", "[1]: x", "[W1121 11:51:20.3 socket.cpp:469] x", "[", "[]:"})
    CHECK(line(text).text == text);
}

TEST_CASE("the kind of a line is seen from its words", "[log_line]") {
  CHECK(line("vm:5:5 [0] NCCL INFO NET/IB : No device found.").kind == LineKind::nccl_info);
  CHECK(line("vm:5:5 [0] init.cc:7 NCCL WARN Duplicate").kind == LineKind::nccl_warn);
  CHECK(line("[2026-11-20 18:15:59] vm:5:5 [0] a.cc:1 (f) NCCL ATTN x").kind ==
        LineKind::nccl_warn);
  CHECK(line("torch.distributed.DistStoreError: x").kind == LineKind::python_error);
  CHECK(line("AssertionError").kind == LineKind::python_error);
  CHECK(line("ERROR: something").kind == LineKind::plain);
  CHECK(line("Traceback (most recent call last):").kind == LineKind::plain);
}

TEST_CASE("warnings are told from failures", "[log_line]") {
  CHECK(line("[W1121 11:51:20.387366435 socket.cpp:469] [c10d] x").kind == LineKind::warning);
  CHECK(line("[W socket.cpp:464] [c10d] x").kind == LineKind::warning);
  CHECK(line("W1121 11:51:05.463000 7777 torch/distributed/run.py:874] x").kind ==
        LineKind::warning);
  CHECK(line("/opt/a.py:7: UserWarning: x").kind == LineKind::warning);
  CHECK(line("[E1121 11:51:44.219820135 socket.cpp:1028] [c10d] x").kind == LineKind::plain);
  CHECK(line("E1121 11:51:05.363000 7777 torch/a.py:1002] x").kind == LineKind::plain);
  CHECK(line("Waiting for the others").kind == LineKind::plain);
}

TEST_CASE("vLLM's warning is a warning, whatever it names", "[log_line]") {
  const std::string head = "(APIServer pid=7) WARNING 11-29 09:12:40 [system.py:9] ";
  const std::string words = "This can cause errors like OSError: [Errno 24] Too many open files";
  const std::string text = head + words;
  CHECK(line(text).kind == LineKind::warning);
  CHECK(line(text).text == words);
  CHECK(line(text).place == "system.py:9");
  const std::string error = "ERROR 11-29 09:12:40 core.py:953] ValueError: a";
  CHECK(line(error).kind == LineKind::python_error);
  CHECK(line("(pid=7, ip=10.0.0.2) words").text == "words");
  CHECK(line("(a pid of 7) words").text == "(a pid of 7) words");
}

TEST_CASE("SGLang's words before a traceback are taken off, and no other date", "[log_line]") {
  const std::string head = "[2026-11-29 20:51:39 DP1 TP1] ";
  CHECK(line(head + "ValueError: a").kind == LineKind::plain);  // somebody caught it and logs it
  CHECK(line(head + "Scheduler hit an exception: Traceback (most recent call last):").text ==
        "Traceback (most recent call last):");
}

TEST_CASE("the reason that torch repeats from NCCL counts as a warning of NCCL", "[log_line]") {
  const auto all = lines("Last error:\nCuda failure 'out of memory'\nnext\n");
  CHECK(all.at(1).kind == LineKind::nccl_warn);
  CHECK(all.at(2).kind == LineKind::plain);
}

TEST_CASE("a line of any length is cut, and the next one still read", "[log_line]") {
  const std::string text = std::string(1 << 20, 'x') + "\nnext\n";
  const auto all = lines(text);
  CHECK(all.at(0).text.size() == kLongestLine);
  CHECK(all.at(1).text == "next");
}

TEST_CASE("only the end of a long text is read, from the begin of a line on", "[log_line]") {
  const std::string text = "first\n" + std::string(kLongestText - 3, 'x') + "\nlast\n";
  CHECK(lines(text).back().text == "last");
  CHECK(lines(text).front().text == "last");
  CHECK(lines(std::string(kLongestText + 1, 'x')).empty());
}

TEST_CASE("carriage returns, NULs and a missing last line end do no harm", "[log_line]") {
  CHECK(line("a\r\n").text == "a");
  CHECK(line(std::string_view("a\0b", 3)).text.size() == 3);
  CHECK(lines("a\nb").size() == 2);
  CHECK(lines("\n\n").empty());
}

TEST_CASE("an exception's line splits into type and message", "[log_line]") {
  CHECK(split_error("KeyError: 'label'").type == "KeyError");
  CHECK(split_error("KeyError: 'label'").message == "'label'");
  CHECK(split_error("torch.distributed.elastic.ChildFailedError: ").message.empty());
  CHECK(split_error("some words Error: x").type.empty());
}

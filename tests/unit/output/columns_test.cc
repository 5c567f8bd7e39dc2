#include "launcher/output/screen.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::output;

TEST_CASE("a line is cut at the terminal's width", "[columns]") {
  CHECK(fit_to_columns("waiting for rank 3", 80) == "waiting for rank 3");
  CHECK(fit_to_columns("waiting for rank 3", 7) == "waiting");
  CHECK(fit_to_columns("waiting", 0).empty());
}

TEST_CASE("characters count by the columns they fill", "[columns]") {
  CHECK(fit_to_columns("50%|███  |", 6) == "50%|██");
  CHECK(fit_to_columns("日本語", 5) == "日本");
  CHECK(fit_to_columns("🚀go", 3) == "🚀g");
}

TEST_CASE("colours take no column and end with the line", "[columns]") {
  CHECK(fit_to_columns("\x1b[31mred alert\x1b[0m", 3) == "\x1b[31mred\x1b[0m");
}

TEST_CASE("nothing that moves the cursor or means anything else is left", "[columns]") {
  CHECK(fit_to_columns("a\x1b[Kb\x1b[3Gc\td\re\xff\x1b", 80) == "abcde");
}

TEST_CASE("a status line that is too long keeps the rank that is waited for, and its clock") {
  const std::string line = "import 2/2 · group 1/2 · waiting for rank 1 (idling) 12s/180s";
  CHECK(fit_status(line, 80) == line);
  CHECK(fit_status(line, 55) == "… group 1/2 · waiting for rank 1 (idling) 12s/180s");
  CHECK(fit_status(line, 45) == "… waiting for rank 1 (idling) 12s/180s");
  CHECK(fit_status(line, 30) == "… waiting for rank 1… 12s/180s");
  CHECK(fit_status(line, 8) == "… waitin");
  CHECK(fit_status("日本語日本語 9s", 10) == "日本語… 9s");
  CHECK(fit_status("oneword", 3) == "one");
}

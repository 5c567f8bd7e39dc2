// helper_scene WORD...: a helper that does what each word says, in turn.
//   say:TEXT  complain:TEXT  hang  flood  long  echo (each line of stdin, to its end)  abort
//   linger (a child that holds stdout for as long as it lives)
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

void hang() {
  for (;;) ::pause();
}

void flood() {
  for (;;) std::puts("and on and on");
}

void echo() {
  for (std::string line; std::getline(std::cin, line);) std::cout << line << std::endl;
}

void linger() {
  if (::fork() == 0) hang();
}

void perform(std::string_view word) {
  if (word.starts_with("say:")) std::cout << word.substr(4) << std::endl;
  if (word.starts_with("complain:")) std::cerr << word.substr(9) << std::endl;
  if (word == "hang") hang();
  if (word == "flood") flood();
  if (word == "long") std::cout << std::string(200'000, 'x') << std::endl;
  if (word == "echo") echo();
  if (word == "abort") std::abort();
  if (word == "linger") linger();
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) perform(argv[i]);
}

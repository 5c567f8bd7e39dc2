#include "common/gpus.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace safelaunch::testing {
namespace {

/// The file that says that a GPU is lost; empty where there is no folder for it.
std::filesystem::path mark_of_loss(int index) {
  const char* folder = std::getenv("SAFELAUNCH_DOUBLE_LOST");
  if (!folder) return {};
  return std::filesystem::path(folder) / ("gpu-" + std::to_string(index));
}

}  // namespace

int gpu_count() {
  const char* text = std::getenv("SAFELAUNCH_DOUBLE_GPUS");
  return text ? std::atoi(text) : 2;
}

std::array<unsigned char, 16> gpu_uuid(int index) {
  std::array<unsigned char, 16> uuid{0xd0, 0x0b, 0x1e, 0, 0, 0, 0x40, 0, 0x80};
  uuid.back() = static_cast<unsigned char>(index);
  return uuid;
}

std::string gpu_uuid_text(int index) {
  std::string text = "GPU";
  const auto uuid = gpu_uuid(index);
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

unsigned gpu_bus(int index) {
  return 0x10U * static_cast<unsigned>(index + 1);
}

std::string gpu_bus_id(int index) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", gpu_bus(index));
  return text;
}

void lose_gpu(int index) {
  if (const auto mark = mark_of_loss(index); !mark.empty()) std::ofstream{mark};
}

bool gpu_is_lost(int index) {
  const auto mark = mark_of_loss(index);
  return !mark.empty() && std::filesystem::exists(mark);
}

}  // namespace safelaunch::testing

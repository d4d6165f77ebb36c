#include "runtime/rank/warning_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace tandem {

std::string warning_path(const std::string& directory, int rank) {
  return fmt::format("{}/warning.rank_{}", directory, rank);
}

std::optional<Seconds> WarningFile::take(Seconds usual) {
  constexpr auto interval = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  if (now < next_look_) return std::nullopt;
  next_look_ = now + interval;
  std::ifstream file(path_);
  if (!file) return std::nullopt;
  double seconds = 0.0;
  file >> seconds;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  return seconds > 0.0 ? Seconds(seconds) : usual;
}

}  // namespace tandem

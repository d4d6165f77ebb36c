#include "runtime/rank/warning_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace tandem {

std::string warning_path(const std::string& directory, int rank) {
  return fmt::format("{}/warning.rank_{}", directory, rank);
}

std::optional<WarningFile::Warning> WarningFile::take(Seconds usual) {
  constexpr auto interval = std::chrono::milliseconds(100);
  const auto now = Clock::now();
  if (now < next_look_) return std::nullopt;
  next_look_ = now + interval;
  const auto before = std::exchange(looked_, now);
  std::ifstream file(path_);
  if (!file) return std::nullopt;
  double seconds = 0.0;
  file >> seconds;
  // The file system of another machine may have another clock.
  const std::chrono::duration<double> most = now - before;
  std::error_code failure;
  const auto written = std::filesystem::last_write_time(path_, failure);
  std::chrono::duration<double> age = most;
  if (!failure) age = std::filesystem::file_time_type::clock::now() - written;
  age = std::clamp(age, std::chrono::duration<double>(0.0), most);
  std::filesystem::remove(path_, failure);
  return Warning{seconds > 0.0 ? Seconds(seconds) : usual, Seconds(age.count())};
}

}  // namespace tandem

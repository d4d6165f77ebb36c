#include "workloads/checkpoint/event_log.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void EventLog::add(const std::string& event) {
  if (keeps()) unwritten_ += event + '\n';
}

std::int64_t EventLog::flush() {
  if (!keeps()) return 0;
  std::ofstream file(path_, std::ios::binary | (written_ == 0 ? std::ios::trunc : std::ios::app));
  file << unwritten_;
  file.close();
  if (!file) throw WorldError("events '" + path_ + "' cannot be written: " + std::strerror(errno));
  written_ += std::ssize(unwritten_);
  unwritten_.clear();
  return written_;
}

std::vector<std::string> EventLog::read(const std::string& path, std::int64_t bytes) {
  const auto fail = [&](const std::string& found) {
    throw ConfigError("events '" + path + "': expected whole lines of " + std::to_string(bytes) +
                      " bytes together, found " + found);
  };
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) fail("none: " + error.message());
  if (bytes < 0 || size < static_cast<std::uintmax_t>(bytes)) fail(std::to_string(size) + " bytes");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), bytes);
  if (!file) fail(std::to_string(file.gcount()) + " that can be read");
  if (!text.empty() && text.back() != '\n') fail("half an event at their end");
  std::vector<std::string> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) events.push_back(line);
  return events;
}

std::vector<std::string> EventLog::copy_from(const std::string& path, std::int64_t bytes) {
  auto events = read(path, bytes);
  for (const std::string& event : events) add(event);
  return events;
}

}  // namespace tandem

#include "workloads/roles/event_log.hpp"

#include <cerrno>
#include <cstring>
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

std::vector<std::string> EventLog::take_over(const std::string& path, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), bytes);
  if (!file || (!text.empty() && text.back() != '\n'))
    throw ConfigError("events '" + path + "': expected whole lines of " + std::to_string(bytes) +
                      " bytes together, found " + std::to_string(file.gcount()) + " bytes");
  std::vector<std::string> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    add(line);
    events.push_back(line);
  }
  return events;
}

}  // namespace tandem

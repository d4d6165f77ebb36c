#include "workloads/checkpoint/event_log.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void EventLog::add(const std::string& event) {
  if (keeps()) unwritten_ += event + '\n';
}

void EventLog::flush() {
  if (!keeps()) return;
  std::ofstream file(path_, std::ios::binary | (is_begun_ ? std::ios::app : std::ios::trunc));
  file << unwritten_;
  file.close();
  if (!file) {
    const int error = errno;
    std::error_code ignored;
    std::filesystem::resize_file(path_, size_, ignored);
    throw WorldError("events '" + path_ + "' cannot be written: " + std::strerror(error));
  }
  is_begun_ = true;
  size_ += unwritten_.size();
  unwritten_.clear();
}

void EventLog::flush_if_possible() {
  try {
    flush();
  } catch (const WorldError&) {
    // A full disk may have space again.
  }
}

}  // namespace tandem

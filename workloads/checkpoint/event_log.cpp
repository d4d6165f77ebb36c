#include "workloads/checkpoint/event_log.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

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
  if (!file) throw WorldError("events '" + path_ + "' cannot be written: " + std::strerror(errno));
  is_begun_ = true;
  unwritten_.clear();
}

}  // namespace tandem

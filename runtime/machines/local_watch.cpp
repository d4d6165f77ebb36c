#include "runtime/machines/local_watch.hpp"

#include <poll.h>

#include <chrono>
#include <utility>

#include "runtime/process/signals.hpp"

namespace tandem::machines {

LocalWatch::LocalWatch(std::vector<RankWatch> watches) : watches_(std::move(watches)) {
  // Signals are for the thread that waits for the job.
  const BlockedSignals blocked(ending_signals);
  thread_ = std::thread([this] { watch_until_stopped(); });
}

LocalWatch::~LocalWatch() { stop(); }

void LocalWatch::stop() {
  is_stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

/// Ends are read as they happen: mpirun soon collects the exit status of a rank.
void LocalWatch::watch_until_stopped() {
  constexpr int most_ms = 100;
  while (!is_stopped_) {
    std::vector<pollfd> polled;
    for (const auto& watch : watches_)
      for (const int one : watch.descriptors()) polled.push_back({one, POLLIN, 0});
    poll(polled.data(), polled.size(), most_ms);
    for (auto& watch : watches_) watch.read_available();
  }
}

std::optional<RankEnd> LocalWatch::killed_rank() {
  stop();
  std::vector<TimedEnd> ends;
  for (auto& watch : watches_) {
    watch.read_available();
    for (const auto& [end, at] : watch.ends())
      ends.push_back(
          {.end = end, .at = Seconds(std::chrono::duration<double>(at.time_since_epoch()).count())});
  }
  return killed_first(ends);
}

}  // namespace tandem::machines

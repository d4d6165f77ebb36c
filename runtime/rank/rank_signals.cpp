#include "runtime/rank/rank_signals.hpp"

#include <utility>

namespace tandem {

std::optional<Seconds> RankSignals::take_warning() {
  read();
  if (warnings_.empty()) return std::nullopt;
  const auto after = warnings_.front();
  warnings_.pop_front();
  return Seconds(std::chrono::duration<double>(looked_ - after).count());
}

bool RankSignals::is_end_requested() {
  read();
  return ends_;
}

void RankSignals::read() {
  const auto before = std::exchange(looked_, Clock::now());
  while (const auto signal = reader_.next()) {
    if (*signal == end_signal)
      ends_ = true;
    else
      warnings_.push_back(before);
  }
}

}  // namespace tandem

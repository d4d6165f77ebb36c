#include "runtime/rank/rank_signals.hpp"

namespace tandem {

bool RankSignals::take_warning() {
  read();
  if (warnings_ == 0) return false;
  --warnings_;
  return true;
}

bool RankSignals::is_end_requested() {
  read();
  return ends_;
}

void RankSignals::read() {
  while (const auto signal = reader_.next()) {
    if (*signal == end_signal)
      ends_ = true;
    else
      ++warnings_;
  }
}

}  // namespace tandem

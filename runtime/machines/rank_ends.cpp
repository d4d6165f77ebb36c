#include "runtime/machines/rank_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace tandem::machines {
namespace {

using How = RankEnd::How;

/// The launcher sends SIGTERM when it ends a job, and SIGKILL a second later.
bool may_be_the_launcher(const RankEnd& end) { return end.how == How::signal && end.number == SIGTERM; }

/// The delay with which a process notices a signal on a machine without a free core. The launcher waits
/// longer before it kills.
constexpr Seconds delay_of_a_signal{0.3};

/// Whether `one` may have been before `other`.
bool may_precede(const TimedEnd& one, const TimedEnd& other) {
  const Seconds delay = one.end.how == How::signal ? delay_of_a_signal : Seconds(0.0);
  return one.at - one.uncertainty - delay <= other.at + other.uncertainty;
}

}  // namespace

std::optional<RankEnd> killed_first(const std::vector<TimedEnd>& all) {
  std::vector<TimedEnd> ends = all;
  std::erase_if(ends, [](const TimedEnd& one) { return one.end.how == How::finished; });
  const auto first = std::ranges::min_element(ends, {}, &TimedEnd::at);
  if (first == ends.end()) return std::nullopt;
  // Several ends may have been the first. Then a signal that cannot come from the launcher is the cause.
  const TimedEnd* cause = nullptr;
  const auto weight = [](const RankEnd& end) {
    return end.how == How::signal ? 2 : end.how == How::unknown ? 1 : 0;
  };
  for (const auto& one : ends) {
    if (weight(one.end) == 0 || may_be_the_launcher(one.end) || !may_precede(one, *first)) continue;
    if (cause == nullptr || std::pair(-weight(one.end), one.at) < std::pair(-weight(cause->end), cause->at))
      cause = &one;
  }
  if (cause != nullptr) return cause->end;
  if (may_be_the_launcher(first->end)) return first->end;
  return std::nullopt;
}

RankEnd completed(RankEnd end, const std::optional<EndBySignal>& seen_by_mpirun) {
  if (end.how != How::unknown || !seen_by_mpirun || seen_by_mpirun->rank != end.rank) return end;
  return {end.rank, How::signal, seen_by_mpirun->signal};
}

std::string describe(const RankEnd& end) {
  if (end.how != How::signal)
    return "disappeared without a message, before any other rank ended: it was killed, or it crashed";
  return fmt::format("was ended by signal {} ({}){}", end.number, strsignal(end.number),
                     end.number == SIGKILL ? ": somebody killed it, or the machine lacked memory" : "");
}

}  // namespace tandem::machines

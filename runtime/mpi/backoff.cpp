#include "runtime/mpi/backoff.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace tandem {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// A nap is at most this part of the time waited so far, so that a wait is lengthened by no more than that.
constexpr int nap_part = 32;
constexpr nanoseconds shortest_nap = 5us;
// Each nap costs about 15 us of a core, where many ranks wait on few cores the others miss them.
constexpr nanoseconds longest_nap = 400us;
// Naps end late by tens of microseconds on virtual machines; the last stretch before a deadline is polled.
constexpr nanoseconds oversleep = 60us;
constexpr unsigned long timer_slack_ns = 1000;

void nap(nanoseconds duration) {
  timespec time{};
  time.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  time.tv_nsec = (duration % 1s).count();
  nanosleep(&time, nullptr);
}

}  // namespace

Patience Patience::of(int cores, int ranks, bool poll_yields) {
  // With a core for each rank, polling delays no other rank, but a long wait should not keep the core busy.
  if (cores >= ranks) return {.spin = 500us, .yield = 10ms, .poll_yields = poll_yields};
  return {.spin = 0us, .yield = 500us, .poll_yields = poll_yields};
}

Backoff::Backoff(Patience patience) : patience_(patience), start_(std::chrono::steady_clock::now()) {
  // The kernel's default slack of 50 us would make every nap that much longer. Best effort: without it waits
  // are coarser.
  prctl(PR_SET_TIMERSLACK, timer_slack_ns);
}

void Backoff::yield(bool only_deadline) const {
  // The core is yielded only once per poll, because each yield costs a time slice of another process.
  if (only_deadline || !patience_.poll_yields) sched_yield();
}

void Backoff::pause(std::optional<Seconds> to_deadline, bool only_deadline) {
  const auto waited = std::chrono::steady_clock::now() - start_;
  auto duration = std::clamp<nanoseconds>(waited / nap_part, shortest_nap, longest_nap);
  if (to_deadline) {
    const nanoseconds left(static_cast<std::int64_t>(to_deadline->count() * 1e9));
    if (only_deadline && left > oversleep) return nap(left - oversleep);
    if (only_deadline || left <= oversleep + shortest_nap) return yield(only_deadline);
    duration = std::min(duration, left - oversleep);
  }
  if (waited < patience_.spin) return;
  // With a known deadline, other events are rarely urgent, so the rank sleeps: emulated devices must not keep
  // cores busy.
  if (waited < (to_deadline ? std::min<nanoseconds>(patience_.yield, 500us) : patience_.yield))
    return yield(only_deadline);
  nap(duration);
}

}  // namespace tandem

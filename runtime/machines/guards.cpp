#include "runtime/machines/guards.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/conversation.hpp"
#include "runtime/machines/network_probe.hpp"

namespace tandem::machines {
namespace {

constexpr std::chrono::milliseconds pause{500};
/// The first answer waits for the connection.
constexpr Seconds start_limit{20.0};
/// Time until all machines that a broken network separates have reported it.
constexpr std::chrono::milliseconds settle_time{800};
/// In the list of machines, to either side.
constexpr std::size_t most_neighbours = 8;

/// Signals are for the thread that waits for the job.
void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

double seconds_of(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Guards::Guards(GuardSetting setting)
    : setting_(std::move(setting)),
      states_(setting_.machines.size()),
      arrivals_(setting_.shell, setting_.arrivals) {
  for (std::size_t i = 0; i < states_.size(); ++i) threads_.emplace_back([this, i] { watch(i); });
}

Guards::~Guards() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::optional<Guards::Lost> Guards::lost() const {
  const std::lock_guard lock(mutex_);
  if (lost_ || separated_.empty() || Clock::now() < separated_since_ + settle_time) return lost_;
  const std::vector<std::string> all = separated(separated_);
  // It may be about to be lost altogether.
  if (Clock::now() > states_[index_of(all.front())].answered + 3 * pause) return std::nullopt;
  return Lost{.machine = all.front(), .reason = {}, .unreached = {all.begin() + 1, all.end()}};
}

std::optional<RankEnd> Guards::killed_rank() {
  std::unique_lock lock(mutex_);
  for (auto& state : states_) state.questions = state.answers + 1;
  changed_.notify_all();
  const auto all_answered = [this] {
    return std::ranges::all_of(
        states_, [](const State& state) { return !state.is_watched || state.answers >= state.questions; });
  };
  changed_.wait_for(lock, std::chrono::duration<double>(setting_.limit.count() + 1.0), all_answered);
  std::vector<TimedEnd> ends;
  for (const auto& state : states_) ends.insert(ends.end(), state.ends.begin(), state.ends.end());
  return killed_first(ends);
}

std::size_t Guards::index_of(const std::string& machine) const {
  const auto found = std::ranges::find(setting_.machines, machine, &GuardSetting::Guarded::machine);
  TANDEM_CHECK(found != setting_.machines.end(), "machine", machine);
  return static_cast<std::size_t>(found - setting_.machines.begin());
}

bool Guards::kill_rank(const std::string& machine, Rank rank) {
  const std::lock_guard lock(mutex_);
  State& state = states_[index_of(machine)];
  if (state.killed == rank) return true;
  state.to_kill = rank;
  changed_.notify_all();
  return false;
}

std::optional<Rank> Guards::take_to_kill(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return std::exchange(states_[index].to_kill, std::nullopt);
}

bool Guards::wait(std::size_t index) {
  std::unique_lock lock(mutex_);
  const State& state = states_[index];
  changed_.wait_for(lock, pause,
                    [&] { return is_ending_ || state.answers < state.questions || state.to_kill; });
  return !is_ending_;
}

void Guards::lose(const std::string& machine, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!lost_ && !is_ending_) lost_ = Lost{machine, reason};
}

std::vector<Peer> Guards::peers_of(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  const std::size_t count = states_.size();
  std::vector<Peer> peers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& guarded = setting_.machines[i];
    if (guarded.address.empty()) continue;
    if (states_[i].port == 0) return {};
    const std::size_t steps = (i + count - index) % count;
    if (i != index && std::min(steps, count - steps) <= most_neighbours)
      peers.push_back({guarded.machine, guarded.address, states_[i].port});
  }
  return peers;
}

void Guards::take(std::size_t index, const GuardAnswer& answer, Clock::time_point asked) {
  const Clock::time_point now = Clock::now();
  const auto& guarded = setting_.machines[index];
  if (!answer.files.empty()) arrivals_.add(guarded.machine, answer.files);
  const std::lock_guard lock(mutex_);
  State& state = states_[index];
  ++state.answers;
  state.answered = now;
  state.port = answer.port;
  if (answer.killed) state.killed = answer.killed;
  const double half = seconds_of(now - asked) / 2;
  // An answer repeats the ends before it.
  for (std::size_t i = state.ends.size(); i < answer.ends.size(); ++i)
    state.ends.push_back(
        {.end = answer.ends[i].end,
         .at = Seconds(seconds_of(now.time_since_epoch()) - half - answer.ends[i].age.count()),
         .uncertainty = Seconds(half)});
  const bool was_whole = separated_.empty();
  std::erase_if(separated_, [&](const auto& pair) { return pair.first == guarded.machine; });
  for (const auto& silent : answer.silent) separated_.emplace_back(guarded.machine, silent);
  if (was_whole) separated_since_ = now;
  changed_.notify_all();
}

void Guards::ask_until_end(std::size_t index) {
  const auto& guarded = setting_.machines[index];
  const std::string request =
      to_text(GuardRequest{.mark = setting_.mark,
                           .limit = setting_.limit,
                           .folders = guarded.sees_results ? std::string() : setting_.arrivals.folders,
                           .files = setting_.arrivals.files,
                           .address = guarded.address});
  Conversation guard(words_on(setting_.shell, guarded.machine, {setting_.program, "--guard", request}),
                     start_limit);
  bool knows_peers = guarded.address.empty();
  for (;;) {
    const GuardOrder order{.peers = knows_peers ? std::vector<Peer>() : peers_of(index),
                           .to_kill = take_to_kill(index)};
    knows_peers = knows_peers || !order.peers.empty();
    const Clock::time_point asked = Clock::now();
    const auto answer = guard.ask(to_text(order));
    if (!answer) return lose(guarded.machine, guard.reason());
    take(index, guard_answer_from(*answer), asked);
    if (!wait(index)) return;
    guard.allow(setting_.limit);
  }
}

void Guards::watch(std::size_t index) {
  block_all_signals();
  try {
    ask_until_end(index);
  } catch (const WorldError& error) {
    lose(setting_.machines[index].machine, error.what());
  }
  const std::lock_guard lock(mutex_);
  states_[index].is_watched = false;
  changed_.notify_all();
}

}  // namespace tandem::machines

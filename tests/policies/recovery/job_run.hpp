// A job without any context that carries out the decisions of a recovery policy: machines that come up, are
// announced to be taken away, depart alone or together, fail to be had, or come by themselves. Checks each
// decision against what the policy knows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::testing {

using RecoveryOptions = std::map<std::string, OptionValue>;

inline std::unique_ptr<recovery::Policy> make_recovery(const std::string& name, recovery::Setting setting,
                                                       const RecoveryOptions& options = {}) {
  const auto& entry = recovery::catalog().find(name);
  setting.options = Options::resolve(name, entry.options, options);
  return entry.make(setting);
}

/// What happens to machines. Chances are per machine or request.
struct MachineTraits {
  double life_s =
      100.0;  ///< mean; times are rounded to `grid_s`, so that several machines depart at one time
  double start_s = 20.0;  ///< from the request until the machine is ready, at most
  double grid_s = 5.0;
  double warning = 0.5;    ///< that a departure is announced
  double notice_s = 30.0;  ///< at most
  double failure = 0.2;    ///< of a request
  double early_end = 0.1;  ///< that a machine departs before it is ready
  double by_itself = 0.0;  ///< that after an event a machine comes that was not requested, in any slot
};

class RecoveryRun {
 public:
  using Decide = std::function<recovery::Decisions(const recovery::Event&)>;

  RecoveryRun(Decide decide, const recovery::Setting& setting, const MachineTraits& traits, int present,
              std::uint64_t seed)
      : decide_(std::move(decide)),
        setting_(setting),
        traits_(traits),
        random_(Rng::stream(seed, "machines")),
        slots_(static_cast<std::size_t>(setting.slots)) {
    for (int slot = 0; slot < present; ++slot) {
      at(slot) = {State::member, 1, 1, 0};
      live(slot, 1);
    }
    notify(recovery::Started{Seconds(), present});
  }

  /// Fewer if nothing more happens.
  void run_events(int events) {
    for (int i = 0; i < events && step(); ++i)
      if (random_.uniform() < traits_.by_itself) come_by_itself();
  }

  const std::vector<recovery::LogLine>& log() const { return log_; }
  bool gave_up() const { return gave_up_; }
  int members() const { return count(State::member); }
  int machines() const { return setting_.slots - count(State::empty); }
  int requests() const { return requests_; }
  int rollbacks() const { return rollbacks_; }
  int admitted() const { return admitted_; }
  Seconds now() const { return now_; }
  /// Called after each event.
  std::function<void(const recovery::Event&)> after_event = nullptr;

 private:
  enum class State { empty, requested, waits, member };
  struct Slot {
    State state = State::empty;
    int incarnation = 0;  ///< the last one that the policy knows
    int newest = 0;       ///< the last one that there is
    int request = 0;      ///< number of the request whose answer is expected
  };
  struct Coming {
    recovery::Event event;
    int request = 0;  ///< that it answers
  };

  Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  int count(State state) const { return static_cast<int>(std::ranges::count(slots_, state, &Slot::state)); }
  double in(double mean) {
    const double time = now_.count() - mean * std::log(1.0 - random_.uniform());
    return std::ceil(time / traits_.grid_s) * traits_.grid_s;
  }

  /// Draws the end of a machine that is there.
  void live(int slot, int incarnation) {
    const double end = in(traits_.life_s);
    const bool warned = random_.uniform() < traits_.warning;
    if (warned) {
      const double notice = std::min(end - now_.count(), traits_.notice_s * random_.uniform());
      queue_.emplace(end - notice, Coming{recovery::Warned{Seconds(end - notice), slot, Seconds(notice)}});
    }
    const auto how = warned                  ? recovery::How::revoked
                     : random_.below(4) == 0 ? recovery::How::left
                                             : recovery::How::lost;
    queue_.emplace(end, Coming{recovery::Departed{Seconds(end), slot, incarnation, how}});
  }

  void come_by_itself() {
    const auto slot = static_cast<int>(random_.below(slots_.size()));
    const int incarnation = ++at(slot).newest;
    live(slot, incarnation);
    notify(recovery::Ready{now_, slot, incarnation});
  }

  /// The next event, if there is one.
  bool step() {
    const bool tick_first = tick_ && (queue_.empty() || tick_->count() < queue_.begin()->first ||
                                      (tick_->count() == queue_.begin()->first && random_.below(2) == 0));
    if (tick_first) {
      now_ = *tick_;
      tick_.reset();
      notify(recovery::Tick{now_});
      return true;
    }
    if (queue_.empty()) return false;
    now_ = Seconds(queue_.begin()->first);
    const Coming coming = queue_.extract(queue_.begin()).mapped();
    if (coming.request != 0) return answer(coming);
    if (const auto* warned = std::get_if<recovery::Warned>(&coming.event))
      if (at(warned->slot).state == State::empty || at(warned->slot).state == State::requested) return true;
    notify(coming.event);
    return true;
  }

  /// A request has its answer, unless a machine came by itself meanwhile.
  bool answer(const Coming& coming) {
    const int slot = std::get<recovery::RequestFailed>(coming.event).slot;
    if (at(slot).request != coming.request || at(slot).state != State::requested) return true;
    if (random_.uniform() < traits_.failure) {
      notify(coming.event);
      return true;
    }
    const int incarnation = ++at(slot).newest;
    if (random_.uniform() < traits_.early_end) {
      notify(recovery::Departed{now_, slot, incarnation, recovery::How::lost});
      return true;
    }
    live(slot, incarnation);
    notify(recovery::Ready{now_, slot, incarnation});
    return true;
  }

  void learn(const recovery::Event& event) {
    if (const auto* departed = std::get_if<recovery::Departed>(&event)) {
      Slot& slot = at(departed->slot);
      const bool is_there = slot.state == State::waits || slot.state == State::member;
      if (departed->incarnation < slot.incarnation ||
          (departed->incarnation == slot.incarnation && !is_there))
        return;
      slot.state = State::empty;
      slot.incarnation = departed->incarnation;
    }
    if (const auto* ready = std::get_if<recovery::Ready>(&event)) {
      at(ready->slot).state = State::waits;
      at(ready->slot).incarnation = ready->incarnation;
    }
    if (const auto* failed = std::get_if<recovery::RequestFailed>(&event))
      at(failed->slot).state = State::empty;
  }

  void notify(const recovery::Event& event) {
    learn(event);
    if (members() >= setting_.least) few_since_.reset();
    const auto decisions = decide_(event);
    log_.push_back({recovery::to_text(event), recovery::to_text(decisions)});
    for (const auto& decision : decisions) {
      EXPECT_FALSE(gave_up_) << "a decision after GiveUp";
      std::visit([&](const auto& each) { carry_out(each); }, decision);
    }
    EXPECT_TRUE(gave_up_ || paused_ == (members() < setting_.least));
    if (members() < setting_.least && !few_since_) few_since_ = now_;
    if (after_event) after_event(event);
  }

  void carry_out(const recovery::Request& request) {
    EXPECT_EQ(at(request.slot).state, State::empty) << "requested slot " << request.slot;
    at(request.slot).state = State::requested;
    at(request.slot).request = ++requests_;
    const double time = now_.count() + traits_.start_s * random_.uniform();
    queue_.emplace(time, Coming{recovery::RequestFailed{Seconds(time), request.slot}, requests_});
  }
  void carry_out(const recovery::Admit& admit) {
    EXPECT_EQ(at(admit.slot).state, State::waits) << "admitted slot " << admit.slot;
    at(admit.slot).state = State::member;
    ++admitted_;
    EXPECT_LE(members(), setting_.workers);
  }
  void carry_out(const recovery::Release& release) {
    EXPECT_EQ(at(release.slot).state, State::member) << "released slot " << release.slot;
    at(release.slot).state = State::waits;
  }
  void carry_out(const recovery::Pause&) {
    EXPECT_FALSE(std::exchange(paused_, true));
    EXPECT_LT(members(), setting_.least);
  }
  void carry_out(const recovery::Resume&) {
    EXPECT_TRUE(std::exchange(paused_, false));
    EXPECT_GE(members(), setting_.least);
  }
  void carry_out(const recovery::Rollback&) {
    EXPECT_GE(members(), setting_.least);
    ++rollbacks_;
  }
  void carry_out(const recovery::WakeAt& wake) {
    EXPECT_GT(wake.at, now_);
    EXPECT_NE(tick_, wake.at) << "decided twice";
    tick_ = wake.at;
  }
  void carry_out(const recovery::GiveUp& give_up) {
    EXPECT_FALSE(give_up.why.empty());
    EXPECT_TRUE(paused_);
    EXPECT_GT(setting_.give_up, Seconds());
    EXPECT_TRUE(few_since_ && *few_since_ + setting_.give_up <= now_);
    gave_up_ = true;
    tick_.reset();
  }

  Decide decide_;
  recovery::Setting setting_;
  MachineTraits traits_;
  Rng random_;
  std::vector<Slot> slots_;
  std::vector<recovery::LogLine> log_;
  std::multimap<double, Coming> queue_;
  std::optional<Seconds> tick_;
  std::optional<Seconds> few_since_;  ///< with fewer members than the least number
  bool paused_ = false;
  bool gave_up_ = false;
  int requests_ = 0;
  int rollbacks_ = 0;
  int admitted_ = 0;
  Seconds now_;
};

}  // namespace tandem::testing

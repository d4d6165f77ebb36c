// As many workers as train most per second in expectation: more of them compute more, but depart more often,
// and each departure of a member starts all again. Machines beyond wait, and follow one that departs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "policies/recovery/policies.hpp"
#include "policies/recovery/slot_policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::recovery {
namespace {

/// The expected progress of a job with some workers of given ages.
class Throughput {
 public:
  explicit Throughput(const Options& options)
      : step_s_(options.real("step_s")),
        per_worker_s_(options.real("step_per_worker_s")),
        restart_s_(options.real("restart_s")),
        lost_s_(options.real("lost_s")),
        horizon_s_(options.real("horizon_s")) {}

  double horizon_s() const { return horizon_s_; }
  /// Batches per second while no worker departs.
  double rate(std::size_t workers) const {
    const auto n = static_cast<double>(workers);
    return n / (step_s_ + n * per_worker_s_);
  }
  /// Until the first departure, or the horizon.
  struct Outlook {
    double time_s = 0.0;     ///< expected
    double departure = 0.0;  ///< probability
  };
  /// `all_live`: the probability that no member departs within time_s(i), for i from 0 to intervals.
  /// Simpson's rule over the cube root of time, which also resolves lifetimes much shorter than the horizon.
  Outlook outlook(const std::vector<double>& all_live) const {
    double sum = 0.0;
    for (int i = 1; i <= intervals; ++i) {
      const double x = static_cast<double>(i) / intervals;
      const double weight = i == intervals ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
      sum += weight * x * x * all_live[static_cast<std::size_t>(i)];
    }
    return {.time_s = horizon_s_ * sum / intervals, .departure = 1.0 - all_live.back()};
  }
  double time_s(int i) const { return horizon_s_ * std::pow(static_cast<double>(i) / intervals, 3); }
  static constexpr int intervals = 256;

  /// Batches per second that remain. `lost`: batches of work that a restart of all, now, would lose; none is
  /// needed if it is negative.
  double expected(std::size_t workers, const Outlook& outlook, double lost = -1.0) const {
    const double gained = rate(workers) * std::max(0.0, outlook.time_s - outlook.departure * lost_s_);
    const double time_s = outlook.time_s + outlook.departure * restart_s_;
    if (lost < 0.0) return time_s > 0.0 ? gained / time_s : 0.0;
    return (gained - lost) / (time_s + restart_s_);
  }
  double lost_with(std::size_t workers) const { return rate(workers) * lost_s_; }

 private:
  double step_s_;
  double per_worker_s_;
  double restart_s_;
  double lost_s_;
  double horizon_s_;
};

class Liveput final : public SlotPolicy {
 public:
  explicit Liveput(const Setting& setting)
      : SlotPolicy(setting, cooldown_rules(setting.options)),
        throughput_(setting.options),
        survival_(setting.survival),
        machines_(setting.machines),
        replaces_(setting.options.boolean("replace")),
        since_(static_cast<std::size_t>(setting.slots)) {}

  void serialise(PolicyState& state) override {
    SlotPolicy::serialise(state);
    state.column("since", since_, std::identity());
    state.value("has_begun", has_begun_);
  }

 protected:
  int wanted() const override { return replaces_ ? workers() : 0; }
  bool rolls_back() const override { return true; }
  void arrived(std::size_t slot, Seconds now) override { since_[slot] = now; }

  bool choose_members(Seconds now, bool member_departed, Decisions& decisions) override {
    // Nothing is lost before the job has begun.
    const bool begins = !std::exchange(has_begun_, true);
    const bool restarts = begins || member_departed || is_paused();
    const auto machines = by_survival(now, !restarts);
    const auto members = static_cast<std::size_t>(slots().members());
    const std::size_t count = restarts ? best_count(machines, now) : best_growth(machines, members, now);
    bool changed = false;
    // Those that leave make place for others.
    for (const bool joins : {false, true})
      for (std::size_t i = 0; i < machines.size(); ++i) {
        const bool is_member = slots()[machines[i]].state == SlotState::member;
        if (is_member == joins || (i < count) != joins) continue;
        if (joins)
          admit(machines[i], decisions);
        else
          release(machines[i], decisions);
        changed = true;
      }
    return changed && !begins;
  }

 private:
  /// Of the slot's machine within t seconds from now on.
  double survives(std::size_t slot, double t, Seconds now) const {
    if (!survival_) return 1.0;
    const Seconds age = now - since_[slot];
    const double alive = survival_(age);
    return alive > 0.0 ? survival_(age + Seconds(t)) / alive : 0.0;
  }

  /// The slots of machines that are there, those that live longest first, and those that are announced to be
  /// taken away last. `members_first`: they are members already.
  std::vector<std::size_t> by_survival(Seconds now, bool members_first) const {
    struct Machine {
      bool comes_later;
      bool warned;
      double dies;
      std::size_t number;
      std::size_t slot;
      auto operator<=>(const Machine&) const = default;
    };
    std::vector<Machine> machines;
    for (std::size_t slot = 0; slot < slots().size(); ++slot)
      if (slots()[slot].is_occupied())
        machines.push_back({members_first && slots()[slot].state != SlotState::member, slots()[slot].warned,
                            1.0 - survives(slot, throughput_.horizon_s(), now), machine_of(slot), slot});
    std::ranges::sort(machines);
    std::vector<std::size_t> order;
    for (const Machine& machine : machines) order.push_back(machine.slot);
    return order;
  }

  /// Slots with the same number depart together.
  std::size_t machine_of(std::size_t slot) const {
    if (machines_.empty() || machines_[slot].machine < 0) return slot;
    return static_cast<std::size_t>(machines_[slot].machine);
  }
  /// The member number `index`. Members of one machine have one life.
  void add(std::vector<double>& all_live, const std::vector<std::size_t>& order, std::size_t index,
           Seconds now) const {
    const auto begin = order.begin(), added = begin + static_cast<std::ptrdiff_t>(index);
    const std::size_t machine = machine_of(*added);
    if (std::any_of(begin, added, [&](std::size_t slot) { return machine_of(slot) == machine; })) return;
    for (int i = 0; i <= Throughput::intervals; ++i)
      all_live[static_cast<std::size_t>(i)] *= survives(*added, throughput_.time_s(i), now);
  }
  /// Of the first ones.
  std::vector<double> all_live(const std::vector<std::size_t>& order, std::size_t count, Seconds now) const {
    std::vector<double> all(Throughput::intervals + 1, 1.0);
    for (std::size_t i = 0; i < count; ++i) add(all, order, i, now);
    return all;
  }

  std::size_t most(const std::vector<std::size_t>& machines) const {
    return std::min(machines.size(), static_cast<std::size_t>(workers()));
  }
  bool is_warned(const std::vector<std::size_t>& machines, std::size_t index) const {
    return slots()[machines[index]].warned;
  }

  /// The best number, if all start again anyway. At least `least`, if there are as many; of equal numbers
  /// the smallest.
  std::size_t best_count(const std::vector<std::size_t>& machines, Seconds now) const {
    const auto fewest = std::min(most(machines), static_cast<std::size_t>(least()));
    auto live = all_live(machines, fewest, now);
    std::size_t best = fewest;
    double best_value = throughput_.expected(fewest, throughput_.outlook(live));
    for (std::size_t count = fewest + 1; count <= most(machines); ++count) {
      if (is_warned(machines, count - 1)) break;
      add(live, machines, count - 1, now);
      const double value = throughput_.expected(count, throughput_.outlook(live));
      if (value <= best_value * (1.0 + tolerance)) continue;
      best = count;
      best_value = value;
    }
    return best;
  }

  /// Where more members would start all again, which has to pay within the horizon.
  std::size_t best_growth(const std::vector<std::size_t>& machines, std::size_t members, Seconds now) const {
    std::size_t best = members;
    auto live = all_live(machines, members, now);
    double best_value = throughput_.expected(members, throughput_.outlook(live));
    const double lost = throughput_.lost_with(members);
    for (std::size_t count = members + 1; count <= most(machines); ++count) {
      if (is_warned(machines, count - 1)) break;
      add(live, machines, count - 1, now);
      const double value = throughput_.expected(count, throughput_.outlook(live), lost);
      if (value <= best_value * (1.0 + tolerance)) continue;
      best = count;
      best_value = value;
    }
    return best;
  }

  static constexpr double tolerance = 1e-9;
  Throughput throughput_;
  std::function<double(Seconds)> survival_;
  std::vector<SlotMachine> machines_;  ///< by slot; empty: each slot has its own
  bool replaces_;
  bool has_begun_ = false;
  std::vector<Seconds> since_;  ///< by slot: when its machine came up
};

OptionSpec seconds(const std::string& name, const std::string& summary, double value, double minimum) {
  return {.name = name,
          .summary = summary + ", in seconds of the job",
          .default_value = value,
          .minimum = minimum,
          .maximum = 1e9};
}

}  // namespace

Entry liveput() {
  std::vector<OptionSpec> options = {
      seconds("step_s", "time of a step, apart from what follows", 1.0, 1e-9),
      seconds("step_per_worker_s", "what each worker adds to the time of a step", 0.0, 0.0),
      seconds("restart_s", "from a departure until all compute again", 60.0, 0.0),
      seconds("lost_s", "work that a departure loses: about half the time between two commits", 60.0, 0.0),
      seconds("horizon_s", "time that is looked ahead", 600.0, 1e-3),
      {.name = "replace",
       .summary = "requests a machine in the slot of one that departed; false: waits for machines that "
                  "arrive without a request",
       .default_value = true}};
  for (auto& option : cooldown_options()) options.push_back(std::move(option));
  return {
      .name = "liveput",
      .summary =
          "like restart, with as many workers as train most per second in expectation, by the lifetime "
          "model and the ages of the machines; the others wait",
      .paper =
          "Duan, Song, Miao, Xi, Lin, Xu, Zhang, Jia: Parcae: Proactive, Liveput-Optimized DNN Training on "
          "Preemptible Instances. NSDI 2024; there for pipelines",
      .options = std::move(options),
      .make = make_policy<Liveput>};
}

}  // namespace tandem::recovery

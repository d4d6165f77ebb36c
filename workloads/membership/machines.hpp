// The machines behind the slots of a job's workers: when they come up, are warned and depart. Turns the fates
// of a lifetime model, and requests for machines, into events in the order of time. Pure: no clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/lifetimes/fates.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// What happens to the machine of a slot.
struct MachineEvent {
  /// noticed: the job knows of a departure. ready: a requested machine is up. refused: none is available.
  enum class What : std::uint8_t { warned, departed, noticed, ready, refused } what = What::departed;
  Seconds at{};
  int slot = 0;
  int incarnation = 0;
  DepartureKind how = DepartureKind::revoked;
  Seconds notice{};       ///< of warned: until the machine departs
  bool for_good = false;  ///< of departed: the slot gets no other machine
};

/// As in membership.csv.
template <>
inline constexpr std::array<ChoiceName<MachineEvent::What>, 5> choice_names<MachineEvent::What> = {
    {{MachineEvent::What::warned, "warned"},
     {MachineEvent::What::departed, "departed"},
     {MachineEvent::What::noticed, "noticed"},
     {MachineEvent::What::ready, "ready"},
     {MachineEvent::What::refused, "refused"}}};
/// The cause of a departure, as in membership.csv.
inline std::string cause_text(const MachineEvent& event) {
  using What = MachineEvent::What;
  return event.what == What::departed || event.what == What::noticed ? to_text(event.how) : "";
}

/// The process of a slot has died, without a drawn departure.
struct SlotDeath {
  Seconds at{};
  int slot = 0;
  /// The machine is gone, too, and the slot gets no other one. Otherwise a request gets the machine
  /// again immediately.
  bool with_machine = false;
};

/// All times are seconds of the job; those of machines are divided by the experiment's time_scale.
class Machines {
 public:
  /// `fates`: of the machines of `slots` slots. `deaths`: deaths of processes in addition, in the order of
  /// time.
  Machines(const Experiment::Transience& setting, std::unique_ptr<lifetimes::Fates> fates, std::size_t slots,
           const std::vector<SlotDeath>& deaths = {});

  /// A machine is in the slot from now on, as the job begins. Returns its incarnation. Errors: ConfigError if
  /// the lifetime model has none there.
  int occupy(int slot, Seconds now);
  /// Asks for a machine in the slot, which is empty. `ready` or `refused` follows.
  void request(int slot, Seconds now);
  /// When the slot's machine departs; none: not known yet, or never.
  std::optional<Seconds> known_departure(int slot) const;

  /// The slot has a machine. Or it would get one now or later, if one was requested and nothing else
  /// happened.
  bool may_have(int slot, Seconds now);
  /// The time of the next event; none: nothing happens any more unless a machine is requested.
  std::optional<Seconds> next() const;
  /// The next event, unless it is later than `now`. A `ready` machine lives from then on.
  std::optional<MachineEvent> take(Seconds now);

 private:
  Seconds in_job(double machine_s) const { return Seconds(machine_s / setting_.time_scale); }
  double of_machine(Seconds job) const { return job.count() * setting_.time_scale; }
  /// In the time of machines, not before the slot's last machine departed: by rounding, that machine might
  /// come back.
  double of_machine(std::size_t slot, Seconds job) const { return std::max(of_machine(job), gone_[slot]); }
  /// When a machine that the job gets now arrives, in the time of machines; none: no machine is available
  /// now.
  std::optional<double> arrival(int slot, Seconds now) const;
  void plan_warning(int slot, Seconds now);
  std::optional<MachineEvent> next_departure() const;
  std::optional<MachineEvent> take_planned();
  MachineEvent depart(const MachineEvent& departure);
  std::optional<MachineEvent> die(MachineEvent death);

  Experiment::Transience setting_;
  std::unique_ptr<lifetimes::Fates> fates_;
  std::vector<int> incarnations_;  ///< by slot: of its latest machine
  std::vector<double> gone_;       ///< by slot: when its last machine departed, in the time of machines
  std::vector<bool> is_present_;   ///< by slot: its machine
  enum class Supply : std::uint8_t { as_drawn, at_once, none };
  std::vector<Supply> supply_;  ///< by slot: of the next machine
  /// Events that are certain, by time, in the order in which they were planned.
  std::multimap<Seconds, MachineEvent> planned_;
};

}  // namespace tandem

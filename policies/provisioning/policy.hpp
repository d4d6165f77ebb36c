// Where a machine is requested: of the empty slots of a job in which one may be requested, which comes first,
// and when a machine there is worth it. Pure objects that a recovery policy asks, and notifies of what
// happens. No clock, I/O or global state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/policy_state.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::provisioning {

struct Setting {
  std::vector<std::size_t> zones;  ///< of each slot
  Options options = {};
  double time_scale = 1.0;                 ///< divides the times of the options, which are those of machines
  std::vector<SlotMachine> machines = {};  ///< of each slot; empty: nothing is known
};

/// Keeps account of the machines in the slots; a derived class returns the cost of a slot. Times are seconds
/// of the job and never decrease.
class Policy {
 public:
  virtual ~Policy() = default;

  /// A machine is in the slot from now on.
  void arrived(std::size_t slot, Seconds now);
  /// The slot's machine is gone, or one that was requested there and never arrived.
  void departed(std::size_t slot, DepartureKind how, Seconds now);
  void requested(std::size_t slot);
  void request_failed(std::size_t slot);

  /// A request goes to the slot with the least cost; of equal ones to the slot whose machine departed, else
  /// to the lowest. Finite. Pre: the slot is empty.
  virtual double cost(std::size_t slot, Seconds now) const = 0;
  /// When a machine is worth its request there, if nothing happens until then; at most `now`: now; infinite:
  /// only after another event. A job with fewer machines than it needs members does not wait. Pre: the slot
  /// is empty.
  virtual Seconds earliest(std::size_t slot, Seconds now) const;
  /// Shows every value that events change; see serialised() and restore().
  virtual void serialise(PolicyState& state);

 protected:
  explicit Policy(const Setting& setting);

  /// A machine was revoked or lost, after that time in its slot.
  virtual void died(std::size_t slot, Seconds age, Seconds now);

  std::size_t slot_count() const { return slots_.size(); }
  std::size_t zone_count() const { return zone_count_; }
  /// From 0 on, without gaps.
  std::size_t zone(std::size_t slot) const { return slots_.at(slot).zone; }
  bool is_requested(std::size_t slot) const { return slots_.at(slot).state == State::requested; }
  bool is_present(std::size_t slot) const { return slots_.at(slot).state == State::present; }
  const SlotMachine& machine(std::size_t slot) const { return slots_.at(slot).machine; }
  /// Time in which the slot had a machine.
  Seconds occupied(std::size_t slot, Seconds now) const;

 private:
  enum class State : std::uint8_t { empty, requested, present };
  struct Slot {
    std::size_t zone = 0;
    SlotMachine machine = {};
    State state = State::empty;
    Seconds since{};     ///< when the machine arrived, if one is present
    Seconds occupied{};  ///< by machines that departed
  };

  std::vector<Slot> slots_;
  std::size_t zone_count_ = 0;
};

/// Pre: at least one slot. Errors: OptionError.
using Factory = std::unique_ptr<Policy> (*)(const Setting&);
const Catalog<Factory>& catalog();
/// The policy reads Setting::machines; their prices.
bool asks_for_machines(const std::string& name, const Options& options);
bool asks_for_prices(const std::string& name, const Options& options);

}  // namespace tandem::provisioning

// Machines with several slots, such as those of several devices: their occupants depart together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "policies/lifetimes/fates.hpp"

namespace tandem::lifetimes {

/// A machine arrives with its first occupant, and later ones find it there. It departs with all of its
/// occupants; or it is given back when the last one has departed for another reason. The next occupant of one
/// of its slots then comes with another machine.
class FatesByMachine final : public Fates {
 public:
  /// `fates`: of the machines, whose numbers are its slots. `machine_of`: by slot.
  FatesByMachine(std::unique_ptr<Fates> fates, std::vector<std::size_t> machine_of);

  double obtainable(std::size_t slot, double time) override;
  void arrive(Occupant occupant, double time) override;
  void depart(std::size_t slot, double time) override;
  std::optional<Departure> next() const override;
  std::optional<Departure> known(std::size_t slot) const override;

 private:
  struct Machine {
    std::int64_t incarnation = 0;             ///< of the latest one
    std::map<std::size_t, Occupant> present;  ///< by slot
  };
  bool is_due(std::size_t machine, double time) const;

  std::unique_ptr<Fates> fates_;
  std::vector<std::size_t> machine_of_;
  std::vector<Machine> machines_;
  std::map<std::size_t, Departure> leaving_;  ///< by slot: of machines that have departed
};

}  // namespace tandem::lifetimes

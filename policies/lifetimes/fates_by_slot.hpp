// Slots with different lifetime models, such as spot machines and on-demand ones.
#pragma once

#include <memory>
#include <vector>

#include "policies/lifetimes/fates.hpp"

namespace tandem::lifetimes {

/// The fates of each slot's occupants come from the slot's model, and do not depend on the other models.
class FatesBySlot final : public Fates {
 public:
  /// `model_of`: by slot, the index of its model in `models`. Each model was made for all slots.
  FatesBySlot(std::vector<std::unique_ptr<Fates>> models, std::vector<std::size_t> model_of)
      : models_(std::move(models)), model_of_(std::move(model_of)) {}

  double obtainable(std::size_t slot, double time) override { return of(slot).obtainable(slot, time); }
  void arrive(Occupant occupant, double time) override { of(occupant.slot).arrive(occupant, time); }
  void depart(std::size_t slot, double time) override { of(slot).depart(slot, time); }
  std::optional<Departure> next() const override;
  std::optional<Departure> known(std::size_t slot) const override {
    return models_[model_of_.at(slot)]->known(slot);
  }

 private:
  Fates& of(std::size_t slot) { return *models_[model_of_.at(slot)]; }

  std::vector<std::unique_ptr<Fates>> models_;
  std::vector<std::size_t> model_of_;
};

}  // namespace tandem::lifetimes

// Prices work: seconds from a model's sizes and a device's speed, or from a calibrated profile. Used by the
// simulator for every device and by the runtime for emulated ones, so that both mean the same device.
#pragma once

#include "platforms/description.hpp"
#include "workloads/context.hpp"
#include "workloads/model_description.hpp"
#include "workloads/profile.hpp"

namespace tandem {

/// Updates and sums read two vectors and write one.
constexpr double streams_of_update = 3.0;

class CostModel {
 public:
  /// `profile` may be null: then everything comes from the device's figures.
  CostModel(ModelDescription model, platforms::Device device, const Profile* profile);
  Seconds price(const Work& work) const;
  /// The price of one execution: varies as measured where the profile knows the work, else as `price`.
  Seconds draw(const Work& work, Rng& random) const;

 private:
  Seconds from_device(const Work& work) const;
  ModelDescription model_;
  platforms::Device device_;
  const Profile* profile_;
};

}  // namespace tandem

// Prices work: seconds from a model's sizes and a device's speed, or from a calibrated profile. Used by the
// simulator for every device and by the runtime for emulated ones, so that both mean the same device.
#pragma once

#include "platforms/description.hpp"
#include "policies/compression/codec.hpp"
#include "workloads/context.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Updates and sums read two vectors and write one.
constexpr double streams_of_update = 3.0;

/// A compression, as profiles know it and as devices are estimated to do it.
struct CompressionCost {
  std::string method = {};  ///< with its options
  compression::Efforts efforts = {};
};

class CostModel {
 public:
  /// `profile` may be null: then everything comes from the device's figures. `host` and its `kind` (see
  /// Job::kind_of): what the profile may know by name.
  CostModel(ModelDescription model, platforms::Device device, const Profile* profile,
            const std::string& host = {}, CompressionCost compression = {}, const std::string& kind = {});
  Seconds price(const Work& work) const;
  /// The price of one execution: varies as measured where the profile knows the work, else as `price`.
  Seconds draw(const Work& work, Rng& random) const;
  /// What the first execution of this kind and bucket takes beyond that.
  Seconds first_extra(const Work& work) const;
  /// What a profile names such work after: the model, or the compression with its options.
  const std::string& subject(Work::Kind kind) const;
  /// How many times as long the work takes amid messages; at least 1.
  double slowdown(const Work& work) const { return slowdowns_[static_cast<std::size_t>(work.kind)]; }

 private:
  Seconds from_device(const Work& work) const;
  Seconds from_effort(const compression::Effort& effort, Bytes size) const;
  ModelDescription model_;
  platforms::Device device_;
  const Profile* profile_;
  CompressionCost compression_;
  const Profile::HostEntry* host_ = nullptr;  ///< in the profile; null: as the host that it is of
  std::array<double, work_names.size()> slowdowns_{};
};

}  // namespace tandem

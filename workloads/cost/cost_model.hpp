// Prices work: seconds from a model's sizes and a device's speed, or from a calibrated profile. Used by the
// simulator for every device and by the runtime for emulated ones, so that both mean the same device.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "policies/compression/codec.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/context.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/cost/server_cost.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Updates and sums read two vectors and write one.
constexpr double streams_of_update = 3.0;

/// A compression, by its name in profiles, and with the numbers by which devices are estimated.
struct CompressionCost {
  std::string method = {};  ///< with its options
  compression::Efforts efforts = {};
};

/// What a user measured of one step on one device.
struct MeasuredPasses {
  /// When the backward pass has completed a bucket, after the step's begin.
  struct Bucket {
    Seconds ready;     ///< by the device, if it never waits
    Seconds launched;  ///< by the processor: no device is earlier
  };
  Seconds forward;
  Seconds backward;
  int samples = 1;  ///< of the step
  platforms::Device device;
  std::vector<Bucket> buckets = {};  ///< in backward order; empty: passes are divided by the work of buckets
  Seconds update{0};                 ///< after the exchange; 0: estimated
  Seconds host{0};                   ///< in which the processor launches a step
};

/// The model that is priced: the same for all ranks of a job, which share it.
class PricedModel {
 public:
  /// `measured_name`: the name of the model in profiles. `profile` may be null: then every price comes from
  /// the figures of a device, in `precision`, or in fp32 where those do not include it. Images are decoded on
  /// `decode_threads` threads; their host is taken to have that many free cores. `measured`: passes of the
  /// model take these times, or times scaled from them, where the profile does not have them.
  PricedModel(std::shared_ptr<const ModelDescription> model, std::string measured_name,
              CompressionCost compression, std::shared_ptr<const Profile> profile,
              Precision precision = Precision::fp32, int decode_threads = 1,
              std::optional<MeasuredPasses> measured = {});

  const ModelDescription& model() const { return *model_; }
  const std::string& measured_name() const { return measured_name_; }
  const CompressionCost& compression() const { return compression_; }
  const Profile* profile() const { return profile_.get(); }
  Precision precision() const { return precision_; }
  /// Null: the user measured none.
  const MeasuredPasses* measured() const { return measured_ ? &*measured_ : nullptr; }
  /// Threads that decode a batch of `samples` images.
  int decode_threads(int samples) const;
  /// The name of such work in a profile: that of the model, of decoding with its threads, or of the
  /// compression with its options.
  const std::string& subject(Work::Kind kind) const;
  /// Factor on the time of the work while messages are in flight; at least 1.
  double slowdown(Work::Kind kind) const { return slowdowns_[static_cast<std::size_t>(kind)]; }

 private:
  std::shared_ptr<const ModelDescription> model_;
  std::string measured_name_;
  int decode_threads_;
  std::string decoding_name_;
  CompressionCost compression_;
  std::shared_ptr<const Profile> profile_;
  Precision precision_;
  std::optional<MeasuredPasses> measured_;
  std::array<double, work_names.size()> slowdowns_{};
};

class CostModel {
 public:
  /// `host` and its `kind` (see DevicePlan::kind_of): by which the profile may know it. `server`: of a rank
  /// that is a server, if its host states its costs. These contain everything that the server does with a
  /// push and a reply, so its updates, sums and decompressions take no more time.
  CostModel(std::shared_ptr<const PricedModel> priced, platforms::Device device, const std::string& host = {},
            const std::string& kind = {}, const std::optional<ServerCost>& server = {});
  Seconds price(const Work& work) const;
  /// The price of one execution: varies as measured where the profile knows the work, else equals `price`.
  Seconds draw(const Work& work, Rng& random) const;
  /// The additional time of the first execution of this kind and bucket.
  Seconds first_extra(const Work& work) const;
  const std::string& subject(Work::Kind kind) const { return priced_->subject(kind); }
  double slowdown(const Work& work) const { return priced_->slowdown(work.kind); }

 private:
  /// Its time is part of the costs of a server that the host states.
  bool is_stated(Work::Kind kind) const;
  Seconds from_device(const Work& work) const;
  /// The price of a pass. Buckets and samples in proportion; other devices by the ratio of the rates.
  Seconds from_measured(const MeasuredPasses& measured, const Work& work) const;
  /// The same where buckets are measured, or the processor's time is: the device and the processor each have
  /// a time for every part of the step, and the later one counts.
  Seconds from_timeline(const MeasuredPasses& measured, const Work& work) const;
  /// When the device and the processor have done with the forward pass, each bucket and the update.
  std::vector<Seconds> timeline(const MeasuredPasses& measured, int samples) const;
  bool is_measured_update(const Work& work) const;
  const BucketDescription& bucket_of(const Work& work) const;
  Seconds from_image_sizes(const Work& work) const;
  /// Start-up time of work that streams vectors.
  Seconds start_of(int kernels) const;
  Seconds from_effort(const compression::Effort& effort, Bytes size) const;

  std::shared_ptr<const PricedModel> priced_;
  platforms::Device device_;
  FlopsPerSecond speed_;  ///< of the network, in its precision
  const Profile::HostEntry* host_ =
      nullptr;  ///< in the profile; null: as fast as the host that it was measured on
  std::optional<ServerCost> server_;
};

}  // namespace tandem

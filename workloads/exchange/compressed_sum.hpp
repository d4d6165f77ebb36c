// A bucket's way through an all-reduce with a compression: vectors that are made of the payload, summed or
// gathered over all workers, and made into the sum of what they sent. With modelled math it knows sizes only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/compression/codec.hpp"
#include "workloads/job/exchange_plan.hpp"
#include "workloads/model/description.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// One bucket of one worker. Each exchange: for every stage `prepare`, then the all-reduce of its memory; at
/// last `finish`. Pre of these: math is real.
class CompressedSum {
 public:
  /// What is summed at one stage.
  struct Vector {
    std::int64_t elements = 0;
    collectives::Element element{};
    /// Nothing is added: each worker contributes so many elements, which stand side by side in the memory.
    bool gathered = false;
  };

  virtual ~CompressedSum() = default;
  /// One or two, by stage.
  virtual std::vector<Vector> vectors() const = 0;
  /// Pre: the all-reduces of earlier stages are done. `payload`: the trained elements; where errors are fed
  /// back, they become what this worker has sent.
  virtual void prepare(std::size_t stage, std::span<float> payload) = 0;
  /// The device's, or the host's.
  virtual std::span<std::byte> memory(std::size_t stage) = 0;
  /// The payload becomes the sum over workers.
  virtual void finish(std::span<float> payload) = 0;
  /// What has not been sent yet, and what else the next exchange depends on. `name`: of this bucket.
  virtual void serialise(StateArchive& state, const std::string& name) = 0;
};

/// `order`: the workers in the order in which their elements stand when they are gathered.
/// Pre: the plan has a compression.
std::unique_ptr<CompressedSum> make_compressed_sum(const ExchangePlan& exchange, ComputeDevice& device,
                                                   int worker, const BucketDescription& bucket,
                                                   const std::vector<int>& order);

}  // namespace tandem

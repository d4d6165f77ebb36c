// One bucket in an all-reduce with compression: the payload is compressed to vectors, which are summed or
// gathered over all workers and decompressed to the sum of the payloads. With modelled mathematics it knows
// sizes only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/compression/codec.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/model/description.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// One bucket of one worker. An exchange calls `prepare` for every stage, each followed by the all-reduce of
/// its memory, and then `finish`. Pre of these, and of `take_back`: math is real.
class CompressedSum {
 public:
  /// The vector that is summed at one stage.
  struct Vector {
    std::int64_t elements = 0;
    collectives::Element element{};
    /// Nothing is added: the elements of all workers are stored one after another.
    bool gathered = false;
  };

  virtual ~CompressedSum() = default;
  /// These workers exchange from now on. `order`: their places among them, in the order in which gathered
  /// elements are stored. `self`: this worker's place.
  virtual void exchange_among(const std::vector<int>& order, int self) = 0;
  /// By stage: one or two vectors.
  virtual std::vector<Vector> vectors() const = 0;
  /// `payload`: the trained elements. With error feedback they become the values that this worker has sent.
  /// Pre: the all-reduces of earlier stages are done.
  virtual void prepare(std::size_t stage, std::span<float> payload) = 0;
  /// Memory of the device, or of the host.
  virtual std::span<std::byte> memory(std::size_t stage) = 0;
  /// The payload becomes the sum over workers.
  virtual void finish(std::span<float> payload) = 0;
  /// The exchange is done again, or ends without this worker: restores its unsent errors. Pre: `prepare` was
  /// called for the first stage, `finish` was not, and the sum was made with `repeats`.
  virtual void take_back() = 0;
  /// Unsent errors and other state for the next exchange. `name`: of this bucket.
  virtual void serialise(StateArchive& state, const std::string& name) = 0;
  /// The part of that state that all workers have in common, and its size in floats.
  virtual void serialise_common(StateArchive& state, const std::string& name) = 0;
  virtual std::int64_t common_floats() const { return 0; }
};

/// `repeats`: exchanges may be done again. Pre: the plan has a compression.
std::unique_ptr<CompressedSum> make_compressed_sum(const ExchangePlan& exchange, ComputeDevice& device,
                                                   int worker, const BucketDescription& bucket, bool repeats);

}  // namespace tandem

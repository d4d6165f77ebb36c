// A worker's model while it is averaged with those of other workers: memory and kernels. The worker computes
// its gradient at the model of the beginning of the exchange. Models of others change a copy, which replaces
// the model at the end. With modelled mathematics it holds nothing and its kernels are empty.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/snapshots.hpp"

namespace tandem {

class PeerModel {
 public:
  /// `callers`: number of workers that may start an exchange with this one at any time.
  PeerModel(Replica& replica, std::size_t callers);

  /// Runs a kernel on this number of models, and waits for it.
  void compute(Context& context, std::size_t models, Kernel kernel) const;

  /// Copies the model. The following functions use the copy.
  Kernel begin();
  /// The model at the time of begin(), to be sent.
  Slice begun();
  /// Where the model of the other member number `index` is received.
  Slice arrival(std::size_t index);
  /// The copy becomes the mean of itself and the first `others` arrivals. `place`: of this worker among all
  /// members, in whose order the sum is taken.
  Kernel mix(std::size_t others, std::size_t place);

  /// Where a caller's model is received.
  Slice call(std::size_t caller) { return slice(calls_.at(caller)); }
  /// The reply to a caller: the current copy, which does not change until the caller's next reply. Nothing is
  /// computed, so the caller does not wait for the work of this worker.
  Slice reply(std::size_t caller);
  /// After the reply: the copy becomes the mean of itself and the caller's model.
  void average_with(std::size_t caller);

  /// The copy replaces the model. Running statistics keep the change that the worker's own batch made.
  Kernel take_over();

 private:
  Slice slice(const FloatArray& values) const;
  FloatArray array() const { return {replica_.device(), replica_.model().size()}; }

  Replica& replica_;
  bool real_;
  ComputeDevice& device_;
  FloatArray begun_;
  Snapshots snapshots_;
  Snapshot mean_;     ///< the copy
  FloatArray drift_;  ///< of one bucket's statistics since the copy was begun
  std::vector<FloatArray> arrivals_;
  std::vector<FloatArray> calls_;
  std::vector<Snapshot> replies_;
};

}  // namespace tandem

// A worker's model while it is averaged with others': memory and kernels. The worker computes its gradient at
// the model as it was when the exchange began; what comes from others changes a copy, which is taken over at
// the end. With modelled math it holds nothing and its kernels are empty.
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
  /// `callers`: so many workers may call at any time.
  PeerModel(Replica& replica, std::size_t callers);

  /// Copies the model; what follows is about the copy.
  Kernel begin();
  /// The model as it was then, to be sent.
  Slice begun();
  /// Where the model of the other member number `index` is received.
  Slice arrival(std::size_t index);
  /// The copy becomes the mean of itself and the first `others` arrivals. `place`: that of this worker among
  /// all members, in whose order the sum is taken.
  Kernel mix(std::size_t others, std::size_t place);

  /// Where a caller's model is received.
  Slice call(std::size_t caller) { return slice(calls_.at(caller)); }
  /// What it gets: the copy as it is, which stays so until the caller's next reply. No calculation, so that
  /// the caller need not wait for what this worker computes.
  Slice reply(std::size_t caller);
  /// Then the copy becomes the mean of itself and the caller's model.
  void average_with(std::size_t caller);

  /// The model takes over the copy. Running statistics keep besides what the worker's own batch did to them.
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

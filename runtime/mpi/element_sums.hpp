// MPI's own all-reduces and all-gathers of the elements that Tandem sums.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "policies/collectives/element.hpp"

namespace tandem {

/// MPI has no type for floats of 16 bits: its all-reduce adds them by functions of this process.
class ElementSums {
 public:
  /// `most`: most elements of one call of MPI, which counts in ints.
  explicit ElementSums(std::int64_t most = std::int64_t{1} << 30);
  ~ElementSums();
  ElementSums(const ElementSums&) = delete;
  ElementSums& operator=(const ElementSums&) = delete;

  using Watch = std::function<void(MPI_Request)>;
  /// Starts the all-reduce of `vector` over all ranks of `among`, in place; of bytes, an all-gather, for
  /// which the rank's own part lies in its place. `watch` is called with each request. The vector must stay
  /// until the requests are done. Errors: WorldError.
  void start(MPI_Comm among, std::span<std::byte> vector, const collectives::Element& element,
             const Watch& watch) const;

 private:
  std::int64_t most_;
  MPI_Op fp16_ = MPI_OP_NULL;
  MPI_Op bf16_ = MPI_OP_NULL;
};

}  // namespace tandem

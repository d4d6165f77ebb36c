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
  /// `most`: elements that MPI is given at once; it counts in ints.
  explicit ElementSums(std::int64_t most = std::int64_t{1} << 30);
  ~ElementSums();
  ElementSums(const ElementSums&) = delete;
  ElementSums& operator=(const ElementSums&) = delete;

  using Watch = std::function<void(MPI_Request)>;
  /// Starts the all-reduce of `own` over all ranks of `among`; of bytes, an all-gather. `result` has the size
  /// of `own`, of an all-gather that of all ranks together. `watch` is called with each request. Both must
  /// stay until the requests are done. Errors: WorldError.
  void start(MPI_Comm among, std::span<const std::byte> own, std::byte* result,
             const collectives::Element& element, const Watch& watch) const;

 private:
  std::int64_t most_;
  MPI_Op fp16_ = MPI_OP_NULL;
  MPI_Op bf16_ = MPI_OP_NULL;
};

}  // namespace tandem

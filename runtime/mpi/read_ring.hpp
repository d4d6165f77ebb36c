// The kernel's queue of reads (io_uring), where the build has liburing and the kernel permits it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "policies/vocabulary/units.hpp"
#include "workloads/files/file_transfer.hpp"

namespace tandem {

/// Only `wait` may be called by several threads at the same time, and concurrently with the others.
class ReadRing {
 public:
  struct End {
    std::uint64_t tag = 0;
    std::int64_t result = 0;  ///< bytes, or the negative errno: that of one request (ReadProgress::take)
  };

  /// All reads that were started must have been taken.
  virtual ~ReadRing() = default;
  /// Starts one request. `tag`: not 0. False: the kernel does not take it.
  virtual bool start(const FileRead& request, std::uint64_t tag) = 0;
  /// A read that has ended; nullopt: there is none. Never blocks.
  virtual std::optional<End> take() = 0;
  /// Returns when there is something to take, after a call of `wake`, or after that time.
  virtual void wait(Seconds at_most) = 0;
  virtual void wake() = 0;
};

/// Null: the build or the kernel has none, or the kernel forbids it, as in many containers.
std::unique_ptr<ReadRing> make_read_ring();
/// Whether make_read_ring makes one.
bool has_read_ring();

}  // namespace tandem

#include "workloads/job/compression_rules.hpp"

#include "policies/compression/codec.hpp"
#include "workloads/job/all_reduce_plan.hpp"

namespace tandem {

std::optional<std::string> collective_needed(const Experiment::Sync& sync) {
  const auto& compression = compression::catalog().find(sync.compression).make;
  if (sync.over != sync::Route::all_reduce || compression.make == nullptr) return std::nullopt;
  if (compression.sharing == compression::Sharing::gathered && sync.collective != "ring")
    return "ring, because messages of " + sync.compression +
           " cannot be added up and are passed around a ring";
  // MPI's own all-reduce adds floats only.
  if (sync.collective == native_all_reduce)
    return "one other than native, because MPI cannot add messages of " + sync.compression;
  return std::nullopt;
}

}  // namespace tandem

// Where a worker's batches come from: its own memory, or a cache node in front of storage.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job.hpp"

namespace tandem {

class Loader {
 public:
  virtual ~Loader() = default;
  /// The records of the next `samples` samples, valid until the next call; empty when math is modelled.
  virtual std::span<const std::byte> next(int samples) = 0;
  /// Ends the streams that are open.
  virtual void close() = 0;
};

/// The loader of worker `worker` as the experiment says.
std::unique_ptr<Loader> make_loader(const Job& job, Context& context, int worker);

}  // namespace tandem

// Where a worker's batches come from: its own memory, or a cache node in front of storage.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job.hpp"

namespace tandem {

class Loader {
 public:
  virtual ~Loader() = default;
  struct Batch {
    int samples;
    std::span<const std::byte> records;  ///< valid until the next call; empty when math is modelled
  };
  /// The next `samples` samples; as many as before where they were asked for before the batch size changed.
  virtual Batch next(int samples) = 0;
  /// Goes on as after so many more samples. Pre: none was asked for.
  virtual void skip(std::int64_t samples) = 0;
  /// Ends the streams that are open.
  virtual void close() = 0;
};

/// The loader of worker `worker` as the experiment says. `wait` ends what the worker's next step needs, and
/// may do other things meanwhile.
std::unique_ptr<Loader> make_loader(const Job& job, Context& context, int worker,
                                    std::function<void(Pending&)> wait);

}  // namespace tandem

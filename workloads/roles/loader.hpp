// Where a worker's batches come from: its own memory, or a cache node in front of storage.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

class Loader {
 public:
  virtual ~Loader() = default;
  struct Batch {
    int samples;
    std::span<const std::byte> records;  ///< valid until the next call; empty when math is modelled
  };
  /// A step begins: asks for batches of `samples` as far ahead of it as is to be.
  virtual void begin_step(int samples) = 0;
  /// Whether the next batch is there, so that `next` would not wait; it may be had before its step begins.
  virtual bool has_next() = 0;
  /// The next `samples` samples; as many as they were asked for with where they were. Pre: its step has
  /// begun, or it was to be asked for ahead of that.
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

#include "workloads/data/sample_threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem {

void for_each_sample(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t failed = count;
  std::exception_ptr error;
  const auto run = [&] {
    for (std::int64_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) error = std::current_exception();
        failed = std::min(failed, i);
        // Those that are lower have begun already.
        next = count;
      }
    }
  };
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(count, threads); ++i) others.emplace_back(run);
  run();
  others.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace tandem

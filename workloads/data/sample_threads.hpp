// Work on many samples, some at the same time.
#pragma once

#include <cstdint>
#include <functional>

namespace tandem {

/// Calls `work` for 0 to count - 1, on at most `threads` threads; returns when all are done. Errors: that of
/// the lowest number whose work failed.
void for_each_sample(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace tandem

// A copy for another processor to read, past the caches of the one that writes.
#pragma once

#include <cstddef>

namespace tandem {

/// A usual write to a cache line that another processor's cache holds must first fetch the line from there,
/// which can take ten times as long as the copy itself. A write past the caches takes the same time wherever
/// the line is. A reader that acquires a later release store sees the copied bytes. Same contract as
/// std::memcpy, which it is where the processor has no such stores.
void streamed_copy(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace tandem

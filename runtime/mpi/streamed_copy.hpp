// A copy for another processor to read, past the caches of the one that writes.
#pragma once

#include <cstddef>

namespace tandem {

/// Where the caches of another processor still hold what `to` was, every line that is written in the usual
/// way must first be taken back from there: from the far side of a machine, ten times as long as the copy
/// itself. Past the caches it takes as long wherever the other one is. What was copied is there for whoever
/// reads it after a store with release order. As std::memcpy, and no more than that where the processor knows
/// no such stores.
void streamed_copy(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace tandem

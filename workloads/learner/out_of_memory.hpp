// What to say when a device has no memory left for a step, and how to tell. Knows no libtorch, only how it
// and CUDA complain.
#pragma once

#include <string>
#include <string_view>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// True for the words in which libtorch, CUDA, its libraries or the processor's allocator say so.
bool tells_of_no_memory(std::string_view complaint);

/// One line: model, batch, device, what was asked for and what was free as far as the complaint says it, and
/// what to do.
std::string no_memory_message(std::string_view complaint, const LearnerSetting& setting, std::int64_t batch,
                              const std::string& device);

}  // namespace tandem

// Recognises the messages of libtorch and CUDA about a lack of memory, and turns them into an error for the
// user. Does not use libtorch.
#pragma once

#include <string>
#include <string_view>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// True for messages of libtorch, CUDA, its libraries or the processor's allocator about a lack of memory.
bool is_no_memory_message(std::string_view complaint);

/// True for messages of cuDNN, or of libtorch about cuDNN, that no algorithm can be used. Perhaps none has
/// the memory that it needs.
bool may_be_no_memory_message(std::string_view complaint);

/// One line: model, batch, device, the requested and the free memory if the complaint contains them, and
/// advice.
std::string no_memory_message(std::string_view complaint, const LearnerSetting& setting, std::int64_t batch,
                              const std::string& device);

}  // namespace tandem

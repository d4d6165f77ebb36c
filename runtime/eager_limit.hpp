// From which size on a message waits for its receive, as Open MPI itself says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

/// Of a transport ("vader": shared memory, "tcp"); nothing when this MPI does not tell. It cannot be measured
/// from outside: with shared memory even small sends end only when the receiver looks. Errors: WorldError.
std::optional<std::int64_t> eager_limit(const std::string& transport);

}  // namespace tandem

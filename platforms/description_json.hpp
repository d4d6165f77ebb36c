// The lossless JSON form of a platform description. The command passes it to the rank program, and the child
// process that loads a platform file returns it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// Thousands of hosts, or links, that follow each other and differ in their names alone are one object with
/// `names`.
nlohmann::json to_json(const Description& description);
/// Inverse of to_json. Errors: ConfigError naming the key that is missing or of the wrong type.
Description description_from_json(const nlohmann::json& json);

}  // namespace tandem::platforms

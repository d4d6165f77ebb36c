// The lossless JSON form of a platform description: what the command hands to the rank program, and what the
// process that reads a platform file hands back.
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/description.hpp"

namespace tandem::platforms {

nlohmann::json to_json(const Description& description);
/// Inverse of to_json. Errors: ConfigError naming the key that is missing or of the wrong type.
Description description_from_json(const nlohmann::json& json);

}  // namespace tandem::platforms

// The results of `tandem fit` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::cli {

/// "12.3 h", "45 min", "7.5 s"; "-" for null.
std::string duration_text(const nlohmann::json& seconds);
/// "device k80, region east": the name of a group, by its values in the columns of --by.
std::string group_name(const nlohmann::json& group);
/// Survival, mean, median, models and comparisons of a document of `tandem fit lifetimes`.
std::string lifetimes_text(const nlohmann::json& document);

}  // namespace tandem::cli

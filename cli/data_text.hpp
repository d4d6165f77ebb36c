// How samples reached the workers, as the text after a job says it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::cli {

/// Some lines, each with a line break before it. `data`: that of summary.json.
std::string data_lines(const nlohmann::json& data);

}  // namespace tandem::cli
